import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Language } from "../../src/sandbox/contract.ts";
import { allTools } from "../../src/tools/all.ts";
import { shareTestApp, type TestApp } from "../app.ts";

const FILES = {
  "a.txt": "one\ntwo\n",
  "src/m.ts": "export const helper = (n: number): number => n + 1;\nexport const use = () => helper(1);\n",
  "test_x.py": "def test_x():\n    assert True\n",
};

const PATCH = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n";

/** For each tool, arguments with which it does something; what it changes is made anew for every call. */
const ARGS: Readonly<Record<string, object>> = {
  "00_INIT": {},
  read_file: { path: "a.txt" },
  list_dir: {},
  stat: { path: "a.txt" },
  linux_fs_read: { path: "a.txt" },
  linux_fs_write: { path: "new.txt", content: "x\n" },
  linux_fs_edit: { path: "a.txt", old_text: "one", new_text: "uno" },
  linux_fs_list: { path: "." },
  linux_fs_move: { source: "a.txt", target: "b.txt" },
  linux_fs_copy: { source: "a.txt", target: "c.txt" },
  linux_fs_delete: { path: "a.txt" },
  linux_fs_mkdirs: { path: "d/e" },
  linux_search_files: { pattern: "a.txt" },
  linux_search_content: { pattern: "two" },
  linux_handle_read: { handle: "h_none" },
  repo_read: { path: "a.txt" },
  repo_write_patch: { patch: PATCH },
  run_cmd: { command: "cat a.txt" },
  te_run: { args: ["cat", "a.txt"] },
  run_pytest: {},
  search_tools: { query: "read" },
  linux_proc_list: {},
  linux_proc_start: { command: "cat a.txt" },
  linux_proc_read: { proc_id: "none" },
  linux_proc_send: { proc_id: "none", input: "x" },
  linux_proc_stop: { proc_id: "none" },
  linux_proc_kill: { proc_id: "p_none" },
  linux_sys_snapshot: {},
  rag_search: { query: "helper" },
  rag_search_enriched: { query: "helper" },
  rag_query: { query: "helper" },
  rag_where_used: { symbol: "helper" },
  rag_lineage: { symbol: "helper" },
  inspect: { target: "helper" },
  rag_stats: {},
  rag_plan: { query: "where is helper used" },
  health: {},
  get_metrics: {},
  admin_get_status: {},
  admin_get_metrics: {},
};

/** What differs between any two calls: times, sizes of processes, identifiers. */
const CHANGES =
  /time|_ms|seconds|uptime|latency|handle|proc_id|pid|cpu|mem|load|metrics|created|mtime|sha256|duration|budget_remaining|_at$/i;

const comparable = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(comparable);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !CHANGES.test(key))
      .map(([key, item]) => [key, comparable(item)]),
  );
};

/** Tools whose whole answer is about this very moment: only the shape is compared. */
const OF_THE_MOMENT = new Set([
  "linux_proc_list",
  "linux_sys_snapshot",
  "get_metrics",
  "admin_get_metrics",
  "admin_get_status",
  "health",
]);

const shapeOf = (name: string, value: unknown): unknown =>
  OF_THE_MOMENT.has(name) ? Object.keys(value as object).toSorted() : comparable(value);

const TOOLS = allTools.map(({ name }) => name).filter((name) => name !== "execute_code");

const PROGRAMS: Readonly<Record<Exclude<Language, "typescript">, (name: string) => string>> = {
  javascript: (name) =>
    `try { ({ value: await tools[${JSON.stringify(name)}](inputs) }) } catch (e) { ({ code: e.code, message: e.message }) }`,
  python: (name) =>
    `try:\n    r = {"value": await tools[${JSON.stringify(name)}](**inputs)}\nexcept ToolError as e:\n    r = {"code": e.code, "message": e.message}\nr`,
};

/** The workspace as it was at first, for the next call. */
const reset = (root: string): void => {
  for (const name of readdirSync(root))
    if (name !== ".llmc") rmSync(join(root, name), { recursive: true, force: true });
  for (const [path, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
};

const callDirectly = async (app: TestApp, name: string): Promise<unknown> => {
  reset(app.root);
  const answer = await app.ask(name, ARGS[name]);
  if (answer.kind === "error") return { code: answer.body.meta.error_code, message: answer.body.error };
  if (answer.kind !== "ok") throw new Error(JSON.stringify(answer));
  return { value: answer.structured };
};

const callFromProgram = async (
  app: TestApp,
  name: string,
  language: keyof typeof PROGRAMS,
): Promise<unknown> => {
  reset(app.root);
  const code = PROGRAMS[language](name);
  const answer = await app.ask("execute_code", { language, code, inputs: ARGS[name], timeout_s: 120 });
  if (answer.kind !== "ok") throw new Error(JSON.stringify(answer));
  return (answer.structured as { readonly data: { readonly result: unknown } }).data.result;
};

describe("REQ-E2 REQ-E4: every tool answers a program as it answers a client", () => {
  const app = shareTestApp({
    files: FILES,
    overrides: { "mcp.mode": "classic", "mcp.tools.run_cmd_allowlist": "cat,pytest" },
  });

  test("the table names every tool", () => {
    expect(Object.keys(ARGS).toSorted()).toEqual(TOOLS.toSorted());
  });

  test.each(TOOLS)("%s", { timeout: 180_000 }, async (name) => {
    const direct = shapeOf(name, await callDirectly(app(), name));
    expect(JSON.stringify(direct)).not.toMatch(/invalid_args|INVALID_ARGS/);
    for (const language of ["javascript", "python"] as const)
      expect(shapeOf(name, await callFromProgram(app(), name, language)), language).toEqual(direct);
  });
});
