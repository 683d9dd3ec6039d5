import { isDeepStrictEqual } from "node:util";
import { type AST, getStaticTOMLValue } from "toml-eslint-parser";
import { LlmcError } from "../base/error.ts";
import { parseToml } from "./parse-toml.ts";
import { tomlInline, tomlLines } from "./toml-text.ts";
import {
  appendTable,
  lineEndingOf,
  pairsOf,
  parseTree,
  startsWith,
  type TomlPath,
  withInlinePairs,
} from "./toml-tree.ts";

/** Entries for a list of one table, such as `run_cmd_allowlist` of `mcp.tools`. */
export interface Addition {
  readonly table: readonly string[];
  readonly name: string;
  readonly items: readonly string[];
  /** The list to begin with where the file does not have it. */
  readonly otherwise: readonly string[];
}

const isSamePath = (one: TomlPath, other: TomlPath): boolean =>
  one.length === other.length && startsWith(one, other);

const lineEnd = (text: string, from: number): number => {
  const at = text.indexOf("\n", from);
  if (at === -1) return text.length;
  return text[at - 1] === "\r" ? at - 1 : at;
};

const insert = (text: string, at: number, added: string): string =>
  text.slice(0, at) + added + text.slice(at);

/** Whether entries share lines, as those do that are written by `assignment`. */
const isWrapped = ({ elements }: AST.TOMLArray): boolean =>
  elements.some((one, at) => one.loc.start.line === elements[at - 1]?.loc.start.line);

const MAX_LINE_CHARS = 100;

/** Entries in lines without their last commas. */
const wrapped = (values: readonly string[], indent: string): readonly string[] => {
  const rows: string[] = [];
  for (const value of values) {
    const row = rows.at(-1);
    if (row === undefined || indent.length + row.length + value.length + 3 > MAX_LINE_CHARS) rows.push(value);
    else rows[rows.length - 1] = `${row}, ${value}`;
  }
  return rows;
};

/** Behind the last entry: on lines of their own where that has one, comments stay with what they are about. */
const intoArray = (text: string, array: AST.TOMLArray, items: readonly string[], eol: string): string => {
  const values = items.map((item) => tomlInline(item));
  const last = array.elements.at(-1);
  if (last === undefined) return insert(text, array.range[0] + 1, values.join(", "));
  const end = last.range[1];
  const rest = text.slice(end, lineEnd(text, end));
  const endsHere = array.range[1] <= end + rest.length;
  if (endsHere) return insert(text, end, values.map((value) => `, ${value}`).join(""));
  const start = text.lastIndexOf("\n", last.range[0]) + 1;
  const indent = /^[ \t]*/.exec(text.slice(start))?.[0] ?? "";
  const hasComma = /^[ \t]*,/.test(rest);
  const rows = isWrapped(array) ? wrapped(values, indent) : values;
  const lines = rows.map((row, at) => `${eol}${indent}${row}${hasComma || at < rows.length - 1 ? "," : ""}`);
  return insert(insert(text, end + rest.length, lines.join("")), end, hasComma ? "" : ",");
};

const assignment = (name: string, items: readonly string[], eol: string): string =>
  `${name} = ${(tomlLines(items) ?? []).join(eol)}`;

/**
 * Where the table has the key commented out, as the template does below its description: the end of that value. A line that
 * starts with `#` and no single space goes on with it.
 */
const endOfCommentedOut = (text: string, from: number, to: number, name: string): number | undefined => {
  const found = new RegExp(`^#${name} = [^\\n]*(?:\\n#(?! \\S)[^\\n]*)*`, "m").exec(text.slice(from, to));
  return found === null ? undefined : from + found.index + found[0].replace(/\r$/, "").length;
};

/** A new key: in its table where there is one, beside its neighbours, or in a new table at the end. */
const asNewKey = (
  text: string,
  tree: AST.TOMLTopLevelTable,
  { table, name, items, otherwise }: Addition,
  eol: string,
): string => {
  const all = [...new Set([...otherwise, ...items])];
  const header = tree.body.find((node) => node.type === "TOMLTable" && isSamePath(node.resolvedKey, table));
  if (header?.type === "TOMLTable") {
    const above = header.body.at(-1) ?? header.key;
    const next = tree.body[tree.body.indexOf(header) + 1]?.range[0] ?? text.length;
    const at = endOfCommentedOut(text, header.range[0], next, name) ?? lineEnd(text, above.range[1]);
    return insert(text, at, `${eol}${assignment(name, all, eol)}`);
  }
  const pairs = pairsOf(tree).flatMap(withInlinePairs);
  const inline = pairs.find(
    ({ path, pair }) => isSamePath(path, table) && pair.value.type === "TOMLInlineTable",
  );
  if (inline?.pair.value.type === "TOMLInlineTable") {
    const { body, range } = inline.pair.value;
    const value = `${name} = ${tomlInline(all)}`;
    const last = body.at(-1);
    return last === undefined
      ? insert(text, range[0] + 1, ` ${value} `)
      : insert(text, last.range[1], `, ${value}`);
  }
  const neighbour = pairs.findLast(({ path }) => startsWith(path, table) && path.length === table.length + 1);
  if (neighbour !== undefined) {
    const { key, range } = neighbour.pair;
    const prefix = text.slice(key.range[0], key.keys.at(-1)?.range[0]);
    return insert(text, lineEnd(text, range[1]), `${eol}${prefix}${assignment(name, all, eol)}`);
  }
  return appendTable(text, `[${table.join(".")}]${eol}${assignment(name, all, eol)}${eol}`);
};

const applyOne = (text: string, addition: Addition): string => {
  const tree = parseTree(text);
  const eol = lineEndingOf(text);
  const path = [...addition.table, addition.name];
  const pairs = pairsOf(tree).flatMap(withInlinePairs);
  const present = pairs.find((one) => isSamePath(one.path, path))?.pair.value;
  if (present === undefined) return asNewKey(text, tree, addition, eol);
  if (present.type !== "TOMLArray") return text;
  const old: unknown = getStaticTOMLValue(present);
  const missing = addition.items.filter((item) => !Array.isArray(old) || !old.includes(item));
  return missing.length === 0 ? text : intoArray(text, present, missing, eol);
};

type Tree = Record<string, unknown>;

/** What the file must say afterwards. */
const addToValues = (text: string, additions: readonly Addition[]): Tree => {
  const values: Tree = parseToml(text);
  for (const { table, name, items, otherwise } of additions) {
    let at = values;
    for (const part of table) {
      at[part] ??= {};
      at = at[part] as Tree;
    }
    const old = Array.isArray(at[name]) ? (at[name] as readonly string[]) : otherwise;
    at[name] = [...new Set([...old, ...items])];
  }
  return values;
};

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

/**
 * Adds entries to lists of a TOML file and leaves everything else as it is written: comments, order and layout. What
 * cannot be edited that way is refused, with what to write by hand.
 */
export const addToLists = (text: string, additions: readonly Addition[]): string => {
  const wanted = additions.filter(({ items }) => items.length > 0);
  try {
    const edited = wanted.reduce(applyOne, text);
    if (isDeepStrictEqual(plain(parseToml(edited)), plain(addToValues(text, wanted)))) return edited;
  } catch {
    // Reported below: the file was valid before.
  }
  const lines = wanted.map(
    ({ table, name, items }) => `${[...table, name].join(".")}: add ${tomlInline(items)}`,
  );
  throw new LlmcError("invalid_args", "The configuration file is laid out in a way that llmc cannot edit.", {
    hint: `Nothing was written. Edit it by hand: ${lines.join("; ")}.`,
  });
};
