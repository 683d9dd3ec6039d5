import type { Atom } from "./atoms.ts";
import type { Chunk, ChunkKind } from "./chunk.ts";
import type { Lines } from "./lines.ts";
import type { Namer } from "./outline.ts";
import { pack } from "./pack.ts";
import {
  HUGE_FILE_CHARS,
  MAX_CHUNKS,
  MAX_CHUNKS_OF_HUGE,
  MAX_PIECES_OF_FILE,
  MAX_PIECES_OF_LINE,
  type Sizes,
} from "./sizes.ts";

export interface Cut {
  readonly chunks: readonly Chunk[];
  /** The file is too large, and only its first part is kept. */
  readonly partial: boolean;
}

/** Splits a line into pieces, after punctuation where there is some near, and never inside a code point. */
const pieces = (line: string, maxChars: number, maxPieces: number): string[] => {
  const found: string[] = [];
  const back = Math.min(200, Math.floor(maxChars / 2));
  for (let at = 0; at < line.length && found.length < maxPieces; ) {
    let end = Math.min(line.length, at + maxChars);
    if (end < line.length) {
      const near = line.slice(end - back, end);
      const boundary = Math.max(
        near.lastIndexOf(";"),
        near.lastIndexOf("}"),
        near.lastIndexOf(","),
        near.lastIndexOf(" "),
      );
      if (boundary >= 0) end = end - back + boundary + 1;
      else if (/[\uD800-\uDBFF]/.test(line[end - 1] ?? "")) end -= 1;
    }
    found.push(line.slice(at, end));
    at = end;
  }
  return found.filter((piece) => piece.trim() !== "");
};

export interface CutRequest {
  readonly lines: Lines;
  readonly atoms: readonly Atom[];
  readonly nameOf: Namer;
  readonly kind: ChunkKind;
  readonly sizes: Sizes;
  /** Headings name chunks but define nothing. */
  readonly defining: boolean;
}

export const toChunks = ({ lines, atoms, nameOf, kind, sizes, defining }: CutRequest): Cut => {
  const chunks: Chunk[] = [];
  let ofLines = 0;
  let partial = false;
  const maxChunks = lines.text.length > HUGE_FILE_CHARS ? MAX_CHUNKS_OF_HUGE : MAX_CHUNKS[kind];
  for (const span of pack(lines, atoms, sizes)) {
    const { from } = span;
    let { to } = span;
    while (to > from && lines.blank(to)) to--;
    if (chunks.length >= maxChunks) return { chunks, partial: true };
    const { name, defines } = nameOf(from, to);
    const base = { startLine: from + 1, endLine: to + 1, kind, name, defines: defining ? defines : [] };
    const text = lines.slice(from, to);
    if (text.length <= sizes.maxChars) {
      chunks.push({ ...base, text });
      continue;
    }
    const room = Math.min(MAX_PIECES_OF_LINE, MAX_PIECES_OF_FILE - ofLines);
    const found = pieces(text, sizes.maxChars, room);
    ofLines += found.length;
    if (found.reduce((sum, piece) => sum + piece.length, 0) < text.trimEnd().length) partial = true;
    chunks.push(...found.map((piece) => ({ ...base, text: piece })));
  }
  return { chunks, partial };
};
