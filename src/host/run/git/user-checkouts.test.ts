import { execFileSync } from "node:child_process";
import { linkSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createWorkspace } from "../../../../test/workspace.ts";
import { createTrackedFinder } from "./tracked.ts";
import { noteIndexes } from "./user-checkouts.ts";

const createRepository = async () => {
  const workspace = await createWorkspace({ "a.txt": "a\n" });
  const { root } = workspace;
  const git = (...args: readonly string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd: root });
  git("init", "-q", "-b", "main");
  git("add", ".");
  git("commit", "-qm", "one");
  git("checkout", "-qb", "other");
  writeFileSync(join(root, ".envrc"), "mine\n");
  git("add", ".");
  git("commit", "-qm", "two");
  git("checkout", "-q", "main");
  const note = () => noteIndexes([join(root, ".git")], [root], createTrackedFinder());
  return { workspace, root, git, note };
};

test("FAIL-J1 REQ-D24 what the user's checkout brings is the user's", async () => {
  const { workspace, root, git, note } = await createRepository();
  await using _ = workspace;
  const file = join(root, ".envrc");
  const wasCheckedOut = note();
  writeFileSync(file, "mine\n");
  expect(wasCheckedOut([file], []), "no git ran").toBe(false);
  rmSync(file);
  git("checkout", "-q", "other");
  expect(wasCheckedOut([file], [])).toBe(true);
  expect(wasCheckedOut([file], [join(root, ".git")]), "its mount was lost").toBe(false);
  linkSync(file, join(root, "second"));
  expect(wasCheckedOut([file], []), "it can be written by its second name").toBe(false);
  rmSync(join(root, "second"));
  writeFileSync(file, "other\n");
  expect(wasCheckedOut([file], []), "the content is another").toBe(false);
});
