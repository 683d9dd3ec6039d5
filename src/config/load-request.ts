import type { Environment } from "./environment.ts";
import type { Overrides } from "./overrides.ts";
import type { TrustFiles } from "./trust-record.ts";
import type { UserFolders } from "./user-folders.ts";

/** The part of the disk that the configuration needs. */
export interface ConfigDisk {
  readText(path: string): Promise<string | undefined>;
  /** The real path, or the one that it will have once it is created. */
  realOrFuture(path: string): string;
  /** What tells the state of a file from an earlier or later one; null if there is no such file. */
  identityOf(path: string): string | null;
  watch(path: string, changed: () => void): () => void;
}

export interface LoadRequest {
  readonly disk: Pick<ConfigDisk, "readText" | "realOrFuture" | "identityOf">;
  readonly trust: TrustFiles;
  readonly env: Environment;
  /** The user's own configuration, and where trust in workspaces is recorded. */
  readonly folders: UserFolders;
  /** The workspace: its real path. */
  readonly root: string;
  /** A file the operator named, which must exist; relative to the root. Without it, `llmc.toml` in the root is optional. */
  readonly configPath?: string | undefined;
  readonly overrides?: Overrides | undefined;
  /** Whether origins include line numbers. This takes about 10 ms, which a server start can avoid. */
  readonly lines?: boolean | undefined;
}
