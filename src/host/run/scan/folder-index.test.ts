import { mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createWorkspace } from "../../../../test/workspace.ts";
import { createFolderIndex } from "./folder-index.ts";

/** Finds every folder. */
const indexOf = (root: string) =>
  createFolderIndex<string>({
    roots: [root],
    classifyFolder: (path) => path.slice(root.length),
    classify: () => ({ found: [], enter: true }),
    closed: (path) => path,
    unknown: (path) => path,
    skips: () => false,
  });

const cpuMs = async (work: () => Promise<void>): Promise<number> => {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
};

test("FAIL-J6 folders that are gone are forgotten in about the time that it took to read them", async () => {
  await using workspace = await createWorkspace();
  const folders = Array.from({ length: 8000 }, (_, at) => join(workspace.root, `d${at}`));
  for (const folder of folders) mkdirSync(folder);
  const index = indexOf(workspace.root);
  const readingMs = await cpuMs(() => index.update());
  for (const folder of folders) rmSync(folder, { recursive: true });
  const forgettingMs = await cpuMs(() => index.update());
  expect(index.found()).toEqual([""]);
  // Looking through all folders for each of them took a hundred times as long.
  expect(forgettingMs).toBeLessThan(10 * readingMs);
});

test("REQ-X10 a folder that was replaced is read again with all that is in it", async () => {
  await using workspace = await createWorkspace();
  const inside = (path: string): string => join(workspace.root, path);
  mkdirSync(inside("a/b/c"), { recursive: true });
  mkdirSync(inside("new/b/d"), { recursive: true });
  const index = indexOf(workspace.root);
  await index.update();
  renameSync(inside("a"), inside("old"));
  renameSync(inside("new"), inside("a"));
  await index.update();
  expect([...index.found()].sort()).toEqual(["", "/a", "/a/b", "/a/b/d", "/old", "/old/b", "/old/b/c"]);
});
