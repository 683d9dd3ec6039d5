/** The words that the steps of retrieval share: walk -> parse -> chunk -> embed -> store -> search -> rank. */

export interface SourceFile {
  /** Relative to the workspace, with slashes. */
  readonly path: string;
  readonly text: string;
}

export type ChunkKind = "code" | "prose" | "data" | "text";

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

/** What a definition is, in one word for all languages. */
export type SymbolKind =
  | "class"
  | "interface"
  | "function"
  | "method"
  | "constant"
  | "variable"
  | "field"
  | "type"
  | "enum"
  | "module"
  | "macro";

export interface Definition {
  readonly name: string;
  /** With the definitions around it, joined by dots. */
  readonly qualified: string;
  readonly kind: SymbolKind;
  /** Line of the name; the span is the whole definition. */
  readonly line: number;
  readonly startLine: number;
  readonly endLine: number;
  /** Can be named from other files. */
  readonly exported: boolean;
  /** Index in `definitions` of the one around it; -1 at the top of the file. */
  readonly parent: number;
  /** What its value is, or what a call of it gives, in the words of `graph/expression.ts`; empty where nothing says so. */
  readonly type: string;
  /** What its parameters are, in the same words: `(<Store>,?)`; empty where that tells nothing. */
  readonly parameters: string;
}

export type ReferenceKind = "call" | "type" | "inherit" | "import" | "read" | "write" | "decorate";

export interface Reference {
  readonly name: string;
  readonly kind: ReferenceKind;
  readonly line: number;
  /** What stands before the dot: `store` of `store.open()`; empty for a plain name. */
  readonly receiver: string;
  /** Index in `definitions` of the innermost one that holds it; -1 for the file itself. */
  readonly inside: number;
  /** Index in `definitions` of what it means, where the scopes of this file decide it; otherwise -1. */
  readonly target: number;
  /** `receiver` with locals replaced by what is known of them, in the words of `graph/expression.ts`; empty for a plain name. */
  readonly via: string;
}

export interface Import {
  /** As written: `./store.ts`, `django.db.models`, `std::fmt`. */
  readonly source: string;
  /** Name in the other file; `*` for all of it, empty for the module itself. */
  readonly name: string;
  /** Name in this file; `*` where every name comes in. */
  readonly local: string;
  readonly line: number;
  /** Handed on to those who import this file. An empty `source` then means a name of this file. */
  readonly exported: boolean;
}

/** What one file says about symbols, before anything is resolved across files. Plain data: it is stored and sent between threads. */
export interface FileSymbols {
  readonly definitions: readonly Definition[];
  readonly references: readonly Reference[];
  readonly imports: readonly Import[];
  /** Package or namespace that the file says it belongs to; empty where it says none. */
  readonly module: string;
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
