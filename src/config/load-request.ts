import type { Environment } from "./environment.ts";
import type { Overrides } from "./overrides.ts";
import type { TrustFiles } from "./trust-record.ts";
import type { UserFolders } from "./user-folders.ts";

/** What this room needs of the machine. */
export interface ConfigDisk {
  readText(path: string): Promise<string | undefined>;
  /** Where a path really leads, or undefined when there is nothing. */
  resolveFile(path: string): Promise<{ readonly path: string } | undefined>;
  watch(path: string, changed: () => void): () => void;
}

export interface LoadRequest {
  readonly disk: Pick<ConfigDisk, "readText" | "resolveFile">;
  readonly trust: TrustFiles;
  readonly env: Environment;
  /** The user's own configuration, and where trust in workspaces is recorded. */
  readonly folders: UserFolders;
  /** The workspace: its real path. */
  readonly root: string;
  /** A file the operator named, which must exist; relative to the root. Without it, `llmc.toml` in the root is optional. */
  readonly configPath?: string | undefined;
  readonly overrides?: Overrides | undefined;
  /** Whether the origin of a file's value has its line. Costs some 10 ms, which a server's start can do without. */
  readonly lines?: boolean | undefined;
}
