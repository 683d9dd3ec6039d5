import type { Loaded } from "../config/load.ts";
import type { Snapshot } from "../link/snapshot.ts";

/** What the supervisor has to know of the configuration. */
export interface FrontSettings {
  /** Whether front and core are processes of their own. */
  readonly isSplit: boolean;
  /** `mcp.sandbox_enabled`: left out, whatever the machine can; written out, what it says. */
  readonly sandbox: "off" | "auto" | "required";
  readonly maxMemoryMb: number;
  readonly poolSize: number;
}

/** What is kept for the next start with the same arguments and files. */
export interface CachedStart {
  readonly settings: FrontSettings;
  /** Left out where it may be another each time. */
  readonly snapshot?: Snapshot;
}

export const frontSettingsOf = ({ config: { mcp }, origins }: Loaded): FrontSettings => {
  const isWritten = (origins.get("mcp.sandbox_enabled")?.source ?? "default") !== "default";
  const wanted = isWritten ? "required" : "auto";
  const sandbox = mcp.sandbox_enabled ? wanted : "off";
  return {
    // One process cannot be sandboxed: it does the work.
    isSplit: mcp.subprocess || sandbox === "required",
    sandbox,
    maxMemoryMb: mcp.max_memory_mb,
    poolSize: mcp.performance.connection_pool_size,
  };
};
