/** Keys and tables of earlier versions that are gone, with the reason: a file that still has them is told (REQ-D26). */
const REMOVED: ReadonlyMap<string, string> = new Map([
  [
    "mcp.tools.write_denylist_globs",
    "git directories are protected without a list, and start-up files by mcp.tools.startup_globs",
  ],
  ["mcp.docker", "a container's volumes are said to the container, and nothing ever read this table"],
  [
    "mcp.te.script_path",
    "a program in the workspace could be written by a client and would run outside the sandbox",
  ],
  ["mcp.te.json_mode", "it belonged to mcp.te.script_path"],
]);

/** Why a key, or the table that it is in, was removed. */
export const removalReason = (key: string): string | undefined =>
  [...REMOVED].find(([removed]) => key === removed || key.startsWith(`${removed}.`))?.[1];

/** Those that did something once; a file that relies on one must not go on without it unnoticed. */
const HAD_EFFECT: ReadonlySet<string> = new Set(["mcp.tools.write_denylist_globs"]);

/** Whether a key can be passed over with a warning. */
export const neverHadEffect = (key: string): boolean =>
  removalReason(key) !== undefined && !HAD_EFFECT.has(key);
