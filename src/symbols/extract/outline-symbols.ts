import type { FileSymbols } from "./file-symbols.ts";

/**
 * What ties a file to others, and nothing else: what it imports, what stands at its top, and which names occur in it. Enough
 * for centrality, in a small part of the memory.
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
