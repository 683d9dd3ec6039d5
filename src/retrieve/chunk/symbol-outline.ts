import type { Definition, FileSymbols, SymbolKind } from "../../symbols/extract/file-symbols.ts";
import type { OutlineEntry } from "./outline.ts";

/** What is inside of these cannot be named from outside. */
const CLOSED: ReadonlySet<SymbolKind> = new Set(["function", "method", "macro"]);

/** Data of a class or an enumeration says what is kept, not what is done; a property with a body is a method. */
const isPlainMember = ({ kind, startLine, endLine }: Definition, above: Definition | undefined): boolean => {
  if (kind === "field") return startLine === endLine;
  return above !== undefined && (kind === "variable" || (kind === "constant" && above.kind === "enum"));
};

/** The definitions of a file that can be named from outside of functions, in the order of the file. */
export const symbolOutline = ({ definitions }: FileSymbols): OutlineEntry[] => {
  /** By definition: the number of those around it; -1 inside of a function. */
  const depths: number[] = [];
  const entries: OutlineEntry[] = [];
  for (const definition of definitions) {
    const { name, qualified, kind, line, startLine, endLine, parent } = definition;
    const above = definitions[parent];
    const depthAbove = above === undefined ? -1 : (depths[parent] ?? -1);
    const isInside = above !== undefined && (depthAbove < 0 || CLOSED.has(above.kind));
    const depth = isInside ? -1 : depthAbove + 1;
    depths.push(depth);
    if (isInside || kind === "alias" || isPlainMember(definition, above)) continue;
    entries.push({ name, qualified, depth, nameRow: line - 1, startRow: startLine - 1, endRow: endLine - 1 });
  }
  return entries.sort((a, b) => a.startRow - b.startRow || a.depth - b.depth);
};
