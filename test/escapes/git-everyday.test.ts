import { execFileSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createWorkspace, type Workspace } from "../workspace.ts";
import { GIT, settings } from "./command-stand.ts";
import { commandTools } from "./command-tools.ts";

const git = (cwd: string, ...args: readonly string[]): string =>
  execFileSync(
    GIT,
    ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always", ...args],
    { cwd, encoding: "utf8", stdio: "pipe" },
  );

/** A repository with branches that diverge, a submodule and a linked work tree, as people have them. */
const project = async (): Promise<Workspace> => {
  const workspace = await createWorkspace({
    "lib-origin/l.txt": "l\n",
    "repo/a.txt": "1\n",
    "repo/b.txt": "1\n",
  });
  const [lib, repo] = ["lib-origin", "repo"].map((name) => join(workspace.root, name)) as [string, string];
  for (const folder of [lib, repo]) {
    git(folder, "init", "-q", "-b", "main", ".");
    git(folder, "config", "user.name", "Ada");
    git(folder, "config", "user.email", "ada@example.org");
    git(folder, "add", "-A");
    git(folder, "commit", "-qm", "one");
  }
  git(repo, "submodule", "--quiet", "add", "../lib-origin", "lib");
  git(repo, "commit", "-qm", "submodule");
  git(repo, "checkout", "-q", "-b", "topic");
  writeFileSync(join(repo, "b.txt"), "topic\n");
  git(repo, "commit", "-qam", "topic");
  git(repo, "checkout", "-q", "main");
  writeFileSync(join(repo, "a.txt"), "main\n");
  git(repo, "commit", "-qam", "main");
  return workspace;
};

describe.each(settings.filter(({ tier }) => tier !== "landlock"))(
  "REQ-D24 everyday git with git:write in $name",
  (setting) => {
    test("adds, commits, merges, stashes, rebases, picks, and makes work trees", async () => {
      await using workspace = await project();
      const repo = join(workspace.root, "repo");
      await using commands = commandTools(setting, workspace.root, {
        allowlist: ["git"],
        powers: ["git:write"],
        denylist: ["**/.env"],
        startup: [".vscode/"],
      });
      const run = async (line: string): Promise<void> => {
        const seen = await commands.use("run_cmd", `git -C repo ${line}`);
        expect(seen, line).toContain('"exit_code":0');
        expect(seen, line).not.toContain("set_aside");
      };
      await run("status");
      writeFileSync(join(repo, "new.txt"), "new\n");
      await run("add -A");
      await run("commit -m 'new file'");
      await run("merge --no-edit topic");
      writeFileSync(join(repo, "a.txt"), "stashed\n");
      await run("stash");
      await run("stash pop");
      await run("checkout -- a.txt");
      await run("checkout -b other HEAD~1");
      writeFileSync(join(repo, "c.txt"), "c\n");
      await run("add .");
      await run("commit -m other");
      await run("rebase main");
      await run("cherry-pick --allow-empty --keep-redundant-commits main~1 -m 1".replace(" -m 1", ""));
      await run("worktree add linked -b tree");
      await run("tag v1");
      await run("gc --quiet");
      expect(git(join(repo, "linked"), "status", "--porcelain")).toBe("");
      expect(git(repo, "fsck", "--no-progress", "--no-dangling")).toBe("");
      expect(existsSync(join(repo, ".git/hooks/pre-commit"))).toBe(false);
    });
  },
);
