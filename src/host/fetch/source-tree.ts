import type { LlmcError } from "../../base/error.ts";

export interface TreeFile {
  /** Relative to the source, with slashes. */
  readonly path: string;
  readonly size: number;
}

export type TreeRead =
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }
  /** Larger than asked for, not readable, under a name that is not UTF-8, or not there any more. */
  | { readonly kind: "large" | "unreadable" | "unnamed" | "gone" };

/** Files that the operator named as a source: a folder of the disk, or a commit of a repository. */
export interface SourceTree extends AsyncDisposable {
  /** Those that cannot be read included, so that each of them is named. */
  readonly files: readonly TreeFile[];
  /** What could not be listed, by its path. */
  readonly failures: readonly { readonly path: string; readonly error: LlmcError }[];
  /** What the source itself says, such as a tag. */
  readonly version?: string | undefined;
  read(path: string, maxBytes: number, signal?: AbortSignal): Promise<TreeRead>;
}

export interface TreeOptions {
  /** Globs of names whose content is withheld. */
  readonly denylist: readonly string[];
  /** The user's own folders of llmc. */
  readonly closed: readonly string[];
  readonly maxFiles: number;
}
