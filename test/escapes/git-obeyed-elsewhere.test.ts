import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { createFileWrites } from "../../src/host/write/file-writes.ts";
import { createWorkspace, type Workspace } from "../workspace.ts";
import { casesIn, GIT, ofThisKernel, type Setting } from "./command-stand.ts";
import { commandTools } from "./command-tools.ts";
import { writesOptions } from "./write-port.ts";

const git = (cwd: string, ...args: readonly string[]): string =>
  execFileSync(GIT, ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd, encoding: "utf8" });

const put = (root: string, path: string, text: string): void => {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
};

const start = (root: string): void => {
  git(root, "init", "-q", "-b", "main", ".");
  git(root, "add", ".");
  git(root, "commit", "-qm", "one");
};

const MARK = "llmc-was-here";
const PROGRAM = "#!/bin/sh\nexit 0\n";

const hook = (root: string, path: string): void => {
  put(root, path, PROGRAM);
  chmodSync(join(root, path), 0o755);
};

interface Case {
  readonly name: string;
  /** What a command tries to overwrite. */
  readonly target: string;
  readonly plant: (root: string, outside: string) => void;
  /** The root is a work tree of a repository outside. */
  readonly isLinked?: true;
}

const CASES: readonly Case[] = [
  {
    name: "a hook that is a link into the work tree",
    target: "scripts/pc.sh",
    plant: (root) => {
      hook(root, "scripts/pc.sh");
      symlinkSync("../../scripts/pc.sh", join(root, ".git/hooks/pre-commit"));
    },
  },
  {
    name: "a hook that is a link to a link",
    target: "scripts/pc.sh",
    plant: (root) => {
      hook(root, "real/pc.sh");
      mkdirSync(join(root, "scripts"));
      symlinkSync("../real/pc.sh", join(root, "scripts/pc.sh"));
      symlinkSync("../../scripts/pc.sh", join(root, ".git/hooks/pre-commit"));
    },
  },
  {
    name: "a folder of hooks that is a link, with links in it",
    target: "real/pre-commit",
    plant: (root) => {
      hook(root, "real/pre-commit");
      mkdirSync(join(root, "tools"));
      symlinkSync("../real/pre-commit", join(root, "tools/pre-commit"));
      rmSync(join(root, ".git/hooks"), { recursive: true });
      symlinkSync("../tools", join(root, ".git/hooks"));
    },
  },
  {
    name: "a hook that leads to nothing yet",
    target: "scripts/later.sh",
    plant: (root) => {
      mkdirSync(join(root, "scripts"));
      symlinkSync("../../scripts/later.sh", join(root, ".git/hooks/pre-commit"));
    },
  },
  {
    name: "a configuration that is a link",
    target: "shared/gitconfig",
    plant: (root) => {
      mkdirSync(join(root, "shared"));
      renameSync(join(root, ".git/config"), join(root, "shared/gitconfig"));
      symlinkSync("../shared/gitconfig", join(root, ".git/config"));
    },
  },
  {
    name: "a configuration that is included by one that is included",
    target: "conf/inner",
    plant: (root) => {
      put(root, "conf/outer", "[include]\n\tpath = inner\n");
      put(root, "conf/inner", "[user]\n\tname = x\n");
      git(root, "config", "include.path", "../conf/outer");
    },
  },
  {
    name: "hooks that config.worktree names",
    target: "tools/hooks/pre-commit",
    plant: (root) => {
      hook(root, "tools/hooks/pre-commit");
      git(root, "config", "extensions.worktreeConfig", "true");
      git(root, "config", "--worktree", "core.hooksPath", "tools/hooks");
    },
  },
  {
    name: "hooks that an included file names",
    target: "tools/hooks/pre-commit",
    plant: (root) => {
      hook(root, "tools/hooks/pre-commit");
      put(root, ".git/more", "[core]\n\thooksPath = tools/hooks\n");
      git(root, "config", "include.path", "more");
    },
  },
  {
    name: "hooks that a repository outside names for a linked work tree",
    target: "tools/hooks/pre-commit",
    isLinked: true,
    plant: (root, outside) => {
      hook(root, "tools/hooks/pre-commit");
      git(outside, "config", "core.hooksPath", "tools/hooks");
    },
  },
];

const ATTACK = `
import os, sys
path = sys.argv[1]
def attempt(work):
    try: work()
    except OSError: pass
fire = "#!/bin/sh\\ntouch " + os.getcwd() + "/${MARK}\\n" if "config" not in path and "inner" not in path else "[core]\\n\\tfsmonitor = \\"touch " + os.getcwd() + "/${MARK};false\\"\\n"
attempt(lambda: open(path, "a").write(fire))
attempt(lambda: open(path, "w").write(fire))
attempt(lambda: os.unlink(path))
attempt(lambda: os.rename(os.path.dirname(path), "moved"))
attempt(lambda: os.makedirs(os.path.dirname(path), exist_ok=True))
attempt(lambda: open(path, "x").write(fire))
attempt(lambda: os.chmod(path, 0o755))
`;

const withOutside = async (work: (outside: string) => Promise<void>): Promise<void> => {
  const outside = await realpath(await mkdtemp(join(tmpdir(), "llmc-outside-")));
  try {
    await work(outside);
  } finally {
    await rm(outside, { recursive: true, force: true });
  }
};

/** What the user does next, outside of any sandbox. */
const useGit = (root: string): void => {
  for (const args of [
    ["status", "--porcelain"],
    ["commit", "-q", "--allow-empty", "-m", "two"],
  ])
    try {
      git(root, ...args);
    } catch {
      // Whatever git says: only what it started counts.
    }
};

const tools = (setting: Setting, root: string, powers: readonly string[] = []) =>
  commandTools(setting, root, { allowlist: ["git", "python3"], powers, denylist: [] });

describe.each(ofThisKernel.filter(({ tier }) => tier !== "plain"))(
  "FAIL-J3 what git obeys elsewhere stays in $name",
  (setting) => {
    test.each(casesIn(setting, CASES))("$name", async ({ target, plant, isLinked }) => {
      await withOutside(async (outside) => {
        await using workspace = await createWorkspace({ "attack.py": ATTACK });
        if (isLinked === true) {
          put(outside, "file", "");
          start(outside);
          rmSync(workspace.root, { recursive: true });
          git(outside, "worktree", "add", "-q", workspace.root, "-b", "linked");
          put(workspace.root, "attack.py", ATTACK);
        } else start(workspace.root);
        plant(workspace.root, outside);
        await using commands = tools(setting, workspace.root);
        await commands.use("run_cmd", `python3 attack.py ${target}`);
        useGit(workspace.root);
        expect(existsSync(join(workspace.root, MARK))).toBe(false);
      });
    });

    test.each(casesIn(setting, ["tools/hooks", ".git/own-hooks", ".git/hooks"]))(
      "git that may write does not write hooks in %s",
      async (folder) => {
        await using workspace = await createWorkspace({ "file.txt": "one\n" });
        start(workspace.root);
        hook(workspace.root, `${folder}/pre-commit`);
        git(workspace.root, "config", "core.hooksPath", folder);
        await using commands = tools(setting, workspace.root, ["git:write"]);
        for (const name of ["pre-commit", "post-commit"])
          await commands.use("run_cmd", `git log --output=${folder}/${name}`).catch(() => {});
        expect(readFileSync(join(workspace.root, folder, "pre-commit"), "utf8")).toBe(PROGRAM);
        expect(existsSync(join(workspace.root, folder, "post-commit"))).toBe(false);
        appendFileSync(join(workspace.root, "file.txt"), "two\n");
        expect(await commands.use("run_cmd", "git add file.txt")).toContain('"exit_code":0');
        expect(await commands.use("run_cmd", "git commit -m two")).toContain('"exit_code":0');
      },
    );
  },
);

describe("FAIL-J3 file tools do not write what git includes", () => {
  const repository = async (plant: (root: string) => void): Promise<Workspace> => {
    const workspace = await createWorkspace({ "nested/file": "", "evil/gitconfig": "x" });
    start(join(workspace.root, "nested"));
    plant(join(workspace.root, "nested"));
    return workspace;
  };

  test.each([
    [
      "an included file",
      ".gitconfig",
      (root: string) => git(root, "config", "include.path", "../.gitconfig"),
    ],
    [
      "a configuration behind a link",
      "shared/gitconfig",
      (root: string) => CASES.find(({ target }) => target === "shared/gitconfig")?.plant(root, ""),
    ],
  ])("%s", async (_, name, plant) => {
    await using workspace = await repository(plant);
    const path = `nested/${name}`;
    const writes = createFileWrites(writesOptions(workspace.root));
    await writes.makeDirs(dirname(path), { existOk: true });
    const before = existsSync(join(workspace.root, path)) ? readFileSync(join(workspace.root, path)) : "none";
    const refused = { code: "path_denied" };
    await expect(writes.rewrite(path, "x")).rejects.toMatchObject(refused);
    await expect(writes.append(path, "x")).rejects.toMatchObject(refused);
    await expect(writes.move("evil/gitconfig", path)).rejects.toMatchObject(refused);
    if (name.includes("/"))
      await expect(writes.move(dirname(path), "nested/gone")).rejects.toMatchObject(refused);
    const after = existsSync(join(workspace.root, path)) ? readFileSync(join(workspace.root, path)) : "none";
    expect(after).toEqual(before);
  });

  test("scripts that hooks lead to are start-up files, which they may write", async () => {
    await using workspace = await repository((root) => CASES[0]?.plant(root, ""));
    const writes = createFileWrites(writesOptions(workspace.root));
    expect(await writes.rewrite("nested/scripts/pc.sh", "x\n")).toMatchObject({ created: false });
  });
});
