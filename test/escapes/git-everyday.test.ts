import { execFileSync } from "node:child_process";
import { appendFileSync, existsSync, writeFileSync } from "node:fs";
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

/** What tools and people write into a repository's configuration. */
const SETTINGS = `[core]
\thooksPath = .husky/_
\tfsmonitor = true
\tuntrackedCache = true
\tautocrlf = input
\tsshCommand = ssh -i ~/.ssh/work
[remote "origin"]
\turl = git@example.org:a/b.git
\tfetch = +refs/heads/*:refs/remotes/origin/*
\tgh-resolved = base
\tlfsurl = https://example.org/lfs
[branch "main"]
\tremote = origin
\tmerge = refs/heads/main
\tvscode-merge-base = origin/main
\tgithub-pr-owner-number = "a#b#1"
\tgk-last-accessed = 2026-01-01
[filter "lfs"]
\tclean = git-lfs clean -- %f
\tsmudge = git-lfs smudge -- %f
\tprocess = git-lfs filter-process
\trequired = true
[lfs "https://example.org/lfs"]
\taccess = basic
[alias]
\tst = status -sb
[commit]
\tgpgsign = true
[gpg]
\tformat = ssh
[user]
\tsigningkey = ssh-ed25519 AAAA
[gitflow "branch"]
\tmaster = main
[pull]
\trebase = true
[merge "ours"]
\tdriver = true
[credential "https://example.org"]
\thelper = !gh auth git-credential
[http "https://example.org/"]
\textraheader = AUTHORIZATION: basic x
[maintenance]
\tauto = false
\tstrategy = incremental
[rerere]
\tenabled = true
[diff]
\talgorithm = histogram
[color "diff"]
\tmeta = yellow
`;

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
  appendFileSync(join(repo, ".git/config"), SETTINGS);
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
      const rebase = await commands.use("run_cmd", "git -C repo rebase -i HEAD~1");
      expect(rebase).toContain("GIT_SEQUENCE_EDITOR=true git rebase -i");
      writeFileSync(join(repo, "c.txt"), "fixed\n");
      await run("commit -qa --fixup=HEAD");
      // The way out that it names.
      const squash = "GIT_SEQUENCE_EDITOR=true git -C repo rebase -i --autosquash HEAD~2";
      expect(await commands.use("run_cmd", squash)).toContain('"exit_code":0');
      expect(git(repo, "log", "--format=%s", "-3")).not.toContain("fixup!");
      await run("worktree add linked -b tree");
      await run("tag v1");
      await run("gc --quiet");
      expect(git(join(repo, "linked"), "status", "--porcelain")).toBe("");
      expect(git(repo, "fsck", "--no-progress", "--no-dangling")).toBe("");
      expect(existsSync(join(repo, ".git/hooks/pre-commit"))).toBe(false);
    });
  },
);

test("REQ-D24: where the workspace is a part of a repository, the answer says where that lies", async () => {
  await using workspace = await createWorkspace({ "package/a": "" });
  git(workspace.root, "init", "-q");
  const [setting] = settings;
  if (setting === undefined) throw new Error("no tier");
  await using commands = commandTools(setting, join(workspace.root, "package"), {
    allowlist: ["git"],
    powers: [],
    denylist: [],
  });
  expect(await commands.use("run_cmd", "git status")).toContain(
    `lies in ${workspace.root} (start llmc with --root`,
  );
});
