import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openTestApp } from "../app.ts";
import { failureOf, textOf } from "../server.ts";
import { createWorkspace } from "../workspace.ts";

const doubled = (times: number) =>
  Array.from({ length: times }, (_, i) => ({ old_text: "a", new_text: "aa", expected_replacements: 2 ** i }));

const TOO_LARGE = { error_code: "OUTPUT_TOO_LARGE" };

describe("FAIL-J6: arguments that multiply stay small", () => {
  test("edits that double a text, and double it again", async () => {
    await using workspace = await createWorkspace({ "b.txt": "a", "big.txt": "a".repeat(1_000_000) });
    const server = await workspace.start({ args: ["--mode", "classic"] });
    const before = server.residentBytes();
    const failure = failureOf(await server.call("linux_fs_edit", { path: "b.txt", edits: doubled(29) }));
    expect(failure.meta).toMatchObject(TOO_LARGE);
    expect(failure.error).toContain(String(64 * 1024 * 1024));
    const single = await server.call("linux_fs_edit", {
      path: "big.txt",
      old_text: "a",
      new_text: "a".repeat(200_000),
      expected_replacements: 1_000_000,
    });
    expect(failureOf(single).meta).toMatchObject(TOO_LARGE);
    expect(await workspace.read("b.txt")).toBe("a");
    // 10 MB measured, for all processes; the least of what is refused would be 190 MiB.
    expect(server.residentBytes() - before).toBeLessThan(100 * 1024 * 1024);
    expect(textOf(await server.call("linux_fs_edit", { path: "b.txt", edits: doubled(10) }))).toContain(
      "1023 replaced",
    );
  });

  test("bytes count, not characters, and a patch is bounded as an edit is", async () => {
    const text = `${"a".repeat(1023)}\n`.repeat(64 * 1024);
    const app = await openTestApp({ files: { "full.txt": text }, overrides: { "mcp.mode": "classic" } });
    const edit = { path: "full.txt", old_text: "a".repeat(1023), new_text: "é".repeat(1023) };
    expect(await app.errorCode("linux_fs_edit", { ...edit, expected_replacements: 64 * 1024 })).toBe(
      "OUTPUT_TOO_LARGE",
    );
    const patch = "--- a/full.txt\n+++ b/full.txt\n@@ -0,0 +1 @@\n+one more\n";
    expect(await app.errorCode("repo_write_patch", { patch })).toBe("file_too_large");
  });

  test("hunks that go back over what was taken do not repeat it", async () => {
    const lines = Array.from({ length: 200_000 }, (_, i) => `line ${i + 1}`);
    const app = await openTestApp({
      files: { "long.txt": `${lines.join("\n")}\n` },
      overrides: { "mcp.mode": "classic" },
    });
    const hunk = (at: number, line: string): string => `@@ -${at},0 +${at},1 @@\n+${line}\n`;
    const head = "--- a/long.txt\n+++ b/long.txt\n";
    const again = `${hunk(200_000, "end")}${hunk(0, "start")}`.repeat(3);
    expect(await app.errorCode("repo_write_patch", { patch: head + again })).toBe("text_not_found");
    // Far down in a long file, a patch works.
    expect(await app.text("repo_write_patch", { patch: head + hunk(180_000, "new") })).toContain("ok");
    expect(readFileSync(join(app.root, "long.txt"), "utf8").split("\n")[180_000]).toBe("new");
  });

  test("hunks that are looked for everywhere are given up", async () => {
    const app = await openTestApp({
      files: { "same.txt": "a\n".repeat(100_000) },
      overrides: { "mcp.mode": "classic" },
    });
    const patch = `--- a/same.txt\n+++ b/same.txt\n@@ -1,20001 +1,20000 @@\n${" a\n".repeat(20_000)}-b\n`;
    const started = performance.now();
    expect(await app.errorCode("repo_write_patch", { patch })).toBe("text_not_found");
    expect(performance.now() - started).toBeLessThan(10_000);
  });

  test.each([
    ["variables", `a=${"x".repeat(1000)}; ${"a=$a$a; ".repeat(40)}echo $a`],
    ["a variable in many places", `a=${"x".repeat(20_000)}; echo ${"$a".repeat(3000)}`],
    ["braces", `echo {1..9999}${"x".repeat(20_000)}`],
  ])("a command line: %s", async (_name, command) => {
    const app = await openTestApp({
      config: '[mcp]\nmode = "classic"\n[mcp.tools]\nenable_run_cmd = true\nrun_cmd_allowlist = ["cat"]\n',
    });
    const before = process.memoryUsage().rss;
    expect(await app.errorCode("run_cmd", { command })).toBe("invalid_args");
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024);
  });
});
