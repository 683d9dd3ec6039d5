import { closeSync, openSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createWorkspace } from "../../../../test/workspace.ts";
import { lockFile } from "../../own-files/file-lock.ts";
import { findingOf } from "../scan/workspace-scan.ts";
import { createManagedWriters } from "./managed-writers.ts";

test("REQ-D24 FAIL-J3 a repository is known if it was there before every process that lives and could write it", async () => {
  await using workspace = await createWorkspace({
    "a/old/.git/HEAD": "",
    "a/new/.git/HEAD": "",
    "b/new/.git/HEAD": "",
  });
  const at = (path: string): string => join(workspace.root, path);
  const [old, made, elsewhere] = ["a/old", "a/new", "b/new"].map((path) =>
    findingOf("git", at(`${path}/.git`)),
  );
  if (old === undefined || made === undefined || elsewhere === undefined) throw new Error("no findings");
  const userState = at("state");
  const [one, other] = [createManagedWriters(userState), createManagedWriters(userState)];
  const known = (): readonly boolean[] => [old, made, elsewhere].map(other.readKnown());
  expect(known()).toEqual([true, true, true]);
  const forget = one.add([at("a")], [old]);
  expect(known()).toEqual([true, false, true]);
  const forgetSecond = one.add([at("a"), at("b")], [old, made]);
  expect(known()).toEqual([true, false, false]);
  forget();
  expect(known()).toEqual([true, true, false]);
  forgetSecond();
  expect(known()).toEqual([true, true, true]);
  expect(readdirSync(join(userState, "managed"))).toEqual([]);
});

test("REQ-D24 the record of a process whose server was killed counts for nothing", async () => {
  await using workspace = await createWorkspace({ "a/.git/HEAD": "" });
  const userState = join(workspace.root, "state");
  const repository = findingOf("git", join(workspace.root, "a/.git"));
  const managed = createManagedWriters(userState);
  managed.add([workspace.root], [])();
  const left = join(userState, "managed/0123.json");
  writeFileSync(left, JSON.stringify({ roots: [workspace.root], repositories: [] }));
  expect(managed.readKnown()(repository)).toBe(true);
  expect(readdirSync(join(userState, "managed"))).toEqual([]);
});

test("REQ-D24 FAIL-J3 on a file system without locks the record of a living process stays and counts", async () => {
  await using workspace = await createWorkspace({ "a/.git/HEAD": "" });
  const userState = join(workspace.root, "state");
  const repository = findingOf("git", join(workspace.root, "a/.git"));
  // Stands for such a file system: the kernel refuses to lock a descriptor that only names a file.
  const O_PATH = 0o10000000;
  const refuseLock: typeof lockFile = (_descriptor, mode) => {
    const named = openSync(workspace.root, O_PATH);
    try {
      return lockFile(named, mode);
    } finally {
      closeSync(named);
    }
  };
  const managed = createManagedWriters(userState, refuseLock);
  const forget = managed.add([workspace.root], []);
  for (let time = 0; time < 2; time++) expect(managed.readKnown()(repository)).toBe(false);
  forget();
  expect(managed.readKnown()(repository)).toBe(true);
});
