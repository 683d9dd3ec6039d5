import type { Unread } from "../read/unread.ts";
import type { HandleOwner } from "../state/handles/handles.ts";

export interface ContentQuery {
  readonly root: string;
  /**
   * A regular expression of ripgrep's default engine, or plain text where `literal`. Matched within single lines, unless
   * it has a newline in it.
   */
  readonly pattern: string;
  /** Without a slash it speaks of names, with one of paths below the root; `!` in front leaves out what fits. */
  readonly fileGlob: string | undefined;
  readonly literal: boolean;
  readonly ignoreCase: boolean;
  /** Respect .gitignore and the like; hidden files are searched only without. */
  readonly ignoreFiles: boolean;
  readonly contextLines: number;
  readonly maxResults: number;
}

export interface ContentHit {
  /** Relative to the workspace where inside it. */
  readonly path: string;
  /** Counted from 1. */
  readonly line: number;
  /**
   * The line, with its context lines around it; of a very long line the part around the match. Empty where the name is
   * not UTF-8.
   */
  readonly snippet: string;
  /** First line of the snippet, counted from 1. */
  readonly firstLine: number;
}

export interface ContentAnswer {
  readonly root: string;
  /** The first by path and line, whatever the order they were found in. */
  readonly hits: readonly ContentHit[];
  /** Matching lines in all files; of a pattern with newlines, its matches. */
  readonly totalHits: number;
  readonly totalFiles: number;
  /** False where counting was stopped at the deadline, or not everything could be read: the totals are then lower bounds. */
  readonly exact: boolean;
  /** Handle to all hits, where there are more than were returned. */
  readonly handle: string | undefined;
  readonly unread: Unread;
}

export interface NameQuery {
  readonly root: string;
  /**
   * A glob, of names or, with a slash, of paths below the root; otherwise letters of a name. Case counts in a glob with
   * capitals alone.
   */
  readonly pattern: string;
  readonly fileGlob: string | undefined;
  readonly ignoreFiles: boolean;
  readonly maxResults: number;
}

export interface NameAnswer {
  readonly root: string;
  /** Best first; those of a glob by path. */
  readonly paths: readonly string[];
  /**
   * All that match. Names that only have the letters somewhere, in their order, count where nothing else matches, and
   * not otherwise.
   */
  readonly totalHits: number;
  readonly exact: boolean;
  readonly handle: string | undefined;
  /** Files of exactly this name that ignore rules hide, where nothing else has the name. */
  readonly ignored: readonly IgnoredName[];
  readonly unread: Unread;
}

/** A file that was left out, and what hides it. */
export interface IgnoredName {
  readonly path: string;
  /** Such as `*.log in .gitignore`. */
  readonly rule: string;
}

export interface Search {
  /** What does not fit into the answer is kept behind a handle of the owner. */
  content(query: ContentQuery, owner: HandleOwner, signal?: AbortSignal): Promise<ContentAnswer>;
  names(query: NameQuery, owner: HandleOwner, signal?: AbortSignal): Promise<NameAnswer>;
}
