/** The limit that a command exceeded, as a note for its caller. */
export const LIMIT_NOTES = {
  memory: "over the memory limit (mcp.tools.command_memory_mb)",
  processes: "over the limit of processes (mcp.tools.command_processes)",
} as const;

export type ReachedLimit = keyof typeof LIMIT_NOTES;
