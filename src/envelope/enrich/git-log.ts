import { plural } from "../../base/text.ts";
import { shorten } from "../text/lines.ts";
import { countFitting } from "./budget.ts";
import type { EnrichLimits } from "./contract.ts";
import { readDiff } from "./git-diff.ts";
import { headAndTail } from "./head-and-tail.ts";

export interface Commit {
  readonly hash: string;
  readonly author: string;
  readonly date: string;
  readonly message: readonly string[];
  /** Patch or list of files, where one was asked for. */
  readonly rest: readonly string[];
}

const COMMIT = /^commit ([0-9a-f]{7,64})\b/;
const FIELD =
  /^(Author|AuthorDate|Date|CommitDate|Commit|Merge|Reflog|Reflog message|gpg|Primary key fingerprint):/;

const MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec";

/** `Sun Nov 15 13:05:00 2026 +0000` as `2026-11-15`; other forms of dates as they are. */
const shortDate = (date: string): string => {
  const found = /^\w{3} (\w{3}) (\d{1,2}) [\d:]{8} (\d{4})/.exec(date);
  const month = found === null ? -1 : MONTHS.indexOf(found[1] ?? "?");
  if (found === null || month < 0) return date.replace(/^(\d{4}-\d\d-\d\d).*$/, "$1");
  return `${found[3]}-${String(month / 3 + 1).padStart(2, "0")}-${found[2]?.padStart(2, "0")}`;
};

const readCommit = (lines: readonly string[]): Commit => {
  const [first = "", ...body] = lines;
  const message: string[] = [];
  const rest: string[] = [];
  let [author, date] = ["", ""];
  for (const line of body) {
    if (rest.length === 0 && message.length === 0 && FIELD.test(line)) {
      if (line.startsWith("Author:")) author = line.slice(7).trim();
      if (/^(?:Author)?Date:/.test(line)) date = shortDate(line.slice(line.indexOf(":") + 1).trim());
    } else if (rest.length === 0 && line.startsWith("    ")) message.push(line.slice(4));
    else if (rest.length > 0 || line !== "") rest.push(line);
  }
  const hash = COMMIT.exec(first)?.[1] ?? "";
  return { hash, author: author.replace(/ <[^<>]*>$/, ""), date, message, rest };
};

/** Undefined where it is not git's own long form. */
export const readLog = (lines: readonly string[]): Commit[] | undefined => {
  if (!COMMIT.test(lines[0] ?? "")) return undefined;
  const starts = lines.flatMap((line, at) => (line.startsWith("commit ") && COMMIT.test(line) ? [at] : []));
  return starts.map((start, i) => readCommit(lines.slice(start, starts[i + 1] ?? lines.length)));
};

const HASH_CHARS = 9;

export const renderCommit = ({ hash, date, author, message }: Commit, isOneAuthor: boolean): string =>
  `${hash.slice(0, HASH_CHARS)} ${date}${isOneAuthor ? "" : ` ${author}`} ${shorten(message[0] ?? "", 160)}`;

const STAT_LINE = /^ (.*?\S) +\| +(?:(\d+)|Bin)/;

/** A line of `--stat` without the blanks and bars that only align it; undefined for any other. */
const withoutBar = (line: string): string | undefined => {
  const stat = line.length < 1000 ? STAT_LINE.exec(line) : null;
  return stat === null ? undefined : ` ${stat[1]} ${stat[2] ?? "binary"}`;
};

/** The lines of `--stat`, each file with its number of changed lines; undefined for what is none. */
export const summarizeStat = (
  lines: readonly string[],
  limits: EnrichLimits,
): { readonly text: string; readonly truncated: boolean; readonly keepsAll: boolean } | undefined => {
  const files = lines.map(withoutBar);
  if (files.every((file) => file === undefined)) return undefined;
  const short = lines.map((line, at) => files[at] ?? line);
  const { text, truncated } = headAndTail(short, limits, { head: 0.7 });
  return { text, truncated: true, keepsAll: !truncated };
};

/** The files of a commit, briefly, from a patch or from `--stat`, `--name-only` and the like. */
const renderRest = (rest: readonly string[]): string[] => {
  if (rest.length === 0) return [];
  const files = readDiff(rest);
  if (files.length > 0) return files.map(({ path, added, removed }) => ` ${path} +${added} -${removed}`);
  return rest
    .filter((line) => line !== "")
    .map((line) => withoutBar(line) ?? ` ${shorten(line.trim(), 160)}`);
};

/** Lines of a commit's files that are shown. */
const MAX_FILES = 8;

/** One line for each commit; its files below, where they were asked for. */
export const summarizeLog = (
  commits: readonly Commit[],
  limits: EnrichLimits,
): { readonly text: string; readonly truncated: boolean; readonly keepsAll: boolean } => {
  const authors = new Set(commits.map(({ author }) => author));
  const isOneAuthor = authors.size === 1 && commits.length > 2;
  const pieces = commits.map((commit) => {
    const files = renderRest(commit.rest);
    const more = files.length > MAX_FILES ? [` [+${files.length - MAX_FILES}]`] : [];
    return [renderCommit(commit, isOneAuthor), ...files.slice(0, MAX_FILES), ...more].join("\n");
  });
  const head = `[${plural(commits.length, "commit")}${isOneAuthor ? `, all by ${[...authors][0]}` : ""}]`;
  const shown = countFitting(pieces, limits.maxTokens - 40);
  const last = commits.at(-1);
  const rest =
    shown === pieces.length || last === undefined
      ? []
      : [`[${pieces.length - shown} earlier ones left out, down to ${renderCommit(last, true)}]`];
  const text = [head, ...pieces.slice(0, shown), ...rest].join("\n");
  return { text, truncated: true, keepsAll: shown === pieces.length && !text.includes("\n [+") };
};
