import { execFileSync } from "node:child_process";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { failureOf, type Server, textOf } from "../server.ts";
import { createWorkspace, type Workspace } from "../workspace.ts";

const makeFifo = (path: string): void => void execFileSync("mkfifo", [path]);

const TRAPS: readonly (readonly [string, (path: string) => void])[] = [
  ["a FIFO", makeFifo],
  ["a link to /dev/zero", (path) => symlinkSync("/dev/zero", path)],
  [
    "an endless file",
    (path) => {
      writeFileSync(path, "");
      truncateSync(path, 100 * 1024 ** 3);
    },
  ],
];

const IGNORE_FILES = [
  ".gitignore",
  ".ignore",
  ".rgignore",
  ".git/info/exclude",
  "a/b/.gitignore",
  "a/.ignore",
];

const FILES = { "a/b/one.txt": "needle\n", "two.txt": "needle\n", "a/three.txt": "needle\n" };

/** Command lines of the living processes that search below a folder. */
const searchers = (root: string): string[] =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, "latin1").replaceAll("\0", " ");
        const cwd = readlinkSync(`/proc/${pid}/cwd`);
        return /\brg\b/.test(line) && cwd.startsWith(root) ? [line] : [];
      } catch {
        return [];
      }
    });

const search = (server: Server, args: Readonly<Record<string, unknown>> = {}) =>
  server.call("linux_search_content", { root: ".", pattern: "needle", ...args });

describe("FAIL-J6 FAIL-J2: an ignore file that is none", () => {
  // One server meets all of them, one after the other: nothing of an earlier one may stay with it.
  let workspace: Workspace;
  let server: Server;
  beforeAll(async () => {
    workspace = await createWorkspace(FILES);
    server = await workspace.serve({ args: ["--mode", "classic"] });
  });
  afterAll(() => workspace.remove());

  test.each(IGNORE_FILES.flatMap((file) => TRAPS.map(([what, plant]) => [file, what, plant] as const)))(
    "%s as %s ends the search soon, with an error that names it",
    async (file, _what, plant) => {
      const path = join(workspace.root, file);
      mkdirSync(dirname(path), { recursive: true });
      plant(path);
      try {
        const start = performance.now();
        const failures = [
          failureOf(await search(server)),
          failureOf(await server.call("linux_search_files", { root: ".", pattern: "three" })),
        ];
        expect(performance.now() - start).toBeLessThan(10_000);
        for (const { error, meta } of failures) {
          expect(error).toContain(file.split("/").at(-1) === "exclude" ? "exclude" : file);
          expect(meta.error_code).not.toBe("internal_error");
        }
        await expect.poll(() => searchers(workspace.root)).toEqual([]);
      } finally {
        rmSync(path);
      }
      expect(textOf(await search(server))).toContain("one.txt");
    },
  );

  test("without ignore files the search finds what is there", async () => {
    await using workspace = await createWorkspace(FILES);
    makeFifo(join(workspace.root, "a/.gitignore"));
    const server = await workspace.serve({ args: ["--mode", "classic"] });
    const found = await server.call("linux_search_content", {
      ...{ root: ".", pattern: "needle", no_ignore: true },
    });
    expect(textOf(found)).toContain("one.txt");
  });

  test("above the root is not waited for either", async () => {
    await using workspace = await createWorkspace({ "repo/x/a.txt": "needle\n" });
    makeFifo(join(workspace.root, ".gitignore"));
    const server = await workspace.serve({
      args: ["--mode", "classic", "--root", join(workspace.root, "repo")],
    });
    const { error } = failureOf(await search(server));
    expect(error).toContain("above the search root");
    expect(error).not.toContain(workspace.root);
  });

  test("the index says so, instead of being empty", async () => {
    await using workspace = await createWorkspace(FILES);
    makeFifo(join(workspace.root, "a/.gitignore"));
    const server = await workspace.serve({ args: ["--mode", "classic"] });
    const { error } = failureOf(await server.call("rag_search", { query: "needle" }));
    expect(error).toContain("a/.gitignore");
  });

  test("a link to a regular ignore file is obeyed", async () => {
    await using workspace = await createWorkspace({ ...FILES, "rules.txt": "a/\n" });
    symlinkSync("rules.txt", join(workspace.root, ".ignore"));
    const server = await workspace.serve({ args: ["--mode", "classic"] });
    const text = textOf(await search(server));
    expect(text).toContain("two.txt");
    expect(text).not.toContain("one.txt");
  });
});

describe("FAIL-J6: ripgrep", () => {
  test("is gone when the server is killed, also while it waits for a FIFO", async () => {
    await using workspace = await createWorkspace(FILES);
    makeFifo(join(workspace.root, "a/b/.gitignore"));
    const server = await workspace.start({ args: ["--mode", "classic"] });
    server.askTool("linux_search_content", { root: ".", pattern: "needle" });
    await expect.poll(() => searchers(workspace.root).length, { timeout: 5000, interval: 10 }).toBe(1);
    server.process.kill("SIGKILL");
    await expect.poll(() => searchers(workspace.root), { timeout: 2000 }).toEqual([]);
  });
});
