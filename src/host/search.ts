export interface ContentQuery {
  readonly root: string;
  readonly pattern: string;
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
  /** The line, with its context lines around it; cut where it is very long. */
  readonly snippet: string;
  /** First line of the snippet, counted from 1. */
  readonly firstLine: number;
}

export interface ContentAnswer {
  readonly root: string;
  readonly hits: readonly ContentHit[];
  /** Matching lines in all files. */
  readonly totalHits: number;
  readonly totalFiles: number;
  /** False where counting was stopped at the deadline: the totals are then lower bounds. */
  readonly exact: boolean;
  /** Handle to all hits, where there are more than were returned. */
  readonly handle: string | undefined;
}

export interface NameQuery {
  readonly root: string;
  readonly pattern: string;
  readonly fileGlob: string | undefined;
  readonly ignoreFiles: boolean;
  readonly maxResults: number;
}

export interface NameAnswer {
  readonly root: string;
  /** Best first. */
  readonly paths: readonly string[];
  readonly totalHits: number;
  readonly exact: boolean;
  readonly handle: string | undefined;
}

export interface Search {
  content(query: ContentQuery, signal?: AbortSignal): Promise<ContentAnswer>;
  names(query: NameQuery, signal?: AbortSignal): Promise<NameAnswer>;
}
