import { packSymbols } from "../../symbols/extract/pack.ts";
import type { Chunk, ChunkKind } from "../chunk/chunk.ts";
import type { Embedder } from "../embed/embedder.ts";
import { chunkTerms } from "../terms/chunk-terms.ts";
import type { ParsedFile, SourceFile } from "./parse-file.ts";

/** What the index stores of one file, also sent between threads. The text itself stays on the disk. */
export interface FileEntry {
  readonly language: string;
  readonly fallback: string | undefined;
  readonly chunkCount: number;
  /** `ChunkRow`s, as JSON. */
  readonly chunks: string;
  /** Packed terms of all chunks, one after the other. */
  readonly terms: Uint8Array;
  /** Vectors of all chunks, one after the other. */
  readonly vectors: Uint8Array;
  readonly symbols: Uint8Array;
}

/** A part of one very long line: where it starts and how long it is, in UTF-16 units. */
type LinePart = readonly [column: number, chars: number];

type ChunkRow = readonly [
  startLine: number,
  endLine: number,
  kind: ChunkKind,
  name: string,
  defines: readonly string[],
  termBytes: number,
  part?: LinePart,
];

export interface StoredChunk extends Omit<Chunk, "text"> {
  readonly part: LinePart | undefined;
  readonly terms: Uint8Array;
  readonly vector: Int8Array;
}

/** Parts of a line come in order, so the search for each starts where the previous one ended. */
const createPartFinder = (text: string) => {
  let lines: readonly string[] | undefined;
  let line = 0;
  let from = 0;
  return ({ startLine, endLine, text: part }: Chunk): LinePart | undefined => {
    if (startLine !== endLine) return undefined;
    lines ??= text.split("\n");
    const whole = lines[startLine - 1] ?? "";
    if (part.length >= whole.length - 1) return undefined;
    if (line !== startLine) from = 0;
    line = startLine;
    const column = Math.max(0, whole.indexOf(part, from));
    from = column + part.length;
    return [column, part.length];
  };
};

const concatenate = (pieces: readonly Uint8Array[]): Uint8Array => {
  const all = new Uint8Array(pieces.reduce((sum, { byteLength }) => sum + byteLength, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.byteLength;
  }
  return all;
};

const asBytes = ({ buffer, byteOffset, byteLength }: Int8Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

export const makeEntry = (
  { path, text }: SourceFile,
  { language, fallback, chunks, symbols }: ParsedFile,
  embedder: Embedder,
): FileEntry => {
  const partOf = createPartFinder(text);
  const terms: Uint8Array[] = [];
  const vectors: Uint8Array[] = [];
  const rows = chunks.map((chunk): ChunkRow => {
    const packed = chunkTerms(path, chunk);
    terms.push(packed);
    vectors.push(
      asBytes(chunk.text === "" ? new Int8Array(embedder.dimensions) : embedder.embedChunk(path, chunk.text)),
    );
    const { startLine, endLine, kind, name, defines } = chunk;
    const part = partOf(chunk);
    const row = [startLine, endLine, kind, name, defines, packed.byteLength] as const;
    return part === undefined ? row : [...row, part];
  });
  return {
    language,
    fallback,
    chunkCount: chunks.length,
    chunks: JSON.stringify(rows),
    terms: concatenate(terms),
    vectors: concatenate(vectors),
    symbols: packSymbols(symbols),
  };
};

/** The chunks of an entry; their arrays are views, not copies. */
export const chunksOf = (
  { chunks, terms, vectors }: Pick<FileEntry, "chunks" | "terms" | "vectors">,
  dimensions: number,
): readonly StoredChunk[] => {
  let at = 0;
  return (JSON.parse(chunks) as readonly ChunkRow[]).map(
    ([startLine, endLine, kind, name, defines, termBytes, part], i) => {
      const from = at;
      at += termBytes;
      return {
        startLine,
        endLine,
        kind,
        name,
        defines,
        part,
        terms: terms.subarray(from, at),
        vector: new Int8Array(vectors.buffer, vectors.byteOffset + i * dimensions, dimensions),
      };
    },
  );
};

/** The text of a chunk, from the lines of its file; undefined where the file has fewer lines. */
export const textOfChunk = (
  lines: readonly string[],
  { startLine, endLine, part }: Pick<StoredChunk, "startLine" | "endLine" | "part">,
): string | undefined => {
  if (endLine > lines.length) return undefined;
  if (part !== undefined) return (lines[startLine - 1] ?? "").slice(part[0], part[0] + part[1]);
  return lines
    .slice(startLine - 1, endLine)
    .join("\n")
    .replace(/\r$/, "");
};
