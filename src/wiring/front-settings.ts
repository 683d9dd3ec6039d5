import type { Loaded } from "../config/load.ts";
import type { Snapshot } from "../link/snapshot.ts";
import { type AirGap, airGapOf } from "./air-gap.ts";
import { isSplitWanted, type SandboxWanted, sandboxWanted } from "./sandbox-wanted.ts";

/** What the supervisor has to know of the configuration. */
export interface FrontSettings {
  /** Whether front and core are processes of their own. */
  readonly isSplit: boolean;
  readonly sandbox: SandboxWanted;
  readonly maxMemoryMb: number;
  /** Left out where the machine's network may be used. */
  readonly airGap?: AirGap;
}

/** What is kept for the next start with the same arguments and files. */
export interface CachedStart {
  readonly settings: FrontSettings;
  /** Left out where it may be another each time. */
  readonly snapshot?: Snapshot;
}

export const frontSettingsOf = (
  loaded: Loaded,
  env: Readonly<Record<string, string | undefined>>,
): FrontSettings => {
  const { mcp } = loaded.config;
  const airGap = airGapOf(loaded, env);
  return {
    isSplit: isSplitWanted(loaded, "stdio"),
    sandbox: sandboxWanted(loaded),
    maxMemoryMb: mcp.max_memory_mb,
    ...(airGap && { airGap }),
  };
};
