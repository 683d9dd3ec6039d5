import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { createFolderIndex } from "../../src/host/run/scan/folder-index.ts";
import { createWorkspace } from "../workspace.ts";
import { PYTHON, settings } from "./command-stand.ts";
import { commandTools } from "./command-tools.ts";

/** An old kernel differs in what the filter does, which no rule about names depends on. */
const tiers = settings.filter(({ maxLandlockAbi }) => maxLandlockAbi === undefined || isLong);

const DEEP = `
import os
os.chdir("work")
for at in range(30):
    name = "%02d" % at + "d" * 200
    os.mkdir(name); os.chdir(name)
open(".envrc", "w").write("touch fired")
`;

const MANY_NAMES = `
import os
os.chdir("work")
for at in range(1100):
    os.mkdir("d"); os.chdir("d")
open(".envrc", "w").write("touch fired")
open(".env", "w").write("the secret")
`;

const BYTES = `
import os
os.makedirs(b"sub/bad\\xff/in", exist_ok=True)
open(b"sub/bad\\xff/in/.envrc", "w").write("touch fired")
os.makedirs(b"sub/bad\\xff/\\xfe.git")
os.makedirs(b"sub/bad\\xff/.vscode/" + b"x" * 250)
open(b"sub/bad\\xff/.vscode/tasks.json", "w").write("{}")
`;

/** Every name below a folder, however deep and of whatever bytes. */
const LIST = `
import os, sys
def walk(fd):
    for name in os.listdir(fd):
        print(ascii(os.fsdecode(name)))
        try: inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=fd)
        except OSError: continue
        walk(inner); os.close(inner)
walk(os.open(sys.argv[1], os.O_RDONLY))
`;

import { isLong } from "../rounds.ts";

const namesBelow = (folder: string): string =>
  execFileSync(PYTHON, ["-c", LIST, folder], { encoding: "utf8" });

const tools = (setting: (typeof settings)[number], root: string) =>
  commandTools(setting, root, {
    allowlist: ["python3", "cat", "ls"],
    powers: [],
    denylist: ["**/.env"],
    startup: ["**/.envrc", "**/.vscode/**", "**/.vscode"],
  });

describe.each(tiers)("FAIL-J1 FAIL-J13 folders that are hard to look into in $name", (setting) => {
  test("a start-up file below a path that is too long is set aside with its folder", async () => {
    await using workspace = await createWorkspace({ "deep.py": DEEP, "work/x": "" });
    await using commands = tools(setting, workspace.root);
    try {
      expect(await commands.use("run_cmd", "python3 deep.py")).toContain('"exit_code":0');
      const names = namesBelow(workspace.root);
      expect(names).toContain(".refused-");
      // Once is enough: the folder is known now, and closed to commands.
      await commands.use("run_cmd", "python3 -c pass");
      expect(namesBelow(workspace.root)).toBe(names);
    } finally {
      execFileSync("rm", ["-rf", workspace.root]);
    }
  });

  // Judged by its whole path, each name in it took the server milliseconds, and to cover it took too many arguments.
  test("a folder that lies deeper than tools go is closed as a whole, and commands run as before", async () => {
    await using workspace = await createWorkspace({ "deep.py": MANY_NAMES, "work/x": "" });
    await using commands = tools(setting, workspace.root);
    try {
      expect(await commands.use("run_cmd", "python3 deep.py")).toContain('"exit_code":0');
      expect(
        execFileSync("find", [workspace.root, "-name", "d.refused-*", "-prune"], { encoding: "utf8" }),
      ).toMatch(/^\S+\n$/);
      const before = process.cpuUsage();
      expect(await commands.use("run_cmd", "python3 -c pass")).toContain('"exit_code":0');
      expect(process.cpuUsage(before).user / 1000).toBeLessThan(1000);
    } finally {
      execFileSync("rm", ["-rf", workspace.root]);
    }
  });

  test("start-up files in folders whose names are not UTF-8 are set aside", async () => {
    await using workspace = await createWorkspace({ "bytes.py": BYTES, "sub/bad/x": "" });
    await using commands = tools(setting, workspace.root);
    expect(await commands.use("run_cmd", "python3 bytes.py")).toContain('"exit_code":0');
    const names = namesBelow(workspace.root).split("\n");
    expect(names).not.toContain("'.envrc'");
    expect(names).not.toContain("'.vscode'");
    expect(names).toContain("'bad\\udcff'");
  });
});

describe.each(tiers.filter(({ tier }) => tier !== "plain"))("FAIL-J4 secrets in $name", (setting) => {
  test("a secret in a folder whose name is not UTF-8 is withheld", async () => {
    await using workspace = await createWorkspace({
      "read.py": `print(open(b"sub/bad\\xff/.env").read())`,
      "sub/x": "",
    });
    execFileSync(PYTHON, [
      "-c",
      `import os,sys; os.chdir(sys.argv[1]); os.mkdir(b"sub/bad\\xff"); open(b"sub/bad\\xff/.env","w").write("the secret")`,
      workspace.root,
    ]);
    await using commands = tools(setting, workspace.root);
    expect(await commands.use("run_cmd", "python3 read.py")).not.toContain("the secret");
  });
});

test("FAIL-J1 folders beyond the bound are told, and what is found there on the way is kept", async () => {
  await using workspace = await createWorkspace({ "a/b/c/.envrc": "", "a/b/d/x": "" });
  const index = createFolderIndex<string>({
    roots: [workspace.root],
    classifyFolder: () => undefined,
    classify: (path, entry) => ({ found: entry.name === ".envrc" ? [path] : [], enter: true }),
    closed: (path) => path,
    unknown: (path) => path,
    skips: () => false,
    maxFolders: 2,
  });
  await index.update();
  expect(index.isWhole()).toBe(false);
  expect(index.found()).toEqual([`${workspace.root}/a/b/c/.envrc`]);
  execFileSync("rm", ["-r", `${workspace.root}/a`]);
  await index.update();
  await index.update();
  expect(index.isWhole()).toBe(true);
});
