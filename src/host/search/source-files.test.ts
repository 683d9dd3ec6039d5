import { execFileSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createReach, type ReachOptions } from "../reach/reach.ts";
import { createSourceFiles, type SourceFilesOptions } from "./source-files.ts";

describe("the files of an index", () => {
  let workspace = "";
  const put = (path: string, text: string | Uint8Array): void => {
    mkdirSync(dirname(join(workspace, path)), { recursive: true });
    writeFileSync(join(workspace, path), text);
  };
  const open = (more: Partial<SourceFilesOptions & ReachOptions> = {}) =>
    createSourceFiles({
      reach: createReach({ workspace, roots: () => ["."], denylist: () => ["*.pem", ".env"], ...more }),
      maxFiles: more.maxFiles ?? 100,
    });
  const pathsOf = async (
    more?: Partial<SourceFilesOptions & ReachOptions>,
    under?: { path: string; deep: boolean },
  ) => (await open(more).list(undefined, under)).files.map(({ path }) => path);

  beforeEach(() => {
    workspace = realpathSync(mkdtempSync(join(tmpdir(), "llmc-source-")));
  });
  afterEach(() => rmSync(workspace, { recursive: true }));

  test("lists what ignore files and the denylist leave, in order, without links and our own state", async () => {
    for (const path of ["b.ts", "a/c.ts", "key.PEM", ".env", "old/x.ts", ".llmc/state.txt", ".hidden/y.ts"])
      put(path, "x");
    put(".gitignore", "old\n");
    symlinkSync(join(workspace, "b.ts"), join(workspace, "link.ts"));
    symlinkSync("/etc", join(workspace, "etc"));
    expect(await pathsOf()).toEqual(["a/c.ts", "b.ts"]);
    expect(await pathsOf({}, { path: "a", deep: false })).toEqual(["a/c.ts"]);
    expect(await pathsOf({}, { path: ".", deep: false })).toEqual(["b.ts"]);
  });

  test("roots that overlap or are gone count once or not at all; no root is nothing", async () => {
    put("a/c.ts", "x");
    expect(await pathsOf({ roots: () => [".", "a", "gone"] })).toEqual(["a/c.ts"]);
    expect(await pathsOf({ roots: () => [] })).toEqual([]);
  });

  test("more files than the bound are cut, and it says so", async () => {
    for (let i = 0; i < 5; i++) put(`f${i}.ts`, "x");
    const { files, isCut } = await open({ maxFiles: 3 }).list();
    expect([files.length, isCut]).toEqual([3, true]);
  });

  test("FAIL-A10: reads text, and nothing of what is withheld, linked, outside or no file", async () => {
    put("a.ts", "const a = 1;\n");
    put("key.pem", "secret");
    symlinkSync(join(workspace, "key.pem"), join(workspace, "b.ts"));
    symlinkSync(join(workspace, "a.ts"), join(workspace, "c.ts"));
    symlinkSync("/etc/hostname", join(workspace, "d.ts"));
    execFileSync("mkfifo", [join(workspace, "fifo.ts")]);
    const { read } = open();
    expect(await read("a.ts", 100)).toMatchObject({
      kind: "text",
      text: "const a = 1;\n",
      size: 13,
      isRacy: true,
    });
    for (const path of [
      "key.pem",
      "b.ts",
      "c.ts",
      "d.ts",
      "fifo.ts",
      ".",
      "gone.ts",
      "../x",
      "/etc/hostname",
    ])
      expect([path, (await read(path, 100)).kind]).toEqual([path, "none"]);
  });

  test("tells binary and large files, and one that is still what it was", async () => {
    put("a.bin", new Uint8Array([1, 0, 2]));
    put("large.ts", "");
    truncateSync(join(workspace, "large.ts"), 10 * 1024 * 1024);
    put("a.ts", "x");
    const { read, list } = open();
    expect((await read("a.bin", 100)).kind).toBe("binary");
    expect((await read("large.ts", 100)).kind).toBe("large");
    const listed = (await list()).files.find(({ path }) => path === "a.ts");
    expect((await read("a.ts", 100, undefined, listed?.stamp)).kind).toBe("unchanged");
    put("a.ts", "y");
    expect(await read("a.ts", 100, undefined, listed?.stamp)).toMatchObject({ kind: "text", text: "y" });
  });

  test("FAIL-D5: stops when told to", async () => {
    put("a.ts", "x");
    const signal = AbortSignal.abort();
    await expect(open().list(signal)).rejects.toMatchObject({ code: "cancelled" });
    await expect(open().read("a.ts", 100, signal)).rejects.toMatchObject({ code: "cancelled" });
  });
});
