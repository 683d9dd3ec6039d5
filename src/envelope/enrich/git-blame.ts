import { plural } from "../../base/text.ts";
import { shorten } from "../text/lines.ts";
import { countFitting } from "./budget.ts";
import type { EnrichLimits } from "./contract.ts";

interface Blamed {
  readonly commit: string;
  readonly who: string;
  readonly number: string;
  readonly text: string;
}

// The name of an author may hold anything; the date after it is what ends it.
const DATED = / (\d{4}-\d\d-\d\d) \d\d:\d\d:\d\d [+-]\d{4} +(\d{1,9})\) ?/;

const readLine = (line: string): Blamed | undefined => {
  const dated = DATED.exec(line.slice(0, 1000));
  const open = line.indexOf("(");
  if (dated === null || open < 0 || open > dated.index) return undefined;
  const [whole, date = "", number = ""] = dated;
  return {
    commit: line.slice(0, open).trim(),
    who: `${line.slice(open + 1, dated.index).trim()} ${date}`,
    number,
    text: line.slice(dated.index + whole.length),
  };
};

/** Lines that came with one commit stand below it, so that its name is written once. */
export const summarizeBlame = (
  lines: readonly string[],
  limits: EnrichLimits,
): { readonly text: string; readonly truncated: boolean; readonly keepsAll: boolean } | undefined => {
  const blamed = lines.map(readLine);
  if (!blamed.every((each) => each !== undefined)) return undefined;
  const pieces: string[] = [];
  let before = "";
  const commits = new Set<string>();
  for (const { commit, who, number, text } of blamed) {
    const isKnown = commits.has(commit);
    commits.add(commit);
    if (commit !== before) pieces.push(`${commit}${isKnown ? "" : ` (${who})`}`);
    pieces.push(`${number} ${shorten(text)}`);
    before = commit;
  }
  const shown = countFitting(pieces, limits.maxTokens - 30);
  const left = pieces.slice(shown).filter((piece) => /^\d+ /.test(piece)).length;
  return {
    text: [
      `[${plural(lines.length, "line")} by ${plural(commits.size, "commit")}]`,
      ...pieces.slice(0, shown),
      ...(shown === pieces.length ? [] : [`[the last ${plural(left, "line")} left out]`]),
    ].join("\n"),
    // Times of day and repeated dates are not there.
    truncated: true,
    keepsAll: shown === pieces.length,
  };
};
