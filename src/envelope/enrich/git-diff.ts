import { plural } from "../../base/text.ts";
import { shorten } from "../text/lines.ts";
import { estimateTokens } from "../text/token-estimate.ts";
import { countFitting } from "./budget.ts";
import type { EnrichLimits } from "./contract.ts";

interface FileDiff {
  readonly path: string;
  /** New, deleted, renamed, binary: what the counts do not say. */
  readonly kind: string;
  readonly added: number;
  readonly removed: number;
  /** Each begins with its `@@` line. */
  readonly hunks: readonly string[][];
}

const pathOf = (header: string): string => {
  const after = header.indexOf(" b/");
  return after < 0 ? header.replace(/^diff --(?:git|cc|combined) /, "") : header.slice(after + 3);
};

const kindOf = (line: string): string | undefined => {
  if (line.startsWith("new file")) return "new";
  if (line.startsWith("deleted file")) return "deleted";
  if (line.startsWith("rename from ")) return `renamed from ${line.slice("rename from ".length)}`;
  if (line.startsWith("copy from ")) return `copied from ${line.slice("copy from ".length)}`;
  if (line.startsWith("old mode") || line.startsWith("new mode")) return line;
  return line.startsWith("Binary files") || line.startsWith("GIT binary patch") ? "binary" : undefined;
};

const DIFF_START = /^diff --(?:git|cc|combined) /;

const readFile = (lines: readonly string[]): FileDiff => {
  const hunks: string[][] = [];
  const kinds: string[] = [];
  let added = 0;
  let removed = 0;
  for (const line of lines.slice(1)) {
    const hunk = hunks.at(-1);
    if (line.startsWith("@@")) hunks.push([line]);
    else if (hunk === undefined) {
      const kind = kindOf(line);
      if (kind !== undefined) kinds.push(kind);
    } else {
      hunk.push(line);
      if (line.startsWith("+")) added++;
      else if (line.startsWith("-")) removed++;
    }
  }
  return { path: pathOf(lines[0] ?? ""), kind: kinds.join(", "), added, removed, hunks };
};

/** The files of a patch in git's form. */
export const readDiff = (lines: readonly string[]): FileDiff[] => {
  const starts = lines.flatMap((line, at) => (DIFF_START.test(line) ? [at] : []));
  return starts.map((start, i) => readFile(lines.slice(start, starts[i + 1] ?? lines.length)));
};

/** Long, and written by programs: shown last. */
const GENERATED =
  /(?:^|\/)(?:package-lock\.json|[^/]*\.lock|[^/]*-lock\.ya?ml|go\.sum|[^/]*\.(?:min\.js|map|snap|svg))$/;

const renderStat = ({ path, kind, added, removed }: FileDiff): string =>
  `${path}${kind === "" ? "" : ` (${kind})`} +${added} -${removed}`;

/** One long hunk must not take the space of all others. */
const MAX_HUNK_LINES = 80;

const renderHunk = (hunk: readonly string[]): string => {
  const rest = hunk.length > MAX_HUNK_LINES ? [`[+${plural(hunk.length - MAX_HUNK_LINES, "line")}]`] : [];
  return [...hunk.slice(0, MAX_HUNK_LINES).map((line) => shorten(line, 300)), ...rest].join("\n");
};

const renderFile = (file: FileDiff): string[] => [`--- ${file.path}`, ...file.hunks.map(renderHunk)];

interface DiffSummary {
  readonly text: string;
  readonly files: number;
  readonly truncated: boolean;
}

/** What changed where, by file, then the changes themselves as far as there is room. */
export const summarizeDiff = (lines: readonly string[], limits: EnrichLimits): DiffSummary => {
  const files = readDiff(lines);
  const added = files.reduce((sum, file) => sum + file.added, 0);
  const removed = files.reduce((sum, file) => sum + file.removed, 0);
  const stats = files.map(renderStat);
  const listed = countFitting(stats, limits.maxTokens * 0.4);
  const head = [
    `[${plural(files.length, "file")} changed, +${added} -${removed}]`,
    ...stats.slice(0, listed),
    ...(listed < stats.length ? [`[and ${plural(stats.length - listed, "more file")}]`] : []),
  ];
  const ordered = [...files].sort((a, b) => Number(GENERATED.test(a.path)) - Number(GENERATED.test(b.path)));
  const pieces = ordered.filter(({ hunks }) => hunks.length > 0).flatMap(renderFile);
  const room = limits.maxTokens - estimateTokens(head.join("\n")) - 30;
  const shown = countFitting(pieces, room);
  // A file name without any hunks is not worth showing.
  const last = pieces[shown - 1]?.startsWith("--- ") === true && shown < pieces.length ? shown - 1 : shown;
  const hunks = files.reduce((sum, file) => sum + file.hunks.length, 0);
  const hunksShown = pieces.slice(0, last).filter((piece) => piece.startsWith("@@")).length;
  const rest = hunksShown < hunks ? [`[${hunks - hunksShown} of ${plural(hunks, "hunk")} left out]`] : [];
  return {
    text: [...head, ...pieces.slice(0, last), ...rest].join("\n"),
    files: files.length,
    truncated:
      rest.length > 0 ||
      files.some((file) => file.hunks.some((hunk) => hunk.length > MAX_HUNK_LINES)) ||
      listed < stats.length ||
      lines.some((line) => shorten(line, 300) !== line),
  };
};
