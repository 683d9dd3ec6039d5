import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createWorkspace, type Workspace } from "../workspace.ts";
import { GIT, ofThisKernel, type Setting } from "./command-stand.ts";
import { commandTools } from "./command-tools.ts";
import { holdLeases } from "./file-lease.ts";

const git = (cwd: string, ...args: readonly string[]): string =>
  execFileSync(GIT, ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd, encoding: "utf8" });

const FILES = {
  "main/a.txt": "a",
  "main/hk/pre-commit": "#!/bin/sh\nexit 0\n",
  "inc.cfg": "[user]\n",
  "sub/x": "",
  "evil.sh": "#!/bin/sh\necho evil\n",
};

const EVIL = "[core]\n\tfsmonitor = touch evil\n";

/** A repository with hooks in its work tree and an included file beside it, and a work tree that was added to it. */
const createRepository = async (): Promise<Workspace> => {
  const workspace = await createWorkspace(FILES);
  const main = join(workspace.root, "main");
  chmodSync(join(main, "hk/pre-commit"), 0o755);
  git(main, "init", "-q");
  git(main, "add", ".");
  git(main, "commit", "-qm", "one");
  git(main, "config", "core.hooksPath", "hk");
  git(main, "config", "include.path", "../../inc.cfg");
  git(main, "worktree", "add", "-q", "../wt");
  return workspace;
};

const tools = (setting: Setting, root: string) =>
  commandTools(setting, root, { allowlist: ["cp", "git"], powers: [], denylist: [] });

/** What an attempt ended in: its answer, or why it was refused. */
const outcomeOf = (attempt: Promise<unknown>): Promise<string> =>
  attempt.then(
    (answer) => JSON.stringify(answer),
    (thrown: unknown) => String(thrown),
  );

describe.each(ofThisKernel)("FAIL-J3 REQ-D24 what git obeys and nobody can read in $name", (setting) => {
  test.each([
    ["configuration", "main/.git/config", "main"],
    ["pointer of a work tree", "wt/.git", "wt"],
    ["included file", "inc.cfg", "main"],
  ])("the %s under a lease: nothing is written where it may lead", async (_what, leased, top) => {
    await using workspace = await createRepository();
    const { root } = workspace;
    await using commands = tools(setting, root);
    const answers: string[] = [];
    {
      await using _lease = await holdLeases(join(root, leased));
      answers.push(
        await outcomeOf(commands.use("run_cmd", `cp evil.sh ${top}/hk/pre-commit`)),
        await outcomeOf(commands.use("run_cmd", `cp evil.sh ${top}/hk/commit-msg`)),
        await outcomeOf(commands.writes.rewrite("inc.cfg", EVIL)),
      );
    }
    expect(readFileSync(join(root, top, "hk/pre-commit"), "utf8"), answers[0]).not.toContain("evil");
    expect(existsSync(join(root, top, "hk/commit-msg")), answers[1]).toBe(false);
    expect(readFileSync(join(root, "inc.cfg"), "utf8"), answers[2]).toBe("[user]\n");
    for (const answer of answers) expect(answer).toMatch(/cannot be followed, because it cannot be read/);
  });

  test("a HEAD under a lease: git does not go on to the repository above", async () => {
    await using workspace = await createRepository();
    const { root } = workspace;
    git(root, "init", "-q");
    await using commands = tools(setting, root);
    await using _lease = await holdLeases(join(root, "main/.git/HEAD"));
    const answer = await outcomeOf(commands.use("run_cmd", "git rev-parse --show-toplevel", "main"));
    expect(answer).toMatch(/cannot be followed, because it cannot be read/);
  });

  test("what can be read again is written again", async () => {
    await using workspace = await createRepository();
    const { root } = workspace;
    await using commands = tools(setting, root);
    {
      await using _lease = await holdLeases(join(root, "main/.git/config"));
      expect(await outcomeOf(commands.use("run_cmd", "cp evil.sh sub/b.sh"))).toMatch(/cannot be followed/);
    }
    expect(await commands.use("run_cmd", "cp evil.sh sub/b.sh")).toContain('"exit_code":0');
  });

  test.each([
    ["that was seen open", true],
    ["that was closed from the beginning", false],
  ])("a repository in a folder %s: nothing is written where it may lead", async (_what, isSeen) => {
    await using workspace = await createWorkspace({
      "top/sub/a.txt": "a",
      "hk/pre-commit": "old",
      "cfg/inc.cfg": "[user]\n",
      "evil.sh": "evil",
      "out/x": "",
    });
    const { root } = workspace;
    const sub = join(root, "top/sub");
    git(sub, "init", "-q");
    git(sub, "config", "core.hooksPath", "../../hk");
    git(sub, "config", "include.path", "../../../cfg/inc.cfg");
    await using commands = tools(setting, root);
    // What root closes is open to it all the same; then what is obeyed is held as always.
    if (isSeen) expect(await commands.use("run_cmd", "cp evil.sh out/a")).toContain('"exit_code":0');
    chmodSync(join(root, "top"), 0);
    const answers = [await outcomeOf(commands.writes.rewrite("cfg/inc.cfg", EVIL))];
    if (setting.tier !== "plain")
      for (const target of ["cfg/inc.cfg", "hk/pre-commit", "hk/commit-msg"])
        answers.push(await outcomeOf(commands.use("run_cmd", `cp evil.sh ${target}`)));
    chmodSync(join(root, "top"), 0o755);
    expect(existsSync(join(sub, ".git/HEAD"))).toBe(true);
    expect(readFileSync(join(root, "hk/pre-commit"), "utf8"), answers.join("\n")).toBe("old");
    expect(existsSync(join(root, "hk/commit-msg")), answers.join("\n")).toBe(false);
    expect(readFileSync(join(root, "cfg/inc.cfg"), "utf8"), answers.join("\n")).toBe("[user]\n");
    expect(await commands.use("run_cmd", "cp evil.sh out/b")).toContain('"exit_code":0');
  });
});
