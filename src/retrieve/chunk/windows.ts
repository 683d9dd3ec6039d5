import { rowAtoms } from "./atoms.ts";
import type { ChunkKind } from "./chunk.ts";
import { toLines } from "./lines.ts";
import { SIZES } from "./sizes.ts";
import { type Cut, toChunks } from "./to-chunks.ts";

/** Plain windows of lines, for text without a parser, cut where blank lines and indentation suggest that something starts. */
export const cutWindows = (text: string, kind: ChunkKind): Cut => {
  const lines = toLines(text);
  const atoms = rowAtoms(lines, 0, lines.count - 1);
  return toChunks({ lines, atoms, outline: [], kind, sizes: SIZES, defining: false });
};
