export interface Written {
  /** As in results of reads: relative to the workspace where inside it. */
  readonly path: string;
  readonly bytesWritten: number;
  /** Of the whole file as it is now, in hex. Empty where the file was removed. */
  readonly sha256: string;
  readonly created: boolean;
}

export interface Copied {
  readonly source: string;
  readonly target: string;
  readonly files: number;
  readonly bytes: number;
  /** Links and special files in a directory, which are not copied. */
  readonly skipped: number;
}

export interface Preconditions {
  /** Full hex, or a prefix of at least 12 digits. Not checked where there is no file (REQ-D6). */
  readonly expectedSha256?: string | undefined;
}

/**
 * The new text of a file. It is made in memory, so whoever makes it stops before it is longer than `maxChars`; what is
 * longer is refused. It may be called more than once, when the file changes while it is read.
 */
export type TextChange = (text: string, maxChars: number) => string | Promise<string>;

/**
 * One file of a change that happens whole or not at all. Files that are created or renamed get the directories they
 * lack.
 */
export type FileChange =
  | { readonly kind: "update"; readonly path: string; readonly change: TextChange }
  | { readonly kind: "create"; readonly path: string; readonly text: string }
  /** `mode` is for a new file; a file that is replaced keeps its own. */
  | {
      readonly kind: "put";
      readonly path: string;
      readonly bytes: Buffer;
      readonly mode: number;
      readonly overwrite: boolean;
      /** Its directory must be there, and none is made. */
      readonly inExisting?: boolean;
    }
  | { readonly kind: "directory"; readonly path: string }
  | { readonly kind: "delete"; readonly path: string; readonly check: (text: string) => void }
  | {
      readonly kind: "rename";
      readonly path: string;
      readonly target: string;
      readonly change: TextChange;
    };

/** A caller's changes: every path is judged on descriptors, every change is locked, atomic and synced. */
export interface FileWrites {
  rewrite(path: string, text: string, options?: Preconditions, signal?: AbortSignal): Promise<Written>;
  append(
    path: string,
    added: string | Buffer,
    options?: Preconditions,
    signal?: AbortSignal,
  ): Promise<Written>;
  /**
   * Reads, changes and writes under one lock. `change` gets the decoded text without BOM, with its line endings as they
   * are; BOM and encoding are kept. What it throws ends the update with nothing written. Returning the same text writes
   * nothing.
   */
  update(path: string, change: TextChange, options?: Preconditions, signal?: AbortSignal): Promise<Written>;
  /** All or nothing over many files; with `dryRun` everything is checked and nothing written. */
  applyAll(
    changes: readonly FileChange[],
    options: { readonly dryRun: boolean },
    signal?: AbortSignal,
  ): Promise<readonly Written[]>;
  move(
    source: string,
    target: string,
    signal?: AbortSignal,
  ): Promise<{ readonly source: string; readonly target: string }>;
  /** Copies a file, or a directory with all its files; links in it are left out, and counted. All or nothing. */
  copy(
    source: string,
    target: string,
    options: { readonly overwrite: boolean },
    signal?: AbortSignal,
  ): Promise<Copied>;
  remove(
    path: string,
    options: { readonly recursive: boolean },
    signal?: AbortSignal,
  ): Promise<{ readonly path: string; readonly removed: number }>;
  makeDirs(
    path: string,
    options: { readonly existOk: boolean },
    signal?: AbortSignal,
  ): Promise<{ readonly path: string; readonly created: boolean }>;
}
