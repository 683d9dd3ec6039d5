import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { takeOwnState, undoOwnChanges } from "../../src/host/run/git/own-changes.ts";
import { plansProgram } from "../../src/host/run/git/plans.ts";
import { quarantineInRoots, restoreInRoots } from "../../src/host/run/scan/new-findings.ts";
import { someIfRepeated } from "../rounds.ts";
import { casesIn, GIT, ofThisKernel } from "./command-stand.ts";
import { commandTools } from "./command-tools.ts";
import { templateOf } from "./template.ts";

const git = (cwd: string, ...args: readonly string[]): string =>
  execFileSync(GIT, ["-c", "user.name=A'da !", "-c", "user.email=a@b", ...args], {
    cwd,
    encoding: "utf8",
    stdio: "pipe",
  });

/** Git that stops half-way, as its user would have it. */
const stops = (cwd: string, ...args: readonly string[]): void => {
  const { status } = spawnSync(GIT, ["-c", "user.name=A'da !", "-c", "user.email=a@b", ...args], {
    cwd,
    env: { ...process.env, GIT_SEQUENCE_EDITOR: "sed -i -e 's/^pick/edit/'", GIT_EDITOR: "true" },
  });
  expect([0, 1, 128]).toContain(status);
};

const put = (path: string, text: string): void => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
};

/** Branches of several commits that contradict each other. */
const repository = templateOf((root) => {
  writeFileSync(join(root, "file.txt"), "one\n");
  const commit = (text: string): void => {
    writeFileSync(join(root, "file.txt"), `${text}\n`);
    git(root, "commit", "-qam", `${text}: exec touch x`);
  };
  git(root, "init", "-q", "-b", "main", ".");
  git(root, "add", "file.txt");
  git(root, "commit", "-qm", "one");
  git(root, "checkout", "-q", "-b", "side");
  for (const text of ["a", "b", "c"]) commit(text);
  git(root, "checkout", "-q", "main");
  for (const text of ["x", "y"]) commit(text);
});

const PLANS = ["rebase-merge", "rebase-apply", "sequencer"];

describe("REQ-D24 FAIL-J3 what git goes on with", () => {
  test.each(
    someIfRepeated<readonly [string, readonly string[]]>([
      ["rebase-merge", ["rebase", "--autostash", "side"]],
      ["rebase-merge", ["rebase", "-i", "--rebase-merges", "--update-refs", "--signoff", "HEAD~1"]],
      ["rebase-merge", ["rebase", "-s", "ort", "-X", "patience", "side"]],
      ["rebase-apply", ["rebase", "--apply", "--whitespace=fix", "-C1", "side"]],
      [
        "sequencer",
        ["cherry-pick", "-x", "--signoff", "--strategy=ort", "-Xpatience", "side~2", "side~1", "side"],
      ],
      ["sequencer", ["revert", "--no-edit", "HEAD~1", "HEAD"]],
      ["rebase-apply", ["am", "-3", "--directory=sub", "0001.patch"]],
    ]),
  )("of git's own making, in %s by git %j, stays", async (folder, args) => {
    await using workspace = await repository();
    const { root } = workspace;
    writeFileSync(join(root, "0001.patch"), git(root, "format-patch", "-1", "--stdout", "side"));
    stops(root, ...args);
    expect(readdirSync(join(root, ".git"))).toContain(folder);
    for (const name of PLANS) expect(plansProgram(join(root, ".git", name)), name).toBe(false);
  });

  test.each(
    someIfRepeated([
      ["rebase-merge/git-rebase-todo", "pick 1234567 x\n\texec touch x\n"],
      ["rebase-merge/git-rebase-todo", "x\ttouch x\n"],
      ["rebase-merge/git-rebase-todo", "something-new touch x\n"],
      ["rebase-merge/strategy", "x/evil\n"],
      ["rebase-merge/gpg_sign_opt", "--program=x\n"],
      ["rebase-merge/author-script", "GIT_AUTHOR_NAME='a'; touch x\n"],
      ["rebase-merge/author-script", "GIT_AUTHOR_NAME='a'\ntouch x\nGIT_AUTHOR_EMAIL='b'\n"],
      ["rebase-merge/some-new-file", "x\n"],
      ["rebase-merge/sub/git-rebase-todo", "pick 1234567 x\n"],
      ["rebase-apply/apply-opt", " '--unsafe-paths' '-p1'\n"],
      ["rebase-apply/strategy", "evil\n"],
      ["sequencer/opts", "[options]\n\tstrategy = x/evil\n"],
      ["sequencer/opts", "[options]\n\tsomething-new = x\n"],
      ["sequencer/opts", "[include]\n\tpath = x\n"],
      ["sequencer/todo", "exec touch x\n"],
    ] as const),
  )("in %s: %j is renamed, wherever it was left", async (name, text) => {
    await using workspace = await repository();
    const { root } = workspace;
    git(root, "worktree", "add", "-q", "--detach", "tree");
    mkdirSync(join(root, ".git/modules"));
    git(root, "init", "-q", "--bare", ".git/modules/lib");
    const own = { top: root, gitDir: join(root, ".git"), commonDir: join(root, ".git") };
    const before = takeOwnState(own);
    const folders = [".git", ".git/worktrees/tree", ".git/modules/lib"];
    for (const gitFolder of folders) put(join(root, gitFolder, name), text);
    await undoOwnChanges({
      repository: own,
      before,
      isBeyondReach: () => false,
      quarantine: (path) => quarantineInRoots(path, [root]),
      restore: (kept, how) => restoreInRoots(kept, how, [root]),
    });
    for (const gitFolder of folders) expect(existsSync(join(root, gitFolder, name)), gitFolder).toBe(false);
    expect(git(join(root, "tree"), "status", "--porcelain")).toBe("");
  });

  test.each(
    someIfRepeated(["worktrees/tree/hooks/post-commit", "refs/bare", "objects/bare", "logs/deep/bare"]),
  )("a new %s is renamed", async (name) => {
    await using workspace = await repository();
    const { root } = workspace;
    git(root, "worktree", "add", "-q", "--detach", "tree");
    const own = { top: root, gitDir: join(root, ".git"), commonDir: join(root, ".git") };
    const before = takeOwnState(own);
    const path = join(root, ".git", name);
    if (name.endsWith("bare")) {
      mkdirSync(dirname(path), { recursive: true });
      git(root, "init", "-q", "--bare", path);
    } else put(path, "#!/bin/sh\n");
    await undoOwnChanges({
      repository: own,
      before,
      isBeyondReach: () => false,
      quarantine: (one) => quarantineInRoots(one, [root]),
      restore: (kept, how) => restoreInRoots(kept, how, [root]),
    });
    expect(existsSync(path)).toBe(false);
  });
});

const solveRebase = async (root: string, commands: ReturnType<typeof commandTools>): Promise<void> => {
  const seen = await commands.use("run_cmd", "git rebase -s ort side");
  expect(seen).toContain("CONFLICT");
  expect(seen).not.toContain("refused-");
  writeFileSync(join(root, "file.txt"), "solved\n");
  expect(await commands.use("run_cmd", "git add file.txt")).toContain('"exit_code":0');
  expect(await commands.use("run_cmd", "git rebase --skip")).not.toContain("refused-");
  git(root, "rebase", "--abort");
};

describe.each(ofThisKernel)("REQ-D24 FAIL-J3 plans in $name", (setting) => {
  const tools = (root: string) =>
    commandTools(setting, root, { allowlist: ["git"], powers: ["git:write"], denylist: [] });

  test.each(
    casesIn(setting, [
      ["sequencer/opts", "[options]\n\tstrategy = x/evil\n", "git cherry-pick --continue"],
      ["rebase-merge/strategy", "x/evil\n", "git rebase --continue"],
      ["rebase-apply/apply-opt", " '--unsafe-paths'\n", "git am --continue"],
    ] as const),
  )(
    "%s that came with the repository is not gone on with, and git still shows it",
    async (name, text, line) => {
      await using workspace = await repository();
      put(join(workspace.root, ".git", name), text);
      await using commands = tools(workspace.root);
      await expect(commands.use("run_cmd", line)).rejects.toThrow("may have a program to run");
      expect(await commands.use("run_cmd", "git log -1")).toContain('"exit_code":0');
    },
  );

  test("a rebase that stops is the user's to continue", async () => {
    await using workspace = await repository();
    const { root } = workspace;
    await using commands = tools(root);
    if (setting.tier === "landlock") {
      // Nothing is begun that could not be gone on with.
      await expect(commands.use("run_cmd", "git rebase -s ort side")).rejects.toThrow(
        "starts other programs that would write as well",
      );
      expect(git(root, "status", "-s")).toBe("");
    } else await solveRebase(root, commands);
  });
});
