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

const TLS_HINT =
  "The key of a certificate must not be where requests are parsed. Leave mcp.server.tls_enabled out and put a proxy in front that serves HTTPS, or leave mcp.sandbox_enabled out to go without.";

/** The process that parses must not have the key, so TLS is served by the one that does the work. */
const isTls = ({ config }: Loaded, door: Door): boolean => door === "HTTP" && config.mcp.server.tls_enabled;

type Door = "stdio" | "HTTP";

/** Whether what parses input runs as a process of its own; one process cannot be sandboxed, because it does the work. */
export const isSplitWanted = (loaded: Loaded, door: Door): boolean => {
  const { subprocess } = loaded.config.mcp;
  const isRequired = sandboxWanted(loaded) === "required";
  if (isRequired && !subprocess && isWritten(loaded, "mcp.subprocess"))
    throw refuse("mcp.subprocess is false, so that everything runs in one process", ONE_PROCESS_HINT);
  if (isRequired && isTls(loaded, door))
    throw refuse("mcp.server.tls_enabled is true, so that everything runs in one process", TLS_HINT);
  return (subprocess || isRequired) && !isTls(loaded, door);
};

/** What to say at the start of a server that has no front, although the configuration would allow one. */
export const unmetSplit = (loaded: Loaded): string | undefined =>
  loaded.config.mcp.subprocess && isTls(loaded, "HTTP")
    ? "with TLS, what parses requests over HTTP runs in the process that does the work, without a sandbox"
    : undefined;

/** Written as true, it never starts without: for a start that runs everything in one process. */
export const refuseUnsandboxed = (loaded: Loaded): void => {
  if (sandboxWanted(loaded) !== "required") return;
  throw refuse("this way to start runs everything in one process", "Start the server with bin/llmc.");
};
