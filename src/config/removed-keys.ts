/**
 * Removed keys and tables of earlier versions, with the reason, which is shown for a file that still uses them
 * (REQ-D26).
 */
const REMOVED: ReadonlyMap<string, string> = new Map([
  [
    "mcp.tools.write_denylist_globs",
    "git directories are protected without a list, and start-up files by mcp.tools.startup_globs",
  ],
  ["mcp.docker", "volumes are configured in the container engine, and this table never had an effect"],
  [
    "mcp.te.script_path",
    "a program in the workspace could be written by a client and would run outside the sandbox",
  ],
  ["mcp.te.json_mode", "it belonged to mcp.te.script_path"],
]);

/** Why a key, or the table that it is in, was removed. */
export const removalReason = (key: string): string | undefined =>
  [...REMOVED].find(([removed]) => key === removed || key.startsWith(`${removed}.`))?.[1];

/** Keys that used to have an effect, so a file that still sets one is an error and not just a warning. */
const HAD_EFFECT: ReadonlySet<string> = new Set(["mcp.tools.write_denylist_globs"]);

/** Whether a key can be passed over with a warning. */
export const neverHadEffect = (key: string): boolean =>
  removalReason(key) !== undefined && !HAD_EFFECT.has(key);
