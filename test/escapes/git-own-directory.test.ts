import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { takeOwnState, undoOwnChanges } from "../../src/host/run/git/own-changes.ts";
import { quarantineInRoots, restoreInRoots } from "../../src/host/run/scan/new-findings.ts";
import { createWorkspace, type Workspace } from "../workspace.ts";
import { GIT, settings } from "./command-stand.ts";
import { commandTools } from "./command-tools.ts";

const git = (cwd: string, ...args: readonly string[]): string =>
  execFileSync(GIT, ["-c", "user.name=a", "-c", "user.email=a@b", ...args], {
    cwd,
    encoding: "utf8",
    stdio: "pipe",
  });

const repository = async (): Promise<Workspace> => {
  const workspace = await createWorkspace({ "file.txt": "one\n" });
  git(workspace.root, "init", "-q", "-b", "main", ".");
  git(workspace.root, "add", "file.txt");
  git(workspace.root, "commit", "-qm", "one");
  return workspace;
};

const put = (path: string, text: string): void => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
};

describe("REQ-D24 FAIL-J3 whatever git leaves in its own directory besides data is undone", () => {
  const undo = async (root: string, change: (gitDir: string) => void): Promise<readonly string[]> => {
    const gitDir = join(root, ".git");
    const own = { top: root, gitDir, commonDir: gitDir };
    const before = takeOwnState(own);
    change(gitDir);
    const moved = await undoOwnChanges({
      repository: own,
      before,
      isBeyondReach: () => false,
      quarantine: (path) => quarantineInRoots(path, [root]),
      restore: (kept, how) => restoreInRoots(kept, how, [root]),
    });
    return moved.map(({ path }) => path.slice(root.length + 1)).sort();
  };

  test.each([
    "hooks/post-commit",
    "config.worktree",
    "commondir",
    "info/attributes",
    "info/grafts",
    "objects/info/alternates",
    "remotes/origin",
    "branches/b",
    "modules/x/config",
    "worktrees/evil/commondir",
    "some-new-thing",
  ])("a new %s", async (name) => {
    await using workspace = await repository();
    const moved = await undo(workspace.root, (gitDir) => {
      put(join(gitDir, name), "planted\n");
      if (name.startsWith("modules/")) put(join(gitDir, "modules/x/HEAD"), "ref: refs/heads/main\n");
    });
    expect(moved.length).toBeGreaterThan(0);
    expect(existsSync(join(workspace.root, ".git", name))).toBe(false);
  });

  test("what was there comes back as it was, and the change is kept under another name", async () => {
    await using workspace = await repository();
    const hook = join(workspace.root, ".git/hooks/pre-push");
    put(hook, "#!/bin/sh\n");
    chmodSync(hook, 0o755);
    const config = readFileSync(join(workspace.root, ".git/config"), "utf8");
    const moved = await undo(workspace.root, (gitDir) => {
      appendFileSync(join(gitDir, "config"), "[core]\n\tfsmonitor = evil\n");
      rmSync(join(gitDir, "hooks"), { recursive: true });
    });
    expect(moved).toEqual([".git/config"]);
    expect(readFileSync(join(workspace.root, ".git/config"), "utf8")).toBe(config);
    expect(readFileSync(hook, "utf8")).toBe("#!/bin/sh\n");
    const kept = readdirSync(join(workspace.root, ".git")).find((name) => name.startsWith("config.refused-"));
    expect(readFileSync(join(workspace.root, ".git", kept ?? ""), "utf8")).toContain("fsmonitor");
  });

  test("a plan with a program is renamed, one without stays", async () => {
    await using workspace = await repository();
    const plan = (line: string) => (gitDir: string) =>
      put(join(gitDir, "rebase-merge/git-rebase-todo"), `pick 1234567 x\n${line}\n`);
    expect(await undo(workspace.root, plan("break"))).toEqual([]);
    expect(await undo(workspace.root, plan("exec touch x"))).toEqual([".git/rebase-merge"]);
  });

  test("FAIL-J3 an interrupted merge keeps the user's uncommitted work", async () => {
    await using workspace = await repository();
    const { root } = workspace;
    const run = (...args: readonly string[]) => git(root, ...args);
    run("checkout", "-q", "-b", "side");
    writeFileSync(join(root, "file.txt"), "side\n");
    run("commit", "-qam", "side");
    run("checkout", "-q", "main");
    writeFileSync(join(root, "file.txt"), "main\n");
    writeFileSync(join(root, "other.txt"), "x\n");
    run("add", "-A");
    run("commit", "-qm", "main");
    writeFileSync(join(root, "other.txt"), "my uncommitted work\n");
    const moved = await undo(root, () => {
      expect(() => run("merge", "--autostash", "side")).toThrow();
    });
    expect(moved).toEqual([]);
    run("merge", "--abort");
    expect(readFileSync(join(root, "other.txt"), "utf8")).toBe("my uncommitted work\n");
  });

  test("FAIL-J6 what other tools keep in .git is neither read nor counted, and what vanishes is no failure", async () => {
    await using workspace = await repository();
    const lfs = join(workspace.root, ".git/lfs/objects");
    mkdirSync(lfs, { recursive: true });
    for (let at = 0; at < 300; at++) writeFileSync(join(lfs, `${at}`), "");
    truncateSync(join(lfs, "0"), 2 ** 30);
    const gitDir = join(workspace.root, ".git");
    const state = takeOwnState({ top: workspace.root, gitDir, commonDir: gitDir });
    expect([...state.keys()].filter((path) => path.includes("/lfs/"))).toEqual([]);
    expect(await undo(workspace.root, () => symlinkSync("nowhere", join(gitDir, "dangling")))).toEqual([
      ".git/dangling",
    ]);
  });

  test("what git does every day is data, and a work tree that it added stays", async () => {
    await using workspace = await repository();
    const moved = await undo(workspace.root, () => {
      const run = (...args: readonly string[]) => git(workspace.root, ...args);
      run("worktree", "add", "-q", "tree", "-b", "topic");
      writeFileSync(join(workspace.root, "file.txt"), "two\n");
      run("stash", "-q");
      run("stash", "pop", "-q");
      run("commit", "-qam", "two");
      run("tag", "-am", "v", "v1");
      run("notes", "add", "-m", "note");
      run("bisect", "start");
      run("bisect", "reset");
      run("gc", "-q");
      run("pack-refs", "--all");
      run("branch", "other", "HEAD~1");
    });
    expect(moved).toEqual([]);
    expect(git(join(workspace.root, "tree"), "status", "--short")).toBe("");
  });
});

describe.each(settings)("FAIL-J3 FAIL-J13 git:write in $name", (setting) => {
  test("REQ-D24 paths that stand in a patch or a stream lead nowhere", async () => {
    await using workspace = await repository();
    await using commands = commandTools(setting, workspace.root, {
      allowlist: ["git"],
      powers: ["git:write"],
      denylist: [],
    });
    const hook = ".git/hooks/post-commit";
    await workspace.write(
      "p.patch",
      `diff --git a/${hook} b/${hook}\nnew file mode 100755\n--- /dev/null\n+++ b/${hook}\n@@ -0,0 +1 @@\n+#!/bin/sh\n`,
    );
    for (const line of [
      "git apply --unsafe-paths p.patch",
      "git apply --unsafe p.patch",
      "git apply p.patch",
      "git fast-import --allow-unsafe-features",
      "git fast-import",
    ]) {
      await commands.use("run_cmd", line).catch(() => {});
      expect(existsSync(join(workspace.root, hook)), line).toBe(false);
    }
    await expect(commands.use("run_cmd", "git apply --unsafe-paths p.patch")).rejects.toMatchObject({
      code: "forbidden",
    });
  });
});

const PLANT = `
import hashlib, os, struct
def put(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as out: out.write(text)
PLAIN = "[core]\\n\\trepositoryformatversion = 0\\n\\tfilemode = true\\n\\tbare = false\\n"
fire = '[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = .\\n\\tfsmonitor = "touch ' + os.getcwd() + '/fired; false"\\n'
def bare(folder):
    put(folder + "/HEAD", "ref: refs/heads/main\\n")
    put(folder + "/config", fire)
    for name in ("objects", "refs"): os.makedirs(folder + "/" + name)
# A bare repository behind a .git that git does not accept: without a HEAD, and with one that says nothing.
put("behind/.git/config", PLAIN)
bare("behind")
put("garbage/.git/config", PLAIN)
put("garbage/.git/HEAD", "nothing")
for name in ("objects", "refs"): os.makedirs("garbage/.git/" + name)
bare("garbage")
# A repository that is plain but for a plan.
put("plan/.git/HEAD", "ref: refs/heads/main\\n")
put("plan/.git/config", PLAIN)
for name in ("objects", "refs"): os.makedirs("plan/.git/" + name)
put("plan/.git/rebase-merge/git-rebase-todo", "exec touch fired\\n")
# A repository that says it keeps the start-up files which come with it.
files = {".envrc": "touch fired\\n", ".vscode/tasks.json": "{}\\n"}
entries = b""
for name in sorted(files):
    put("pkg/" + name, files[name])
    data = files[name].encode()
    blob = hashlib.sha1(b"blob %d\\0" % len(data) + data).digest()
    entry = struct.pack(">10I", 0, 0, 0, 0, 0, 0, 0o100644, 0, 0, len(data)) + blob + struct.pack(">H", len(name)) + name.encode()
    entries += entry + b"\\0" * (8 - len(entry) % 8)
index = b"DIRC" + struct.pack(">II", 2, len(files)) + entries
put("pkg/.git/HEAD", "ref: refs/heads/main\\n")
put("pkg/.git/config", PLAIN)
for name in ("objects", "refs"): os.makedirs("pkg/.git/" + name)
with open("pkg/.git/index", "wb") as out: out.write(index + hashlib.sha1(index).digest())
`;

describe.each(settings)("FAIL-J3 FAIL-J5 what a program plants in $name is not obeyed", (setting) => {
  test("REQ-D24 REQ-D16 bare repositories behind another, plans, and an index that vouches for start-up files", async () => {
    await using workspace = await createWorkspace({ "work/plant.py": PLANT });
    const work = join(workspace.root, "work");
    await using commands = commandTools(setting, workspace.root, {
      allowlist: ["python3"],
      powers: ["python3:run"],
      denylist: [],
      startup: [".envrc", ".vscode/"],
    });
    const seen = await commands.use("run_cmd", "python3 plant.py", "work");
    expect(seen).toContain('"exit_code":0');
    for (const folder of ["behind", "garbage", "plan"]) {
      expect(seen, folder).toContain(`work/${folder}/`);
      try {
        git(join(work, folder), "status");
      } catch {
        // No repository is found: that is as it should be.
      }
    }
    expect(existsSync(join(work, "fired"))).toBe(false);
    expect(existsSync(join(work, "behind/HEAD"))).toBe(false);
    expect(existsSync(join(work, "garbage/HEAD"))).toBe(false);
    expect(existsSync(join(work, "plan/.git"))).toBe(false);
    expect(existsSync(join(work, "pkg/.envrc"))).toBe(false);
    expect(existsSync(join(work, "pkg/.vscode"))).toBe(false);
  });
});
