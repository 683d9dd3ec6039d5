import { type AST, getStaticTOMLValue, parseTOML } from "toml-eslint-parser";
import { refuseCostly } from "./parse-toml.ts";

export type TomlPath = readonly (string | number)[];

/** A key with its whole path. */
export interface TomlPair {
  readonly path: TomlPath;
  readonly pair: AST.TOMLKeyValue;
}

export const parseTree = (text: string): AST.TOMLTopLevelTable => {
  refuseCostly(text);
  return parseTOML(text, { tomlVersion: "1.1" }).body[0];
};

const pairIn = (above: TomlPath, pair: AST.TOMLKeyValue): TomlPair => ({
  path: [...above, ...getStaticTOMLValue(pair.key)],
  pair,
});

/** The keys of the file, without those of inline tables. */
export const pairsOf = (tree: AST.TOMLTopLevelTable): readonly TomlPair[] =>
  tree.body.flatMap((node) =>
    node.type === "TOMLKeyValue" ? pairIn([], node) : node.body.map((pair) => pairIn(node.resolvedKey, pair)),
  );

/** The key, and those of its inline table. */
export const withInlinePairs = (outer: TomlPair): readonly TomlPair[] => {
  const { value } = outer.pair;
  const inner = value.type === "TOMLInlineTable" ? value.body : [];
  return [outer, ...inner.flatMap((pair) => withInlinePairs(pairIn(outer.path, pair)))];
};

export const startsWith = (path: TomlPath, start: TomlPath): boolean =>
  start.every((part, index) => path[index] === part);

export const lineEndingOf = (text: string): string => (text.includes("\r\n") ? "\r\n" : "\n");

/** The text with a table at its end, after a blank line. */
export const appendTable = (text: string, table: string): string => {
  const eol = lineEndingOf(text);
  return text === "" ? table : `${text}${text.endsWith("\n") ? "" : eol}${eol}${table}`;
};
