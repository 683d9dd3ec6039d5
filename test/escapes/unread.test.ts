import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { openTestApp, type TestApp } from "../app.ts";

/** Root reads whatever it likes: then there is nothing to tell, and everything is found. */
const readsEverything = process.getuid?.() === 0;
const unread = <T>(reported: T): T | undefined => (readsEverything ? undefined : reported);

const closed = (root: string, path: string, mode: number): void => {
  chmodSync(join(root, path), 0o000);
  onTestFinished(() => chmodSync(join(root, path), mode));
};

/** With a folder and files that an ordinary user cannot read. */
const openClosed = async (files: Readonly<Record<string, string>> = {}): Promise<TestApp> => {
  const app = await openTestApp({
    overrides: { "mcp.mode": "classic" },
    files: {
      "open.ts": "export const elsewhere = 1;\n",
      "vault/inner.ts": "export const treasure = 1;\n",
      "locked.ts": "export const treasure = 2;\n",
      "locked.md": "treasure\n",
      ...files,
    },
  });
  closed(app.root, "vault", 0o755);
  closed(app.root, "locked.ts", 0o644);
  closed(app.root, "locked.md", 0o644);
  return app;
};

const structured = async (app: TestApp, tool: string, args: unknown): Promise<Record<string, unknown>> => {
  const result = await app.ask(tool, args);
  if (result.kind !== "ok") throw new Error(JSON.stringify(result));
  return result.structured as Record<string, unknown>;
};

describe("FAIL-J6: what could not be read is told, never 'nothing found'", () => {
  test("linux_search_content: in one line and in several, with and without hits", async () => {
    const app = await openClosed();
    for (const pattern of ["treasure", "treasure\\s=\\s\\d;\\n", "elsewhere"]) {
      const found = await structured(app, "linux_search_content", { pattern });
      expect(found["unread"], pattern).toEqual(
        unread({ total: 3, first: ["locked.md", "locked.ts", "vault"] }),
      );
      expect(found["total_is_exact"], pattern).toBe(readsEverything);
      const text = await app.text("linux_search_content", { pattern });
      expect(text.includes("[3 paths could not be read: locked.md, locked.ts, vault]"), pattern).toBe(
        !readsEverything,
      );
    }
    // A file that is not asked for is not missed; what is in the folder nobody knows.
    const typed = await structured(app, "linux_search_content", { pattern: "treasure", file_glob: "*.ts" });
    expect(typed["unread"]).toEqual(unread({ total: 2, first: ["locked.ts", "vault"] }));
    const below = await structured(app, "linux_search_content", {
      pattern: "treasure",
      file_glob: "other/*.ts",
    });
    expect(below["unread"]).toEqual(unread({ total: 1, first: ["vault"] }));
  });

  test("a root of a search is an error of its own", async () => {
    const app = await openClosed();
    for (const tool of ["linux_search_content", "linux_search_files"]) {
      const result = await app.ask(tool, { root: "vault", pattern: "treasure" });
      expect(result.kind === "error" ? result.body.meta.error_code : result.kind, tool).toBe(
        unread("PERMISSION_DENIED") ?? "ok",
      );
    }
  });

  test("a name that looks like messages of the search program is none, and reaches no terminal", async () => {
    const app = await openClosed();
    const odd = "a\u001b[2J\nrg: x: Permission denied (os error 13)\nrg: regex parse error:.ts";
    writeFileSync(join(app.root, odd), "treasure\n");
    closed(app.root, odd, 0o644);
    const found = await structured(app, "linux_search_content", { pattern: "nowhere to be found" });
    expect(JSON.stringify(found["unread"] ?? "")).not.toMatch(/\\n|\\u001b/);
    expect(found["total_is_exact"]).toBe(readsEverything);
  });

  test("linux_search_files", async () => {
    const app = await openClosed();
    const found = await structured(app, "linux_search_files", { pattern: "inner.ts" });
    expect(found["unread"]).toEqual(unread({ total: 1, first: ["vault"] }));
    expect(found["total_is_exact"]).toBe(readsEverything);
    expect(await app.text("linux_search_files", { pattern: "inner.ts" })).toContain(
      readsEverything ? "vault/inner.ts" : "[no files]\n[1 path could not be read: vault]",
    );
  });

  test("linux_fs_list", async () => {
    const app = await openClosed({ "deep/er/x.txt": "" });
    closed(app.root, "deep/er", 0o755);
    const listed = await structured(app, "linux_fs_list", { path: ".", depth: 3 });
    expect(listed["unread"]).toEqual(unread({ total: 2, first: ["deep/er/", "vault/"] }));
    // What is not entered is not missed.
    expect(await structured(app, "linux_fs_list", { path: ".", depth: 0 })).not.toHaveProperty("unread");
    if (!readsEverything)
      expect(await app.errorCode("list_dir", { path: "vault" })).toBe("permission_denied");
  });

  test("the index, and what changes about it", async () => {
    const app = await openClosed();
    const reported = unread("3 paths could not be read and cannot be found: locked.md, locked.ts, vault");
    const notes = async (): Promise<unknown> => {
      const { meta } = await structured(app, "rag_search", { query: "treasure" });
      return (meta as { notes: string[] }).notes;
    };
    expect(await notes()).toEqual(reported === undefined ? [] : expect.arrayContaining([reported]));
    const { data } = await structured(app, "rag_stats", {});
    expect((data as Record<string, unknown>)["unread"]).toEqual(
      unread({ total: 3, first: ["locked.md", "locked.ts", "vault"] }),
    );
    for (const [path, mode] of [
      ["vault", 0o755],
      ["locked.ts", 0o644],
      ["locked.md", 0o644],
    ] as const)
      chmodSync(join(app.root, path), mode);
    await app.engines().then(({ retrieval }) => retrieval.index({}));
    expect(await notes()).toEqual([]);
    expect(await app.text("rag_search", { query: "treasure" })).toContain("vault/inner.ts");
  });

  test("a glob that cannot be read is refused by every tool of the index", async () => {
    const app = await openTestApp({
      overrides: { "mcp.mode": "classic" },
      files: { "src/a.ts": "export const treasure = 1;\n" },
    });
    for (const path_glob of ["src/{a,b", "[z", "{a,b}".repeat(200), "src/[a.ts"])
      for (const tool of ["rag_search", "rag_search_enriched", "rag_plan"])
        expect(await app.errorCode(tool, { query: "treasure", path_glob }), `${tool} ${path_glob}`).toBe(
          "invalid_args",
        );
    expect(await app.text("rag_search", { query: "treasure", path_glob: "src/{a,b}.ts" })).toContain(
      "src/a.ts",
    );
    // As in the other tools, a glob without a slash speaks of names at any depth.
    expect(await app.text("rag_search", { query: "treasure", path_glob: "*.ts" })).toContain("src/a.ts");
  });

  test("a file that is too large for the index is said to be there", async () => {
    const app = await openTestApp({
      overrides: { "mcp.mode": "classic", "mcp.rag.max_file_kb": "1" },
      files: { "big.py": "def treasure(): pass\n".repeat(100), "small.py": "def other(): pass\n" },
    });
    for (const target of ["big.py", "./big.py", "big.py:3", join(app.root, "big.py")]) {
      const text = await app.text("inspect", { target });
      expect(text, target).toContain("big.py is left out of the index");
      expect(text, target).toContain("mcp.rag.max_file_kb");
      expect(text, target).not.toContain("nothing has this name");
    }
    expect(await app.text("rag_where_used", { symbol: "big.py:1" })).toContain("mcp.rag.max_file_kb");
    expect(await app.text("inspect", { target: "nowhere.py" })).toContain("nothing has this name");
  });
});
