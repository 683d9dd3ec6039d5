import { stringify, TomlError } from "smol-toml";
import { type AST, ParseError } from "toml-eslint-parser";
import { LlmcError } from "../../base/error.ts";
import { CostlyTomlError, parseToml } from "../../config/parse-toml.ts";
import { appendTable, lineEndingOf, pairsOf, parseTree, startsWith } from "../../config/toml-tree.ts";

type Path = readonly [string, string];
type Range = readonly [number, number];

const refuse = (file: string, line: number, reason: string): never => {
  throw new LlmcError("invalid_args", `${file}:${line}: ${reason}.`, {
    hint: "Nothing was written. Correct the file, or add the entry by hand.",
    details: { file, line },
  });
};

/** Plain objects, so that tables can be compared with those that this program builds. */
const plain = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]));
};

// The parsers' messages quote the file, which may hold secrets; only the line is passed on.
const translate = (file: string, error: unknown): never => {
  if (error instanceof CostlyTomlError) return refuse(file, error.line, error.reason);
  if (error instanceof TomlError) return refuse(file, error.line, "not valid TOML");
  if (error instanceof ParseError) return refuse(file, error.lineNumber, "not valid TOML");
  throw error;
};

export const readToml = (text: string, file: string): unknown => {
  try {
    return plain(parseToml(text, { integersAsBigInt: "asNeeded" }));
  } catch (error) {
    return translate(file, error);
  }
};

export const tomlSnippet = ([outer, inner]: Path, value: object): string =>
  `${stringify({ [outer]: { [inner]: value } }).trimEnd()}\n`;

interface Definitions {
  readonly tables: readonly Range[];
  /** The same with dotted or inline keys: `llmc.command = …`, `llmc = { … }`. */
  readonly pairs: readonly Range[];
}

const findDefinitions = (text: string, file: string, path: Path): Definitions => {
  let tree: AST.TOMLTopLevelTable;
  try {
    tree = parseTree(text);
  } catch (error) {
    return translate(file, error);
  }
  const tables = tree.body
    .filter((node) => node.type === "TOMLTable" && startsWith(node.resolvedKey, path))
    .map(({ range }) => range);
  const isInTable = ([at]: Range): boolean => tables.some(([from, to]) => from <= at && at < to);
  const pairs = pairsOf(tree)
    .filter((one) => startsWith(one.path, path) && !isInTable(one.pair.range))
    .map(({ pair }) => pair.range);
  return { tables, pairs };
};

/** Whole lines, except for a comment after the last of them, which stays. */
const toLines = (text: string, [start, end]: Range): Range => {
  let from = start;
  while (/[ \t]/.test(text[from - 1] ?? "")) from--;
  let to = end;
  while (/[ \t]/.test(text[to] ?? "")) to++;
  if (text.startsWith("\r\n", to)) to += 2;
  else if (text[to] === "\n") to++;
  return [from, to];
};

const BLANK_LINES_BEFORE = /(?:(?<=\n)|^)(?:[ \t]*\r?\n)+$/;

/** Removes from the end, so that earlier positions stay valid, and leaves no double blank line. */
const cutLines = (text: string, ranges: readonly Range[]): string =>
  ranges
    .toSorted((a, b) => b[0] - a[0])
    .reduce((rest, range) => {
      const [from, to] = toLines(rest, range);
      const head = rest.slice(0, from);
      const tail = rest.slice(to);
      return (/^[ \t]*(?:\r?\n|$)/.test(tail) ? head.replace(BLANK_LINES_BEFORE, "") : head) + tail;
    }, text);

/** Writes the table at the path in its old position, or at the end. The caller checks the result. */
export const setToml = (text: string, file: string, path: Path, value: object): string => {
  const { tables, pairs } = findDefinitions(text, file, path);
  const snippet = tomlSnippet(path, value).replaceAll("\n", lineEndingOf(text));
  const [first, ...others] = tables;
  if (first === undefined) return appendTable(cutLines(text, pairs), snippet);
  const [from, to] = toLines(text, first);
  // `to` stops before a comment on the table's last line; the snippet's own newline keeps it a line of its own.
  const behind = [...others, ...pairs]
    .filter((range) => range[0] >= to)
    .map(([start, end]): Range => [start - to, end - to]);
  const inFront = pairs.filter((range) => range[0] < from);
  return cutLines(text.slice(0, from), inFront) + snippet + cutLines(text.slice(to), behind);
};

/** A table leaves no empty parent behind, so there is nothing to drop. */
export const removeToml = (text: string, file: string, path: Path, _dropEmpty = false): string => {
  const { tables, pairs } = findDefinitions(text, file, path);
  return cutLines(text, [...tables, ...pairs]);
};
