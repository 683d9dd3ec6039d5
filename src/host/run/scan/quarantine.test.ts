import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { createWorkspace } from "../../../../test/workspace.ts";
import { quarantine } from "./quarantine.ts";

/** Processor time of renaming many files in a folder. */
const renameMany = async (root: string, folder: string): Promise<number> => {
  mkdirSync(folder, { recursive: true });
  const planted = Array.from({ length: 300 }, (_, at) => join(folder, `${at}.code-workspace`));
  for (const path of planted) writeFileSync(path, "");
  const before = process.cpuUsage();
  for (const path of planted) expect(await quarantine(root, path)).toMatchObject({ kind: "renamed", path });
  const { user, system } = process.cpuUsage(before);
  expect(readdirSync(folder).filter((name) => name.endsWith(".code-workspace"))).toEqual([]);
  return user + system;
};

test("FAIL-D6 FAIL-J1 what a command plants in a deep folder is renamed about as fast as elsewhere", async () => {
  await using workspace = await createWorkspace();
  const { root } = workspace;
  const near = await renameMany(root, join(root, "near"));
  // Step by step, it took twenty times as long.
  expect(await renameMany(root, join(root, ..."d".repeat(100)))).toBeLessThan(5 * near);
});

test.each(["the last folder", "one above it"])(
  "FAIL-A3 a link is renamed and not followed: %s",
  async (which) => {
    await using workspace = await createWorkspace({ "a/x": "" });
    await using outside = await createWorkspace({ "b/.envrc": "theirs", ".envrc": "theirs" });
    const { root } = workspace;
    const isLast = which === "the last folder";
    symlinkSync(join(outside.root, "b"), join(root, "a/b"));
    symlinkSync(outside.root, join(root, "link"));
    const path = isLast ? join(root, "a/b/.envrc") : join(root, "link/b/.envrc");
    const link = join(root, isLast ? "a/b" : "link");
    expect(await quarantine(root, path)).toMatchObject({ kind: "renamed", path: link });
    expect(readdirSync(outside.root).toSorted()).toEqual([".envrc", "b"]);
    expect(readdirSync(join(outside.root, "b"))).toEqual([".envrc"]);
    expect(readdirSync(join(link, "..")).filter((name) => name === basename(link))).toEqual([]);
  },
);
