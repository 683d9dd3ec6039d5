import type { Tool } from "../tools/tool.ts";
import type { Mode } from "./modes.ts";

const MODE_LINE: Readonly<Record<Mode, string>> = {
  classic: "Classic mode: every tool is listed.",
  hybrid: "Hybrid mode: a small set of tools works directly on the workspace.",
  code_execution: "Code execution mode: only a few tools are listed.",
};

/** Only tools that are listed may be named, so each line depends on one. */
const TOOL_LINES: readonly (readonly [tool: string, line: string])[] = [
  ["read_file", "Long files come in parts: read on with `offset`."],
  ["linux_fs_edit", "Change files with `linux_fs_edit` (find and replace) rather than rewriting them."],
  ["linux_fs_write", "Create or replace files with `linux_fs_write`."],
  ["run_cmd", "`run_cmd` runs command lines of allowlisted programs (no shell)."],
  [
    "execute_code",
    "Files written by `execute_code` are ephemeral: compute there, keep results with a file tool.",
  ],
];

/** What a client's model is told at the start, and what 00_INIT returns: short, and only about what is there. */
export const instructionsFor = (mode: Mode, listed: readonly Tool[]): string => {
  const names = new Set(listed.map(({ name }) => name));
  return [
    MODE_LINE[mode],
    `Tools: ${listed.map(({ name }) => name).join(", ")}.`,
    "Paths are relative to the workspace; paths outside the allowed roots are refused.",
    ...TOOL_LINES.filter(([tool]) => names.has(tool)).map(([, line]) => line),
    "A failure is `{error, meta: {error_code, retryable}}`; its text says what to do instead.",
  ].join("\n");
};
