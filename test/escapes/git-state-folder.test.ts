import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { mayHoldGit } from "../../src/host/run/git/settings.ts";
import { tempWorkspace } from "../app.ts";

test("FAIL-J6 FAIL-J2 the search for a repository in a state folder follows no links and ends", () => {
  const root = tempWorkspace({ "other/.git/HEAD": "", "state/x/y": "" });
  const state = join(root, "state");
  symlinkSync("../other", join(state, "link"));
  expect(mayHoldGit(state)).toBe(false);
  // Followed, these two are 2 to the power of 40 folders.
  for (const name of ["a", "b"]) symlinkSync(".", join(state, name));
  expect(mayHoldGit(state)).toBe(false);
  writeFileSync(join(state, "x/.git"), "gitdir: elsewhere\n");
  expect(mayHoldGit(state)).toBe(true);
  expect(mayHoldGit(join(root, "missing"))).toBe(true);
});

test("FAIL-J6 a state folder with too much in it may hold one", () => {
  const root = tempWorkspace();
  for (let i = 0; i < 20_001; i++) mkdirSync(join(root, `${i}`));
  expect(mayHoldGit(root)).toBe(true);
});
