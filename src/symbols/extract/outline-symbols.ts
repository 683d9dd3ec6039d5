import type { FileSymbols } from "./file-symbols.ts";

/**
 * Only what connects a file to others: its imports, its top-level definitions and the names that it mentions. That is
 * enough for centrality and takes a small part of the memory.
 */
export const outlineSymbols = ({ definitions, references, imports, module }: FileSymbols): FileSymbols => {
  const seen = new Set<string>();
  return {
    definitions: definitions.filter(({ parent }) => parent < 0),
    references: references.filter(({ name }) => !seen.has(name) && seen.add(name)),
    imports,
    module,
  };
};
