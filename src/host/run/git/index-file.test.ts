import { execFileSync } from "node:child_process";
import { linkSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { GIT } from "../../../../test/escapes/command-stand.ts";
import { createWorkspace } from "../../../../test/workspace.ts";
import { trackedFiles } from "./index-file.ts";
import { createTrackedFinder } from "./tracked.ts";

const BLOB = "11".repeat(20);

/** An index of the fourth version: of each name, what it adds to the whole one before. */
const packedIndex = (added: readonly string[]): Buffer => {
  const header = Buffer.from("DIRC\0\0\0\x04\0\0\0\0", "latin1");
  header.writeUInt32BE(added.length, 8);
  const stat = Buffer.concat([Buffer.alloc(40), Buffer.from(BLOB, "hex"), Buffer.from([0x0f, 0xff, 0])]);
  const entries = added.flatMap((name) => [stat, Buffer.from(`${name}\0`)]);
  return Buffer.concat([header, ...entries, Buffer.alloc(20)]);
};

const isAny = (): boolean => true;

describe("FAIL-J4 FAIL-J6: what an index of git unpacks to is bounded", () => {
  test("names are read as they are packed, and only those that are wanted are kept", () => {
    const index = packedIndex(["a", "/b", "c"]);
    expect(trackedFiles(index, isAny)?.map(({ name }) => name)).toEqual(["a", "a/b", "a/bc"]);
    expect(trackedFiles(index, (name) => name === "a/b")).toEqual([{ name: "a/b", blob: BLOB }]);
  });

  test.each([2, 3, 4])("version %i as git writes it", async (version) => {
    const names = ["a/b/c.txt", "a/b/d.txt", "a/e", "f", `g/${"long-".repeat(40)}`];
    await using workspace = await createWorkspace(Object.fromEntries(names.map((name) => [name, "x"])));
    const git = (...args: string[]) => execFileSync(GIT, args, { cwd: workspace.root });
    git("init", "-q", ".");
    git("add", ".");
    git("update-index", "--index-version", String(version));
    const index = readFileSync(join(workspace.root, ".git/index"));
    expect(trackedFiles(index, isAny)?.map(({ name }) => name)).toEqual(names);
  });

  test("a name that is longer than any path makes it unreadable", () => {
    const path = "a".repeat(4096);
    expect(trackedFiles(packedIndex([path]), isAny)).toHaveLength(1);
    expect(trackedFiles(packedIndex([path, "b"]), isAny)).toBeUndefined();
    expect(trackedFiles(packedIndex([`${path}b`]), isAny)).toBeUndefined();
  });

  test("so do names that unpack to many times the index, and then no file counts as kept", async () => {
    const index = packedIndex(["a".repeat(4000), ...Array<string>(20).fill(""), "/.env"]);
    expect(trackedFiles(index, () => false)).toBeUndefined();
    await using workspace = await createWorkspace({ ".env": "x" });
    execFileSync(GIT, ["init", "-q", "."], { cwd: workspace.root });
    writeFileSync(join(workspace.root, ".git/index"), index);
    const found = createTrackedFinder()([join(workspace.root, ".env")], [workspace.root]);
    expect(found).toEqual({ unmodified: new Set(), changed: new Set() });
  });

  test("what is read for one command is bounded as well, whatever the number of names of one file", async () => {
    await using workspace = await createWorkspace({ "0.env": "x".repeat(4 * 1024 * 1024) });
    const names = Array.from({ length: 150 }, (_name, at) => `${at}.env`);
    const paths = names.map((name) => join(workspace.root, name));
    for (const path of paths.slice(1)) linkSync(join(workspace.root, "0.env"), path);
    const git = (...args: string[]) => execFileSync(GIT, args, { cwd: workspace.root });
    git("init", "-q", ".");
    git("add", "0.env");
    const blob = git("rev-parse", ":0.env").toString().trim();
    const lines = names.map((name) => `100644 ${blob}\t${name}\n`).join("");
    execFileSync(GIT, ["update-index", "--index-info"], { cwd: workspace.root, input: lines });
    const { unmodified, changed } = createTrackedFinder()(paths, [workspace.root]);
    expect(unmodified.size).toBeGreaterThan(100);
    expect(changed.size).toBeGreaterThan(10);
    expect(unmodified.size + changed.size).toBe(150);
  });
});
