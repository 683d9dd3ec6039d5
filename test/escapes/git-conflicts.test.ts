import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createWorkspace } from "../workspace.ts";
import { GIT, settings } from "./command-stand.ts";
import { commandTools } from "./command-tools.ts";

const git = (cwd: string, ...args: readonly string[]): string =>
  execFileSync(GIT, args, { cwd, encoding: "utf8", stdio: "pipe" });

const project = async () => {
  const workspace = await createWorkspace({ "a.txt": "1\n" });
  const { root } = workspace;
  git(root, "init", "-q", "-b", "main", ".");
  git(root, "config", "user.name", "Ada");
  git(root, "config", "user.email", "ada@example.org");
  git(root, "add", "-A");
  git(root, "commit", "-qm", "one");
  git(root, "checkout", "-qb", "topic");
  writeFileSync(join(root, "a.txt"), "topic\n");
  git(root, "commit", "-qam", "topic");
  git(root, "checkout", "-q", "main");
  writeFileSync(join(root, "a.txt"), "main\n");
  git(root, "commit", "-qam", "main");
  git(root, "checkout", "-q", "topic");
  return workspace;
};

const GIT_WRITES = { allowlist: ["git"], powers: ["git:write"], denylist: [] };

describe.each(settings.filter(({ tier }) => tier !== "landlock"))(
  "$name: conflicts and work trees",
  (setting) => {
    const tools = (root: string) => commandTools(setting, root, GIT_WRITES);

    test.each([
      "git rebase --continue",
      "GIT_EDITOR=true git rebase --continue",
      "GIT_EDITOR=: git rebase --continue",
    ])("REQ-D24: after a conflict, %s takes the message as it is", async (line) => {
      await using workspace = await project();
      const { root } = workspace;
      await using commands = tools(root);
      expect(await commands.use("run_cmd", "git rebase main")).toContain("CONFLICT");
      writeFileSync(join(root, "a.txt"), "both\n");
      await commands.use("run_cmd", "git add a.txt");
      expect(await commands.use("run_cmd", line)).toContain('"exit_code":0');
      expect(git(root, "log", "-1", "--format=%s")).toBe("topic\n");
      expect(spawnSync(GIT, ["commit", "-q"], { cwd: root }).status).not.toBe(0);
    });

    test("REQ-D24: an editor that is a program is refused, and a message that nobody wrote is none", async () => {
      await using workspace = await project();
      const { root } = workspace;
      await using commands = tools(root);
      await expect(commands.use("run_cmd", "GIT_EDITOR='touch ran' git commit --amend")).rejects.toThrow();
      expect(await commands.use("run_cmd", "git commit --allow-empty")).toContain("empty commit message");
      expect(existsSync(join(root, "ran"))).toBe(false);
    });

    test("REQ-D24: a work tree outside the roots is refused before anything changes", async () => {
      await using workspace = await project();
      const { root } = workspace;
      await using commands = tools(root);
      await expect(commands.use("run_cmd", "git worktree add ../outside -b wt")).rejects.toThrow(/outside/);
      expect(git(root, "branch", "--list", "wt")).toBe("");
      expect(existsSync(join(root, ".git/worktrees"))).toBe(false);
    });

    test("REQ-D24: a command of git that runs programs is not called an alias", async () => {
      await using workspace = await project();
      await using commands = tools(workspace.root);
      await expect(commands.use("run_cmd", "git bisect start")).rejects.toThrow(/runs other programs/);
      await expect(commands.use("run_cmd", "git unknown")).rejects.toThrow(/alias/);
    });
  },
);

test.each(settings.filter(({ tier }) => tier === "bubblewrap"))(
  "REQ-D24: a work tree that cannot be removed comes with the way out in $name",
  async (setting) => {
    await using workspace = await project();
    await using commands = commandTools(setting, workspace.root, GIT_WRITES);
    expect(await commands.use("run_cmd", "git worktree add linked -b wt")).toContain('"exit_code":0');
    expect(await commands.use("run_cmd", "git worktree remove linked")).toContain(
      "the user removes a work tree in a terminal",
    );
    git(workspace.root, "worktree", "remove", "--force", "linked");
    expect(await commands.use("run_cmd", "git branch -D wt")).toContain('"exit_code":0');
  },
);
