import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { createWorkspace } from "../workspace.ts";
import { casesIn, GIT, ofThisKernel, type Setting } from "./command-stand.ts";
import { commandTools } from "./command-tools.ts";
import { templateOf } from "./template.ts";

const git = (cwd: string, ...args: readonly string[]): string =>
  execFileSync(GIT, ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd, encoding: "utf8" });

const repository = templateOf((root) => {
  writeFileSync(join(root, "file.txt"), "one\n");
  git(root, "init", "-q", "-b", "main", ".");
  git(root, "add", "file.txt");
  git(root, "commit", "-qm", "one");
});

const MARK = "llmc-was-here";
const fire = (root: string): string => `touch ${join(root, MARK)}`;

const tools = (setting: Setting, root: string, powers: readonly string[] = ["git:write"]) =>
  commandTools(setting, root, {
    allowlist: ["git", "python3", "cat"],
    powers,
    denylist: ["**/.env", "**/.ssh/**"],
  });

describe.each(ofThisKernel.filter(({ tier }) => tier !== "plain"))(
  "FAIL-J3 FAIL-J5 what a hostile program leaves behind in $name",
  (setting) => {
    const PLANT = `
import os
def put(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as out: out.write(text)
def repository(folder, config):
    put(folder + "/HEAD", "ref: refs/heads/main\\n")
    put(folder + "/config", "[core]\\n\\trepositoryformatversion = 0\\n" + config)
    for name in ("objects", "refs"): os.makedirs(folder + "/" + name)
fire = "\\tfsmonitor = " + os.environ["PWD"] + "/fire.sh\\n"
repository("work/a/.git", fire)
repository("work/bare", fire)
put("work/b/.git", "gitdir: ../a/.git\\n")
os.makedirs("work/c"); os.symlink("../a/.git", "work/c/.git")
repository("work/plain/.git", "")
`;

    test.each(casesIn(setting, ["run_cmd", "linux_proc_start"] as const))(
      "%s: new repositories are set aside, but plain ones stay beside a process that runs on",
      async (tool) => {
        await using workspace = await repository();
        mkdirSync(join(workspace.root, "work"));
        writeFileSync(
          join(workspace.root, "plant.py"),
          PLANT.replace('os.environ["PWD"]', JSON.stringify(workspace.root)),
        );
        writeFileSync(join(workspace.root, "fire.sh"), `#!/bin/sh\n${fire(workspace.root)}\n`);
        chmodSync(join(workspace.root, "fire.sh"), 0o755);
        await using commands = tools(setting, workspace.root, []);
        await commands.use(tool, "python3 plant.py");
        for (const folder of ["work/a", "work/bare", "work/b", "work/c", "work/plain"])
          try {
            git(join(workspace.root, folder), "status");
          } catch {
            // Not a repository any more.
          }
        expect(existsSync(join(workspace.root, MARK))).toBe(false);
        expect(existsSync(join(workspace.root, "work/plain/.git/HEAD"))).toBe(tool === "linux_proc_start");
      },
    );

    test("FAIL-J5 a folder whose name withholds what is in it cannot be renamed, and stays withheld", async () => {
      await using workspace = await createWorkspace({
        "sub/.ssh/id_x": "the secret\n",
        "sub/deep/.env": "the secret\n",
        "move.py": `
import os
for old, new in (("sub/.ssh", "sub/ssh2"), ("sub/.ssh/id_x", "x"), ("sub/deep/.env", "y"), ("sub/deep", "sub/d2"), ("sub", "s2")):
    try: os.rename(old, new)
    except OSError: pass
    try: os.link(old, new + ".link")
    except OSError: pass
for folder, _, names in os.walk("."):
    for name in names:
        try: print(open(os.path.join(folder, name)).read())
        except OSError: pass
`,
      });
      await using commands = tools(setting, workspace.root, []);
      const seen = await commands.use("run_cmd", "python3 move.py");
      expect(seen).not.toContain("the secret");
      const everything = execFileSync("find", [".", "-type", "f"], { cwd: workspace.root, encoding: "utf8" });
      for (const path of everything.trim().split("\n")) {
        const read = await commands.files
          .readText(path, { offsetLines: 0, maxLines: 100, maxBytes: 1000 })
          .then(
            ({ text }) => text,
            () => "",
          );
        expect(read, path).not.toContain("the secret\n");
      }
    });
  },
);

describe.each(ofThisKernel)("FAIL-J4 secrets and git in $name", (setting) => {
  test.each(casesIn(setting, ["missing", "forged", "modified", "garbage", "a FIFO"]))(
    "an index that is %s makes no secret readable",
    async (what) => {
      await using workspace = await repository();
      const index = join(workspace.root, ".git/index");
      writeFileSync(join(workspace.root, ".env"), "old secret\n");
      if (what === "modified" || what === "forged") git(workspace.root, "add", "-f", ".env");
      writeFileSync(join(workspace.root, ".env"), "the secret\n");
      if (what === "missing") await rm(index);
      if (what === "garbage") writeFileSync(index, "DIRC\0\0\0\x02\0\0\0\x01rubbish");
      if (what === "a FIFO") {
        await rm(index);
        execFileSync("mkfifo", [index]);
      }
      await using commands = commandTools(setting, workspace.root, {
        allowlist: ["git", "grep", "rg", "cat"],
        powers: [],
        denylist: ["**/.env"],
        timeoutSeconds: 2,
      });
      const lines = [
        "git grep --no-index secret",
        "git grep --untracked secret",
        "git diff",
        "git status",
        "grep -r secret .",
        "rg --hidden --no-ignore secret",
        "cat .env",
      ];
      // Git waits for a pipe until it is stopped: two of its commands are enough.
      for (const line of what === "a FIFO" ? lines.filter((_, at) => at === 0 || at > 2) : lines) {
        const seen = await commands.use("run_cmd", line).catch(() => "");
        expect(seen, line).not.toContain("the secret");
      }
    },
  );
});

describe.each(ofThisKernel)("FAIL-J6 pipes under names that git opens in $name", (setting) => {
  test.each(casesIn(setting, [".gitattributes", "sub/.gitattributes", ".mailmap", ".git/index"]))(
    "%s is named instead of waited for",
    async (name) => {
      await using workspace = await repository();
      const path = join(workspace.root, name);
      mkdirSync(dirname(path), { recursive: true });
      await rm(path, { force: true });
      execFileSync("mkfifo", [path]);
      await using commands = commandTools(setting, workspace.root, {
        allowlist: ["git"],
        powers: [],
        denylist: [],
        timeoutSeconds: 5,
      });
      const line = name.startsWith("sub/") ? "git -C sub status" : "git log -1";
      await expect(commands.use("run_cmd", line)).rejects.toThrow(`it would wait at ${name}, a named pipe`);
    },
  );
});
