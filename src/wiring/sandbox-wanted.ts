import { LlmcError } from "../base/error.ts";
import type { Loaded } from "../config/load.ts";

const isWritten = ({ origins }: Loaded, key: string): boolean =>
  (origins.get(key)?.source ?? "default") !== "default";

/** `mcp.sandbox_enabled`: left out, whatever the machine can; written out, what it says. */
export type SandboxWanted = "off" | "auto" | "required";

export const sandboxWanted = (loaded: Loaded): SandboxWanted => {
  if (!loaded.config.mcp.sandbox_enabled) return "off";
  return isWritten(loaded, "mcp.sandbox_enabled") ? "required" : "auto";
};

const refuse = (why: string, hint: string): LlmcError =>
  new LlmcError("config_invalid", `mcp.sandbox_enabled is true, but ${why}.`, { hint });

const ONE_PROCESS_HINT =
  "A process that does the work cannot be confined. Leave mcp.subprocess out, or leave mcp.sandbox_enabled out to go without.";

/** Whether what parses input runs as a process of its own; one process cannot be sandboxed, because it does the work. */
export const isSplitWanted = (loaded: Loaded): boolean => {
  const { subprocess } = loaded.config.mcp;
  const isRequired = sandboxWanted(loaded) === "required";
  if (isRequired && !subprocess && isWritten(loaded, "mcp.subprocess"))
    throw refuse("mcp.subprocess is false, so that everything runs in one process", ONE_PROCESS_HINT);
  return subprocess || isRequired;
};

/** What to say at the start of a door that has no front, where the configuration asks for one. */
export const unmetSplit = (loaded: Loaded): string | undefined =>
  loaded.config.mcp.subprocess && isWritten(loaded, "mcp.subprocess")
    ? "mcp.subprocess is true, but over HTTP there is no front yet: what parses requests runs in the process that does the work, without a sandbox"
    : undefined;

/** Written as true, it never starts without: for every door that serves in the process that does the work. */
export const refuseUnsandboxed = (loaded: Loaded, door: "stdio" | "HTTP"): void => {
  if (sandboxWanted(loaded) !== "required") return;
  throw door === "HTTP"
    ? refuse(
        "over HTTP everything runs in one process",
        "Serve over stdio, or leave mcp.sandbox_enabled out to go without.",
      )
    : refuse("this way to start runs everything in one process", "Start the server with bin/llmc.");
};
