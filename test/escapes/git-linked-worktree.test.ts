import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { tempWorkspace } from "../app.ts";
import { runLlmc } from "../command-line.ts";
import { cleanEnv } from "../workspace.ts";
import { GIT, ofThisKernel } from "./command-stand.ts";
import { commandTools } from "./command-tools.ts";

const git = (cwd: string, ...args: readonly string[]): string =>
  execFileSync(GIT, ["-c", "user.name=a", "-c", "user.email=a@b", ...args], {
    cwd,
    encoding: "utf8",
    stdio: "pipe",
  });

/** A repository, and a work tree of it beside it, as parallel agents have them. */
const linked = () => {
  const folder = tempWorkspace({ "main/a": "1\n", "main/.env": "SECRET=in the main work tree\n" });
  const main = join(folder, "main");
  git(main, "init", "-q", "-b", "main");
  git(main, "config", "user.name", "Ada");
  git(main, "config", "user.email", "ada@example.org");
  git(main, "add", "a");
  git(main, "commit", "-qm", "one");
  writeFileSync(join(main, ".git/hooks/post-commit"), `#!/bin/sh\ntouch ${folder}/fired\n`, { mode: 0o755 });
  git(main, "worktree", "add", "-q", "../wt");
  return { folder, main, gitDir: join(main, ".git"), workspace: join(folder, "wt") };
};

const OBEYED = ["config", "hooks/post-commit", "worktrees/wt/commondir", "worktrees/wt/gitdir"];

describe.each(ofThisKernel)("REQ-D24 FAIL-J4 a linked work tree in $name", (setting) => {
  const tools = (workspace: string, gitDirectories: readonly string[]) =>
    commandTools(setting, workspace, {
      allowlist: ["git", "cat", "python3"],
      powers: ["git:write"],
      denylist: ["**/.env"],
      gitDirectories,
    });

  test("is refused with the way to open it, and nothing but its own git directory opens it", async () => {
    const { workspace, main, gitDir } = linked();
    for (const opened of [[], [join(main, "elsewhere")], [join(gitDir, "worktrees/wt")]]) {
      await using commands = tools(workspace, opened);
      await expect(commands.use("run_cmd", "git status"), opened.join()).rejects.toMatchObject({
        message: expect.stringMatching(/outside the allowed roots/),
        hint: expect.stringContaining("llmc allow --repository"),
      });
    }
  });

  test("REQ-I5: nobody is asked for a power that the refused repository could not use", async () => {
    const { workspace } = linked();
    await using commands = commandTools(setting, workspace, { allowlist: ["git"], powers: [], denylist: [] });
    await expect(commands.use("run_cmd", "git add -A && git commit -m one")).rejects.toMatchObject({
      message: expect.stringMatching(/outside the allowed roots/),
      needs: undefined,
    });
  });

  test("git works in it once it is opened; what git obeys stays as it is, and nobody else reads it", async () => {
    const { workspace, main, gitDir, folder } = linked();
    const before = OBEYED.map((name) => readFileSync(join(gitDir, name), "utf8"));
    await using commands = tools(workspace, [gitDir]);
    expect(await commands.use("run_cmd", "git log --oneline")).toContain("one");
    writeFileSync(join(workspace, "b"), "2\n");
    expect(await commands.use("run_cmd", "git add b")).toContain('"exit_code":0');
    expect(await commands.use("run_cmd", "git commit -qm two")).toContain('"exit_code":0');
    expect(git(main, "log", "--oneline", "wt")).toContain("two");
    expect(await commands.use("run_cmd", "git checkout -qb other")).toContain('"exit_code":0');
    expect(git(main, "branch", "--list", "other")).toContain("other");
    expect(OBEYED.map((name) => readFileSync(join(gitDir, name), "utf8"))).toEqual(before);
    expect(existsSync(join(folder, "fired"))).toBe(false);

    for (const path of [join(gitDir, "config"), join(main, "a"), join(main, ".env")])
      await expect(commands.files.readLines(path, [{ firstLine: 1, lastLine: 1 }])).rejects.toMatchObject({
        code: "path_denied",
      });
    await expect(commands.writes.rewrite(join(gitDir, "hooks/x"), "x")).rejects.toMatchObject({
      code: "path_denied",
    });
    const hooks = readdirSync(join(gitDir, "hooks"));
    const seen = await commands.use("run_cmd", `cat ${gitDir}/config`).catch(String);
    expect(seen).not.toContain("ada@example.org");
    // Nothing holds an interpreter on the plain tier: SECURITY.md says so.
    if (setting.tier !== "plain") {
      await commands.use("run_cmd", `python3 -c 'open("${gitDir}/hooks/y", "w")'`).catch(String);
      expect(readdirSync(join(gitDir, "hooks"))).toEqual(hooks);
      const other = await commands.use("run_cmd", "git show :/.env").catch(String);
      expect(other).not.toContain("SECRET");
    }
  });
});

/** A work tree of the user's, which no root holds: only its own HEAD and index know this work. */
const withMine = () => {
  const stand = linked();
  const mine = join(stand.folder, "mine");
  git(stand.main, "worktree", "add", "-q", "--detach", mine);
  writeFileSync(join(mine, "only-here"), "work\n");
  git(mine, "add", ".");
  git(mine, "commit", "-qm", "detached");
  writeFileSync(join(mine, "staged"), "staged\n");
  git(mine, "add", "staged");
  const state = (): string => git(mine, "status", "-sb") + git(mine, "log", "--oneline", "-g", "HEAD");
  return { ...stand, mine, state };
};

const LONG_AGO = new Date("2020-01-01");

describe.each(ofThisKernel)("REQ-D24 FAIL-J3 work trees outside the roots in $name", (setting) => {
  test.each(["wt", "main"] as const)("stay, whatever git is asked to do in %s", async (name) => {
    const { folder, gitDir, mine, state } = withMine();
    const own = join(gitDir, "worktrees/mine");
    for (const path of [...readdirSync(own).map((entry) => join(own, entry)), own])
      utimesSync(path, LONG_AGO, LONG_AGO);
    const before = state();
    await using commands = commandTools(setting, join(folder, name), {
      allowlist: ["git"],
      powers: ["git:write"],
      denylist: [],
      gitDirectories: name === "wt" ? [gitDir] : [],
    });
    for (const args of [
      "worktree prune -v --expire=now",
      "gc --prune=now",
      "-c gc.worktreePruneExpire=now gc --prune=now",
      "worktree remove --force mine",
      "worktree remove --force --force mine",
      `worktree remove --force ${mine}`,
      "worktree lock mine",
      "update-ref worktrees/mine/HEAD HEAD",
      "symbolic-ref worktrees/mine/HEAD refs/heads/main",
      "reflog delete worktrees/mine/HEAD@{0}",
      "reflog expire --expire=now --all",
      "worktree prune",
    ])
      await commands.use("run_cmd", `git ${args}`).catch(String);
    expect(state()).toBe(before);
    expect(existsSync(join(own, "locked"))).toBe(false);
    expect(existsSync(join(mine, "staged"))).toBe(true);
  });
});

test("REQ-D24 without a sandbox, git removes a work tree that it made in the roots", async () => {
  const [plain] = ofThisKernel.filter(({ tier }) => tier === "plain");
  if (plain === undefined) throw new Error("the plain tier is always there");
  const { main } = linked();
  git(main, "worktree", "remove", "--force", "../wt");
  const options = { allowlist: ["git"], powers: ["git:write"], denylist: [] };
  await using commands = commandTools(plain, main, options);
  expect(await commands.use("run_cmd", "git worktree add inner")).toContain('"exit_code":0');
  expect(await commands.use("run_cmd", "git worktree remove inner")).toContain('"exit_code":0');
  expect(existsSync(join(main, "inner"))).toBe(false);
});

describe("REQ-D22 REQ-D24 FAIL-J2 a .git that names a repository which does not know the workspace", () => {
  test.each([
    ["another repository", () => undefined, (main: string) => `${main}/.git`],
    [
      "a folder, through a git directory of its own",
      (root: string, main: string) => {
        mkdirSync(join(root, "gd"));
        writeFileSync(join(root, "gd/commondir"), `${main}\n`);
        writeFileSync(join(root, "gd/HEAD"), "ref: refs/heads/main\n");
      },
      () => "gd",
    ],
    ["another work tree's folder", () => undefined, (main: string) => `${main}/.git/worktrees/wt`],
  ])("%s is not offered", async (_what, plant, pointer) => {
    const { main, folder } = linked();
    const root = tempWorkspace();
    plant(root, main);
    writeFileSync(join(root, ".git"), `gitdir: ${pointer(main)}\n`);
    const env = {
      ...cleanEnv(),
      HOME: folder,
      XDG_CONFIG_HOME: join(folder, "c"),
      XDG_STATE_HOME: join(folder, "s"),
    };
    const doctor = await runLlmc(root, ["doctor"], { env });
    expect(doctor.out).toContain("no repository that knows this workspace");
    expect(doctor.out).not.toContain("llmc allow --repository");
    const allowed = await runLlmc(root, ["allow", "--repository", "--yes"], { env });
    expect(allowed.code).not.toBe(0);
    expect(allowed.err).toContain("no repository that knows this workspace");
    expect(existsSync(join(folder, "c/llmc/config.toml"))).toBe(false);
  });

  test("a submodule's repository knows it", async () => {
    const { main, folder } = linked();
    mkdirSync(join(main, ".git/modules"));
    git(main, "init", "-q", "--separate-git-dir", join(main, ".git/modules/sub"), join(folder, "sub"));
    git(join(folder, "sub"), "config", "core.worktree", "../../../../sub");
    const env = {
      ...cleanEnv(),
      HOME: folder,
      XDG_CONFIG_HOME: join(folder, "c"),
      XDG_STATE_HOME: join(folder, "s"),
    };
    const doctor = await runLlmc(join(folder, "sub"), ["doctor"], { env });
    expect(doctor.out).toContain("llmc allow --repository");
  });
});

test("REQ-D24 REQ-D22 llmc allow --repository opens exactly it, and doctor says so before", async () => {
  const { workspace, gitDir, folder } = linked();
  mkdirSync(join(folder, "home"));
  const env = {
    ...cleanEnv(),
    HOME: join(folder, "home"),
    XDG_CONFIG_HOME: join(folder, "home/.config"),
    XDG_STATE_HOME: join(folder, "home/.local/state"),
  };
  const llmc = (...args: string[]) => runLlmc(workspace, args, { env });
  const doctor = await llmc("doctor");
  expect(doctor.out).toContain(`the git directory of this work tree is ${gitDir}, outside the roots`);
  expect(doctor.out).toContain("llmc allow --repository");
  const connected = await llmc("connect", "claude-code", "--yes");
  expect(connected.out).toMatch(
    /^note: the git directory of this work tree is .*: llmc allow --repository\.$/m,
  );
  const call = () => llmc("call", "run_cmd", "--json", '{"command":"git log --oneline"}');
  expect((await call()).out + (await call()).err).toContain("llmc allow --repository");
  const asked = await llmc("allow", "--repository");
  expect(asked.code).not.toBe(0);
  expect(asked.out).toContain(`git_directories = ["${gitDir}"]`);
  expect((await llmc("allow")).err).toContain("Nothing was named to allow");
  expect(await llmc("allow", "--repository", "--yes")).toMatchObject({ code: 0 });
  expect((await call()).out).toContain("one");
  expect((await llmc("doctor")).out).not.toContain("the git directory of this work tree");
  const denied = await llmc("call", "read_file", "--json", JSON.stringify({ path: join(gitDir, "config") }));
  expect(denied.out + denied.err).toContain("outside the allowed roots");
  const main = await runLlmc(join(folder, "main"), ["allow", "--repository", "--yes"], { env });
  expect(main.err).toContain("no git directory outside its roots");
});
