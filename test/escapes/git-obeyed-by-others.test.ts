import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createWorkspace } from "../workspace.ts";
import { GIT, ofThisKernel } from "./command-stand.ts";
import { commandTools } from "./command-tools.ts";

const git = (cwd: string, ...args: readonly string[]): string =>
  execFileSync(GIT, ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd, encoding: "utf8" });

const HOOK = "#!/bin/sh\nexit 0\n";

/** A repository in the roots, and a git directory in it whose files are checked out elsewhere. */
const CONFIGURATIONS: readonly (readonly [string, (root: string, outside: string) => string])[] = [
  [
    "a work tree",
    (root, outside) => {
      git(root, "config", "extensions.worktreeConfig", "true");
      git(root, "worktree", "add", "-q", join(outside, "wt"));
      return join(root, ".git/worktrees/wt/config.worktree");
    },
  ],
  [
    "a submodule",
    (root) => {
      mkdirSync(join(root, ".git/modules/some"), { recursive: true });
      git(root, "init", "-q", "--bare", ".git/modules/some/lib");
      return join(root, ".git/modules/some/lib/config");
    },
  ],
  [
    "a submodule of a work tree",
    (root, outside) => {
      git(root, "worktree", "add", "-q", join(outside, "wt"));
      mkdirSync(join(root, ".git/worktrees/wt/modules"));
      git(root, "init", "-q", "--bare", ".git/worktrees/wt/modules/lib");
      return join(root, ".git/worktrees/wt/modules/lib/config");
    },
  ],
];

describe.each(ofThisKernel)(
  "FAIL-J3 REQ-D24 what is obeyed elsewhere than in the roots in $name",
  (setting) => {
    test.each(CONFIGURATIONS)("by the settings of %s", async (_what, configurationIn) => {
      await using outside = await createWorkspace({});
      await using workspace = await createWorkspace({
        "shared/pre-commit": HOOK,
        "inc/included.cfg": "[user]\n",
        "evil.sh": "#!/bin/sh\necho evil\n",
      });
      const { root } = workspace;
      chmodSync(join(root, "shared/pre-commit"), 0o755);
      git(root, "init", "-q");
      git(root, "add", ".");
      git(root, "commit", "-qm", "one");
      const config = configurationIn(root, outside.root);
      writeFileSync(
        config,
        `[core]\n\thooksPath = ${root}/shared\n[include]\n\tpath = ${root}/inc/included.cfg\n`,
      );
      await using commands = commandTools(setting, root, { allowlist: ["cp"], powers: [], denylist: [] });
      if (setting.tier !== "plain")
        for (const target of ["shared/pre-commit", "shared/commit-msg", "inc/included.cfg"])
          await commands.use("run_cmd", `cp evil.sh ${target}`).catch(() => "");
      await expect(
        commands.writes.rewrite("inc/included.cfg", "[core]\n\tfsmonitor = evil\n"),
      ).rejects.toThrow();
      expect(readFileSync(join(root, "shared/pre-commit"), "utf8")).toBe(HOOK);
      expect(existsSync(join(root, "shared/commit-msg"))).toBe(false);
      expect(readFileSync(join(root, "inc/included.cfg"), "utf8")).toBe("[user]\n");
    });
  },
);
