import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { allTools } from "../../src/tools/all.ts";
import { openTestApp } from "../app.ts";

const NAMES: ReadonlySet<string> = new Set(allTools.map(({ name }) => name));

/** Calls that are refused, each for another reason. */
const REFUSED: readonly (readonly [string, Readonly<Record<string, unknown>>])[] = [
  ...[
    "git log &",
    "wait",
    "jobs",
    "which ls",
    "type ls",
    "nohup ls",
    "time ls",
    "[[ -f a ]] && ls",
    "for f in *; do ls; done",
    "if ls; then ls; fi",
    "echo $(ls)",
    "diff <(ls) <(ls)",
    "eval ls",
    "source a",
    "read A",
    "sed -n 1,20p a.txt",
    "awk 1 a.txt",
    "xargs ls",
    "mkdir x",
    "cp a b",
    "mv a b",
    "rm a",
    "rmdir a",
    "timeout 5 ls",
    "history",
    "touch a",
    "tee a",
    "curl x",
    "git commit -m x",
    "git push",
    "sort -o a a.txt",
    "cat ../outside",
    "ls > .git/hooks/pre-commit",
    "ls > .bashrc",
    "cat .env",
    "PATH=. ls",
  ].map((command) => ["run_cmd", { command }] as const),
  ["read_file", { path: "nope.txt" }],
  ["read_file", { path: "." }],
  ["read_file", { path: "handle:h_none" }],
  ["read_file", { path: "/etc/shadow" }],
  ["list_dir", { path: "a.txt" }],
  ["linux_proc_read", { proc_id: "p_none" }],
  ["linux_proc_send", { proc_id: "p_none", input: "x" }],
  ["linux_fs_edit", { path: "a.txt", edits: [{ find: "zebra", replace: "x" }] }],
  ["linux_fs_write", { path: ".git/config", content: "x" }],
  ["linux_handle_read", { handle: "h_none" }],
  ["rag_where_used", { symbol: "" }],
  ["no_such_tool", {}],
];

describe("REQ-M3: a refusal names no tool that the mode does not list", () => {
  test.each(["classic", "hybrid", "code_execution"])("%s", async (mode) => {
    const app = await openTestApp({ files: { "a.txt": "a\n" }, config: `[mcp]\nmode = "${mode}"\n` });
    const listed = new Set(app.core.listTools().map(({ name }) => name));
    const wrong: string[] = [];
    for (const [tool, args] of REFUSED) {
      const result = await app.ask(tool, args);
      // Programs that may be run can be called like a tool (stat), and the operator may offer one more.
      const text = (result.kind === "error" ? result.body.error : "")
        .replace(/Allowed programs: [^.]*\./, "")
        .replace(
          /(?:Or the operator offers|The operator can offer) \w+ for that: mcp\.hybrid\.promoted_tools\./,
          "",
        )
        // Programs call every tool.
        .replace(listed.has("execute_code") ? /A program \(execute_code\) can call \w+\./ : /(?!)/, "");
      // The caller named the tool of the call itself.
      for (const [word] of text.matchAll(/\w+/g))
        if (NAMES.has(word) && word !== tool && !listed.has(word)) wrong.push(`${word} in: ${text}`);
    }
    expect(wrong).toEqual([]);
  });
});

test("REQ-M3: every name in the code that looks like a tool's is one", () => {
  const src = join(import.meta.dirname, "../../src");
  const unknown = globSync("**/*.ts", {
    cwd: src,
    exclude: (name) => name.endsWith(".test.ts") || name === "tools",
  }).flatMap((file) =>
    [...readFileSync(join(src, file), "utf8").matchAll(/\blinux_(?:fs|proc|search|handle|sys)_[a-z]+\b/g)]
      .map(([name]) => name)
      .filter((name) => !NAMES.has(name))
      .map((name) => `${file}: ${name}`),
  );
  expect(unknown).toEqual([]);
});
