import type { ChunkKind } from "../chunk/chunk.ts";

/** repo: code and data; docs: prose. */
export type Scope = "repo" | "docs" | "both";

/** `auto`: code, unless documents answer the question clearly better. */
export type SearchScope = Scope | "auto";

export interface SearchRequest {
  readonly query: string;
  readonly scope: SearchScope;
  readonly k: number;
  readonly budgetTokens: number;
  /** Globs on the path; a file that matches any of them is searched. */
  readonly pathGlobs?: readonly string[];
  readonly language?: string;
  readonly kind?: ChunkKind;
}

/**
 * Why there are no more snippets: as many as asked for; the budget is used up; the rest has nothing to do with the
 * question; or there is nothing else in what is searched.
 */
export type SearchEnd = "full" | "budget" | "irrelevant" | "all";

export interface Snippet {
  readonly path: string;
  readonly startLine: number;
  readonly endLine: number;
  readonly text: string;
  /** Between 0 and 1; comparable within one answer. */
  readonly score: number;
  /** How well it fits the question by itself, between 0 and 1. */
  readonly relevance: number;
  readonly language: string;
  readonly name: string;
  /** The text was cut to the token budget. */
  readonly cut: boolean;
  /** What speaks for the file, in the answer to a long question: `defines Store`. */
  readonly reasons?: readonly string[];
  /** With reasons: how surely the question points at the file by a trace, a path or a message; 0 to 1. */
  readonly certainty?: number;
}
