import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { createWorkspace } from "../workspace.ts";
import { ofThisKernel } from "./command-stand.ts";
import { commandTools } from "./command-tools.ts";
import { openWrites } from "./write-port.ts";

/*
 * Disks that ignore case (those of Windows, also as /mnt/c of WSL, and others) take these names for `.git`, `HEAD` and
 * `.llmc`. The names are refused everywhere, so that it does not matter on which disk the roots are.
 */
const PLANTED = [
  "pointer/.GIT",
  "short/GIT~1",
  "cloned/.Git/config",
  "bare/Head",
  "mixed/head",
  "state/.LLMC/x",
];

const PLANT = `
import os
os.chdir("work")
def write(path, text=""):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file: file.write(text)
for path in ${JSON.stringify(PLANTED)}: write(path, "ref: refs/heads/main")
os.makedirs("cloned/.Git/Objects")
os.makedirs("bare/Objects")
os.makedirs("mixed/refs")
os.makedirs("mixed/HEAD")
write("plain/header", "")
write("plain/git", "")
`;

describe("FAIL-J1 FAIL-J3 names that a disk may take for those of git and llmc", () => {
  test.each(ofThisKernel)("are renamed after a command in $name", async (setting) => {
    await using workspace = await createWorkspace({ "plant.py": PLANT, "work/a.txt": "" });
    const options = { allowlist: ["python3"], powers: [], denylist: [] };
    await using commands = commandTools(setting, workspace.root, options);
    await commands.use("run_cmd", "python3 plant.py");
    expect(PLANTED.filter((path) => existsSync(join(workspace.root, "work", path)))).toEqual([]);
    expect(readdirSync(join(workspace.root, "work/plain")).toSorted()).toEqual(["git", "header"]);
  });

  test("are written by no file tool", async () => {
    await using workspace = await createWorkspace({ "src/a.txt": "" });
    const writes = openWrites(workspace.root);
    for (const path of [...PLANTED, "LLMC.TOML", "Llmc.toml"]) {
      const attempt = writes.makeDirs(dirname(path), { existOk: true }).then(() => writes.rewrite(path, ""));
      await expect(attempt, path).rejects.toMatchObject({ code: "path_denied" });
    }
  });
});
