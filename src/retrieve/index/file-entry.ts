import { NO_SYMBOLS } from "../../symbols/extract/file-symbols.ts";
import { packSymbols } from "../../symbols/extract/pack.ts";
import { type SentTree, symbolsOfSent } from "../../symbols/sent-tree.ts";
import type { Chunk, ChunkKind } from "../chunk/chunk.ts";
import type { Embedder } from "../embed/embedder.ts";
import { chunkTerms } from "../terms/chunk-terms.ts";
import type { ParsedFile } from "./parse-file.ts";

/** What the index keeps of one file, as it is stored and sent between threads. Texts stay on the disk. */
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

/** A part of one very long line: where it begins and how much it is, in UTF-16 units. */
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

/** Parts of a line come in order, so each is looked for after the one before. */
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

const joined = (pieces: readonly Uint8Array[]): Uint8Array => {
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

/** What is made of a file without its tree. Plain data. */
export interface WeighedFile {
  /** Packed; undefined where they are known already. */
  readonly symbols: Uint8Array | undefined;
  readonly terms: Uint8Array;
  /** Of each chunk, in bytes. */
  readonly termBytes: readonly number[];
  readonly vectors: Uint8Array;
}

export interface UnweighedFile {
  readonly path: string;
  readonly chunks: readonly Pick<Chunk, "text" | "name" | "defines">[];
  readonly tree: SentTree | undefined;
}

const packedSymbols = (tree: SentTree): Uint8Array => {
  try {
    return packSymbols(symbolsOfSent(tree));
  } catch {
    // Chunks are worth having without symbols: one odd file must not cost its text too.
    return packSymbols(NO_SYMBOLS);
  }
};

export const weighFile = ({ path, chunks, tree }: UnweighedFile, embedder: Embedder): WeighedFile => {
  const terms: Uint8Array[] = [];
  const vectors: Uint8Array[] = [];
  for (const chunk of chunks) {
    terms.push(chunkTerms(path, chunk));
    vectors.push(asBytes(embedder.embedChunk(path, chunk.text)));
  }
  return {
    symbols: tree && packedSymbols(tree),
    terms: joined(terms),
    termBytes: terms.map(({ byteLength }) => byteLength),
    vectors: joined(vectors),
  };
};

export const makeEntry = (
  text: string,
  { language, fallback, chunks, symbols }: ParsedFile,
  { symbols: packed, terms, termBytes, vectors }: WeighedFile,
): FileEntry => {
  const partOf = createPartFinder(text);
  const rows = chunks.map((chunk, i): ChunkRow => {
    const { startLine, endLine, kind, name, defines } = chunk;
    const part = partOf(chunk);
    const row = [startLine, endLine, kind, name, defines, termBytes[i] ?? 0] as const;
    return part === undefined ? row : [...row, part];
  });
  return {
    language,
    fallback,
    chunkCount: chunks.length,
    chunks: JSON.stringify(rows),
    terms,
    vectors,
    symbols: packed ?? packSymbols(symbols),
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

/** The text that a chunk stands for, out of the lines of its file; undefined where they do not reach so far. */
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
