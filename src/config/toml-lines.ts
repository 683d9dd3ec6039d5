import type { TomlPath } from "./toml-tree.ts";

/** The line of a key, a table or a list item; undefined if it is not known. */
export type LineOf = (path: TomlPath) => number | undefined;

/** Loaded only here: a start without origins or errors does not pay for the second parser. */
export const locateLines = async (text: string): Promise<LineOf> => {
  const { pairsOf, parseTree, withInlinePairs } = await import("./toml-tree.ts");
  const lines = new Map<string, number>();

  // The first mention counts, also for the tables that a longer path implies.
  const note = (path: TomlPath, line: number): void => {
    for (let length = 1; length <= path.length; length++) {
      const id = JSON.stringify(path.slice(0, length));
      lines.set(id, Math.min(line, lines.get(id) ?? line));
    }
  };

  try {
    const tree = parseTree(text);
    for (const node of tree.body)
      if (node.type === "TOMLTable") note(node.resolvedKey, node.key.loc.start.line);
    for (const { path, pair } of pairsOf(tree).flatMap(withInlinePairs)) {
      note(path, pair.key.loc.start.line);
      if (pair.value.type === "TOMLArray")
        for (const [index, element] of pair.value.elements.entries())
          note([...path, index], element.loc.start.line);
    }
  } catch {
    // The values are read by the other parser; where the two differ, a message without a line beats no message.
  }
  return (path) => lines.get(JSON.stringify(path));
};
