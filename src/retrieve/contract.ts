import type { FileSymbols } from "../symbols/extract/file-symbols.ts";
import type { ContentKind } from "../syntax/language-table.ts";

/** The words that the steps of retrieval share: walk -> parse -> chunk -> embed -> store -> search -> rank. */

export interface SourceFile {
  /** Relative to the workspace, with slashes. */
  readonly path: string;
  readonly text: string;
}

export type ChunkKind = ContentKind;

/** A whole, useful unit of a file: what a hit shows. */
export interface Chunk {
  /** Counted from 1, inclusive. */
  readonly startLine: number;
  readonly endLine: number;
  readonly kind: ChunkKind;
  /** Qualified name of the outermost definition (`Store.open`), or the path of headings; empty where there is none. */
  readonly name: string;
  /** Plain names that are defined in it, outermost first. */
  readonly defines: readonly string[];
  /** The lines as they stand in the file, without the last line end; a part of it where one line is too long for a chunk. */
  readonly text: string;
}

/** What parsing one file gives. */
export interface ParsedFile {
  readonly language: string;
  readonly chunks: readonly Chunk[];
  readonly symbols: FileSymbols;
  /** Why the file was cut into plain windows of lines instead, where it was. */
  readonly fallback: string | undefined;
}

/** Turns text into vectors. Vectors of one embedder are compared with each other only. */
export interface Embedder {
  /** Changes whenever vectors would: part of what an index is valid for. */
  readonly id: string;
  readonly dimensions: number;
  /** Normalised to length 1 and scaled to the range of a signed byte. */
  embedChunk(path: string, text: string): Int8Array;
  embedQuery(text: string): Int8Array;
}

export type Scope = "repo" | "docs" | "both";

export interface SearchRequest {
  readonly query: string;
  readonly scope: Scope;
  readonly k: number;
  readonly budgetTokens: number;
  /** Globs on the path; several mean any of them. */
  readonly pathGlobs?: readonly string[];
  readonly language?: string;
  readonly kind?: ChunkKind;
}

export interface Snippet {
  readonly path: string;
  readonly startLine: number;
  readonly endLine: number;
  readonly text: string;
  /** Between 0 and 1; comparable within one answer. */
  readonly score: number;
  readonly language: string;
  readonly name: string;
  /** The text was cut to the token budget. */
  readonly cut: boolean;
}
