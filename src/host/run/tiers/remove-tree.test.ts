import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempWorkspace } from "../../../../test/app.ts";
import { removeTree } from "./remove-tree.ts";

test("FAIL-G2 REQ-E3: whatever a hostile program leaves can be removed, and nothing beside it", async () => {
  const root = tempWorkspace({ "outside/file.txt": "stays", "left/a/b.txt": "", "left/a/c/d.txt": "" });
  const left = join(root, "left");
  symlinkSync(join(root, "outside"), join(left, "link"));
  symlinkSync(join(root, "outside/file.txt"), join(left, "a/link.txt"));
  writeFileSync(Buffer.concat([Buffer.from(`${left}/a/`), Buffer.from([0xff, 0x0a])]), "");
  mkdirSync(join(left, "closed/inner"), { recursive: true });
  writeFileSync(join(left, "closed/inner/file"), "");
  // Deeper than a path can be long, and without rights for its owner.
  const deep = `
import os
os.chdir(${JSON.stringify(left)})
for _ in range(60):
  os.mkdir("x" * 200)
  os.chdir("x" * 200)
open("file", "w").close()
os.chmod(${JSON.stringify(join(left, "closed/inner"))}, 0)
os.chmod(${JSON.stringify(join(left, "closed"))}, 0)`;
  execFileSync("python3", ["-c", deep]);
  await removeTree(left);
  expect(existsSync(left)).toBe(false);
  expect(readFileSync(join(root, "outside/file.txt"), "utf8")).toBe("stays");
  await removeTree(left);
  symlinkSync(join(root, "outside"), left);
  await expect(removeTree(left)).rejects.toThrow();
  expect(readFileSync(join(root, "outside/file.txt"), "utf8")).toBe("stays");
});
