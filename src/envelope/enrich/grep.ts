import { plural } from "../../base/text.ts";
import { plainText, shorten, splitLines } from "../text/lines.ts";
import { estimateTokens } from "../text/token-estimate.ts";
import { type Arguments, hasAny, parseArguments } from "./arguments.ts";
import { countFitting, firstThatFits } from "./budget.ts";
import type { Enriched, Enricher, EnrichLimits, Ran } from "./contract.ts";
import { type GrepLines, type Hit, readGrepLines, readHeadings, readJsonEvents } from "./grep-lines.ts";
import { summarizeFolders, summarizePaths } from "./path-list.ts";

const GREP_VALUES =
  "efABCmdD regexp file after-context before-context context max-count include exclude exclude-dir binary-files color";
const RG_VALUES =
  "efABCmgtTMjrEd regexp file after-context before-context context max-count glob iglob type type-not max-columns " +
  "threads replace encoding max-depth sort sortr max-filesize color colors pre";

const isRecursive = (args: Arguments): boolean => hasAny(args, "r R recursive dereference-recursive");

/** Whether the lines begin with file names: the options decide, and for one operand the lines themselves. */
const namesFiles = (program: string, args: Arguments, lines: readonly string[]): boolean => {
  if (hasAny(args, program === "rg" ? "I no-filename" : "h no-filename")) return false;
  if (hasAny(args, "H with-filename vimgrep null") || program === "git") return true;
  const given = args.operands.length - (hasAny(args, "e f regexp file") ? 0 : 1);
  if (program !== "rg") return given > 1 || isRecursive(args);
  const [searched = ""] = args.operands.slice(-1);
  const below = `${searched.replace(/\/+$/, "")}/`;
  return given !== 1 || lines.every((line) => line === "--" || line.startsWith(below));
};

const read = (program: string, args: Arguments, lines: readonly string[]): GrepLines | undefined => {
  const hasNumber = hasAny(args, "n line-number vimgrep column b byte-offset p pretty");
  if (program === "rg" && hasAny(args, "json")) return readJsonEvents(lines);
  if (hasAny(args, "heading p pretty")) return readHeadings(lines, hasNumber);
  return readGrepLines(lines, {
    hasName: namesFiles(program, args, lines),
    hasNumber,
    // grep takes a number for an option: -3 is -C 3.
    hasContext: hasAny(args, "A B C context after-context before-context 1 2 3 4 5 6 7 8 9"),
  });
};

interface FileHits {
  readonly path: string;
  readonly hits: readonly Hit[];
  readonly matches: number;
}

const byFile = (hits: readonly Hit[]): FileHits[] => {
  const files = new Map<string, Hit[]>();
  for (const hit of hits) {
    const list = files.get(hit.path);
    if (list === undefined) files.set(hit.path, [hit]);
    else list.push(hit);
  }
  return [...files].map(([path, list]) => ({
    path,
    hits: list,
    matches: list.reduce((sum, { isMatch }) => sum + (isMatch ? 1 : 0), 0),
  }));
};

/** How many locations of a repeated line are named. */
const MAX_LINE_NUMBERS = 8;

const lineNumbersOf = (numbers: readonly string[]): string =>
  numbers.length <= MAX_LINE_NUMBERS
    ? numbers.join(",")
    : `${numbers.slice(0, MAX_LINE_NUMBERS).join(",")},+${numbers.length - MAX_LINE_NUMBERS}`;

/** The same text in one file is shown once, with all its line numbers; among neighbours the order says more. */
const renderHits = (hits: readonly Hit[], maxRows: number, maxChars: number): string[] => {
  const rows = new Map<string, { readonly hit: Hit; readonly numbers: string[] }>();
  const isOrdered = hits.some(({ isMatch }) => !isMatch);
  let rest = 0;
  for (const [at, hit] of hits.entries()) {
    const key = isOrdered ? String(at) : hit.text;
    const row = rows.get(key);
    if (row !== undefined) row.numbers.push(hit.number);
    else if (rows.size < maxRows) rows.set(key, { hit, numbers: [hit.number] });
    else rest++;
  }
  const rendered = [...rows.values()].map(({ hit, numbers }) => {
    const text = shorten(hit.text, maxChars);
    if (hit.number !== "") return `${lineNumbersOf(numbers)}${hit.isMatch ? ":" : "-"}${text}`;
    return numbers.length > 1 ? `${text} [×${numbers.length}]` : text;
  });
  return rest === 0 ? rendered : [...rendered, `[+${plural(rest, "line")}]`];
};

const renderFile = ({ path, hits }: FileHits, maxRows: number, maxChars: number): string => {
  const rows = renderHits(hits, maxRows, maxChars);
  const [row = ""] = rows;
  if (path === "") return rows.join("\n");
  return rows.length === 1 ? `${path}:${row}` : [path, ...rows].join("\n");
};

/** Hits of one file that are shown, at most, and the length of a line, from generous to scarce. */
const WAYS = [
  [Number.POSITIVE_INFINITY, 240],
  [20, 200],
  [8, 160],
  [3, 120],
] as const;

const folderOf = (path: string): string => path.slice(0, path.lastIndexOf("/") + 1);

const foldersOf = (files: readonly FileHits[]) =>
  files.map(({ path, matches }) => [folderOf(path), matches] as const);

/** The first files with their first hits, and where the others are. */
const summarizeMany = (files: readonly FileHits[], head: string, limits: EnrichLimits): string => {
  // Each file costs some tokens, so further files need not be rendered.
  const rendered = files.slice(0, limits.maxTokens / 3).map((file) => renderFile(file, 3, 120));
  const room = limits.maxTokens - 50;
  const folders = summarizeFolders(foldersOf(files), room * 0.3);
  const shown = countFitting(rendered, room - estimateTokens(folders));
  const rest = files.slice(shown);
  if (rest.length === 0) return [head, ...rendered].join("\n");
  return [
    head,
    ...rendered.slice(0, shown),
    `[in ${plural(rest.length, "more file")}; matches by folder:]`,
    summarizeFolders(foldersOf(rest), room * 0.3),
  ].join("\n");
};

const summarizeMatches = ({ hits, others }: GrepLines, limits: EnrichLimits, cut: boolean): Enriched => {
  const files = byFile(hits);
  const total = files.reduce((sum, { matches }) => sum + matches, 0);
  const isNamed = files.some(({ path }) => path !== "");
  const head = `[${cut ? "at least " : ""}${plural(total, "match", "matches")}${isNamed ? ` in ${plural(files.length, "file")}` : ""}]`;
  const ways = (files.length * 3 > limits.maxTokens ? [] : WAYS).map(
    ([maxRows, maxChars]) =>
      () =>
        [head, ...others.slice(0, 5), ...files.map((file) => renderFile(file, maxRows, maxChars))].join("\n"),
  );
  const [text, way] = firstThatFits([...ways, () => summarizeMany(files, head, limits)], limits);
  const isShort =
    ways.length > 0 && way === 0 && others.length <= 5 && hits.every((hit) => shorten(hit.text) === hit.text);
  return { text, matchCount: total, truncated: !isShort };
};

/** `path:count`; files without a match say nothing that the total does not. */
const summarizeCounts = (lines: readonly string[], limits: EnrichLimits): Enriched | undefined => {
  const rows = lines.map((line) => {
    const colon = Math.max(line.lastIndexOf(":"), line.lastIndexOf("\0"));
    return { path: line.slice(0, Math.max(0, colon)), count: Number(line.slice(colon + 1)) };
  });
  if (rows.some(({ count }) => !Number.isInteger(count))) return undefined;
  const total = rows.reduce((sum, { count }) => sum + count, 0);
  const [only] = rows;
  if (rows.length === 1 && only?.path === "")
    return { text: lines.join("\n"), matchCount: total, truncated: false };
  const found = rows.filter(({ count }) => count > 0).sort((a, b) => b.count - a.count);
  const rendered = found.map(({ path, count }) => `${path}:${count}`);
  const empty = rows.length - found.length;
  const head = `[${plural(total, "match", "matches")} in ${plural(found.length, "file")}${empty === 0 ? "" : `; ${plural(empty, "file")} without one not listed`}]`;
  const shown = countFitting(rendered, limits.maxTokens - 60);
  const rest = rendered.length === shown ? [] : [`[and ${plural(rendered.length - shown, "more file")}]`];
  return {
    text: [head, ...rendered.slice(0, shown), ...rest].join("\n"),
    matchCount: total,
    truncated: empty > 0 || rest.length > 0,
  };
};

/** The output of a search, whichever program wrote it. `program` decides how its options read. */
export const summarizeSearch = (
  program: "grep" | "rg" | "git",
  args: readonly string[],
  ran: Ran,
  limits: EnrichLimits,
): Enriched | undefined => {
  const parsed = parseArguments(args, program === "rg" ? RG_VALUES : GREP_VALUES);
  const lines = splitLines(plainText(ran.stdout));
  if (lines.length === 0) return { text: "", matchCount: 0, truncated: false };
  const listsFiles = "l files-with-matches L files-without-match name-only";
  if (hasAny(parsed, program === "rg" ? "l files-with-matches files-without-match files" : listsFiles)) {
    const paths = lines.flatMap((line) => line.split("\0")).filter((path) => path !== "");
    return { ...summarizePaths(paths, limits, plural(paths.length, "file")), matchCount: paths.length };
  }
  if (hasAny(parsed, "c count count-matches")) return summarizeCounts(lines, limits);
  const found = read(program, parsed, lines);
  return found === undefined ? undefined : summarizeMatches(found, limits, ran.cut);
};

export const grep: Enricher = {
  name: "grep",
  programs: ["grep", "egrep", "fgrep", "rg", "ripgrep", "zgrep"],
  enrich: (ran, limits) => {
    const isRipgrep = /(?:^|\/)(?:rg|ripgrep)$/.test(ran.argv[0]);
    return summarizeSearch(isRipgrep ? "rg" : "grep", ran.argv.slice(1), ran, limits);
  },
};
