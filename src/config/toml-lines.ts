import type { AST } from "toml-eslint-parser";

export type TomlPath = readonly (string | number)[];
/** The line of a key, a table or a list item; nothing when it cannot be told. */
export type LineOf = (path: TomlPath) => number | undefined;

const partsOf = (key: AST.TOMLKey): string[] =>
  key.keys.map((part) => (part.type === "TOMLBare" ? part.name : part.value));

/** Loaded only here: a start without origins or errors does not pay for the second parser. */
export const locateLines = async (text: string): Promise<LineOf> => {
  const { parseTOML } = await import("toml-eslint-parser");
  const lines = new Map<string, number>();

  // The first mention counts, also for the tables that a longer path implies.
  const note = (path: TomlPath, from: number, line: number): void => {
    for (let length = from; length <= path.length; length++) {
      const id = JSON.stringify(path.slice(0, length));
      if (!lines.has(id)) lines.set(id, line);
    }
  };

  const visitValue = (path: TomlPath, node: AST.TOMLContentNode): void => {
    if (node.type === "TOMLInlineTable") for (const pair of node.body) visitPair(path, pair);
    if (node.type === "TOMLArray") {
      for (const [index, element] of node.elements.entries()) {
        note([...path, index], path.length + 1, element.loc.start.line);
        visitValue([...path, index], element);
      }
    }
  };

  const visitPair = (table: TomlPath, pair: AST.TOMLKeyValue): void => {
    const path = [...table, ...partsOf(pair.key)];
    note(path, table.length + 1, pair.key.loc.start.line);
    visitValue(path, pair.value);
  };

  try {
    const [top] = parseTOML(text, { tomlVersion: "1.1" }).body;
    for (const node of top.body) {
      if (node.type === "TOMLKeyValue") visitPair([], node);
      else {
        note(node.resolvedKey, 1, node.key.loc.start.line);
        for (const pair of node.body) visitPair(node.resolvedKey, pair);
      }
    }
  } catch {
    // The values are read by the other parser; where the two differ, a message without a line beats no message.
  }
  return (path) => lines.get(JSON.stringify(path));
};
