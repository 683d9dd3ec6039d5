import { nameBriefly } from "../policy/program-names.ts";
import type { Tool } from "../tools/tool.ts";
import type { Mode } from "./modes.ts";

const MODE_LINE: Readonly<Record<Mode, string>> = {
  classic: "Classic mode: every tool is listed.",
  hybrid: "Hybrid mode: a small set of tools works directly on the workspace.",
  code_execution: "Code execution mode: a few tools are listed, and programs call all of them.",
};

const describePrograms = (allowlist: readonly string[]): string =>
  allowlist.length === 0 ? "No program is allowed yet." : `Allowed programs: ${nameBriefly(allowlist)}.`;

/** Outside Linux, and for a caller who may not run programs. */
const NO_PROGRAMS =
  "Code execution mode, but no programs: they run on Linux only, for callers who may run them. Mode hybrid lists tools for single calls.";

/** Only tools that are listed may be named, so each part depends on those that it names. */
const TOOL_LINES: readonly (readonly [tools: readonly string[], line: string])[] = [
  [
    ["rag_search"],
    "Find code and documents with `rag_search`, by meaning or by name, before you read whole files.",
  ],
  [["read_file"], "Long files come in parts: read on with `offset`."],
  [["linux_fs_edit"], "Change files with `linux_fs_edit` (find and replace) rather than rewriting them."],
  [["linux_fs_write"], "Create or replace files with `linux_fs_write`."],
  [
    ["execute_code"],
    "Work of many steps is cheapest as one program in `execute_code`, which can call every tool (`.llmc/stubs/index.md` lists them).",
  ],
  [
    ["execute_code", "list_dir"],
    'Such a program: `const r = await tools.list_dir({path: "src"}); r.data.length`. `linux_*`, `kb_*` and `admin_*` return their fields (`hits` …) without `data`.',
  ],
  [
    ["execute_code"],
    "Only what it prints and its last expression reach you. Its own files are ephemeral: compute there, keep results with a file tool.",
  ],
  [["search_tools"], "`search_tools` finds tools for programs and shows how they are called."],
];

/** How to read on in a large result; the first whose tool is listed. */
const HANDLE_LINES: readonly (readonly [tool: string, line: string])[] = [
  ["linux_handle_read", "A long result ends with a handle: read on with `linux_handle_read`."],
  ["read_file", "A long result ends with a handle: read on with `read_file`, path handle:ID."],
];

/**
 * What a client's model reads at the start, and what 00_INIT returns: short, and only about what is available. `listed` is what
 * the reader's own list shows: without what policy can never allow them.
 */
export const instructionsFor = (
  mode: Mode,
  listed: readonly Pick<Tool, "name">[],
  allowlist: readonly string[],
): string => {
  const names = new Set(listed.map(({ name }) => name));
  const handleLine = HANDLE_LINES.find(([tool]) => names.has(tool))?.[1];
  return [
    mode === "code_execution" && !names.has("execute_code") ? NO_PROGRAMS : MODE_LINE[mode],
    `Tools: ${listed.map(({ name }) => name).join(", ")}.`,
    "Paths are relative to the workspace; paths outside the allowed roots are refused.",
    ...TOOL_LINES.filter(([tools]) => tools.every((tool) => names.has(tool))).map(([, line]) => line),
    ...(names.has("run_cmd")
      ? [`\`run_cmd\` runs command lines of allowed programs (no shell). ${describePrograms(allowlist)}`]
      : []),
    ...(handleLine === undefined ? [] : [handleLine]),
    "A failure is `{error, meta: {error_code, retryable}}`; its text says what to do instead.",
  ].join("\n");
};
