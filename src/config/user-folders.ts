import { isAbsolute, join } from "node:path";
import type { Environment } from "./environment.ts";

/** Folders of the user, outside every workspace: files there are trusted as the operator's own. */
export interface UserFolders {
  readonly home: string;
  /** `config.toml` with personal defaults, and policies. */
  readonly config: string;
  /** Tokens, trust, grants and keys. */
  readonly state: string;
  /** Git's own settings and patterns; left out, where they usually are. */
  readonly git?: string | undefined;
}

/** According to the XDG Base Directory Specification, relative values are ignored. */
export const userFolders = (env: Environment, home: string): UserFolders => {
  const folder = (variable: string, fallback: string, name = "llmc"): string => {
    const named = env[variable];
    return join(named !== undefined && isAbsolute(named) ? named : join(home, fallback), name);
  };
  return {
    home,
    config: folder("XDG_CONFIG_HOME", ".config"),
    state: folder("XDG_STATE_HOME", ".local/state"),
    git: folder("XDG_CONFIG_HOME", ".config", "git"),
  };
};

/** Where trust in workspaces is recorded. */
export const trustFolder = (stateFolder: string): string => join(stateFolder, "trust");
