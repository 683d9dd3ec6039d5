/** Keys and tables of the design documents that there are not, with the reason, which a warning shows (REQ-D26). */
const REMOVED: ReadonlyMap<string, string> = new Map([
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
