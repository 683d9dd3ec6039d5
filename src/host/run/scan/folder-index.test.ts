import { mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { createWorkspace } from "../../../../test/workspace.ts";
import { createFolderIndex } from "./folder-index.ts";

/** Finds every folder. */
const indexOf = (
  root: string,
  onRead: (path: string) => void = () => {},
  onEntry: (path: string) => void = () => {},
) =>
  createFolderIndex<string>({
    roots: [root],
    classifyFolder: (path) => {
      onRead(path.slice(root.length));
      return path.slice(root.length);
    },
    classify: (path) => {
      onEntry(path.slice(root.length));
      return { found: [], enter: true };
    },
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

/** More than the kernel's clock of files, less than the steps of coarse file systems. */
const SHORT_MS = 300;
const LONG_MS = 2300;

test("FAIL-J1 a folder is read again while a later change may bear the same time, on any file system", async () => {
  await using workspace = await createWorkspace();
  mkdirSync(join(workspace.root, "old"));
  await sleep(LONG_MS);
  const read: string[] = [];
  const index = indexOf(workspace.root, (path) => read.push(path));
  const readNow = async (): Promise<readonly string[]> => {
    read.length = 0;
    await index.update();
    return [...read].sort();
  };
  expect(await readNow()).toEqual(["", "/old"]);
  expect(await readNow()).toEqual([]);
  mkdirSync(join(workspace.root, "old/new"));
  await sleep(SHORT_MS);
  expect(await readNow()).toEqual(["/old", "/old/new"]);
  expect(await readNow()).toEqual(["/old", "/old/new"]);
  await sleep(LONG_MS);
  expect(await readNow()).toEqual(["/old", "/old/new"]);
  expect(await readNow()).toEqual([]);
});

test("FAIL-D6 many who ask at once share one reading, and a folder that keeps changing holds nobody up", async () => {
  await using workspace = await createWorkspace();
  const reads: string[] = [];
  const index = indexOf(workspace.root, (path) => reads.push(path));
  await index.update();
  reads.length = 0;
  await Promise.all(Array.from({ length: 50 }, () => index.update()));
  // The folder was made just now: each reading counts as one that may be outdated.
  expect(reads.length).toBeLessThanOrEqual(2);
  let isOver = false;
  const others = Array.from({ length: 3 }, async () => {
    while (!isOver) await index.update();
  });
  await index.update();
  isOver = true;
  await Promise.all(others);
});

test("REQ-D16 FAIL-J1 what appears in a new folder while it is read for the first time is found by whoever asks then", async () => {
  await using workspace = await createWorkspace();
  const inside = (path: string): string => join(workspace.root, path);
  let asked: Promise<void> | undefined;
  const plant = (path: string): void => {
    if (path !== "/new/0" || asked !== undefined) return;
    mkdirSync(inside("new/.git"));
    asked = index.update();
  };
  const index = indexOf(workspace.root, () => {}, plant);
  await index.update();
  mkdirSync(inside("new"));
  mkdirSync(inside("new/0"));
  await index.update();
  await asked;
  expect(index.found()).toContain("/new/.git");
});
