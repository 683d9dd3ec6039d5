import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { tempWorkspace } from "../app.ts";
import { createWorkspace } from "../workspace.ts";
import { GIT, settings } from "./command-stand.ts";
import { commandTools } from "./command-tools.ts";

/** The worker's own home is shared with other tests. */
const { HOME } = process.env;
let home = "";
beforeEach(() => {
  home = tempWorkspace();
  process.env["HOME"] = home;
});
afterAll(() => {
  process.env["HOME"] = HOME;
});

const git = (cwd: string, ...args: readonly string[]): string =>
  execFileSync(GIT, ["-c", "user.name=a", "-c", "user.email=a@b", ...args], {
    cwd,
    encoding: "utf8",
    stdio: "pipe",
  });

const hook = (path: string): void => {
  writeFileSync(path, "#!/bin/sh\ntouch ran\nexit 1\n");
  chmodSync(path, 0o755);
};

const project = async () => {
  const workspace = await createWorkspace({ "a.txt": "1\n" });
  git(workspace.root, "init", "-q", "-b", "main", ".");
  git(workspace.root, "config", "user.name", "Ada");
  git(workspace.root, "config", "user.email", "ada@example.org");
  git(workspace.root, "add", "-A");
  git(workspace.root, "commit", "-qm", "one");
  return workspace;
};

describe.each(settings.filter(({ tier }) => tier !== "landlock"))("$name: what git leaves out", (setting) => {
  const tools = (root: string) =>
    commandTools(setting, root, { allowlist: ["git"], powers: ["git:write"], denylist: [] });

  test("REQ-D24: an answer names the hooks that were not run, and a signature that is missing", async () => {
    await using workspace = await project();
    await using commands = tools(workspace.root);
    expect(await commands.use("run_cmd", "git commit --allow-empty -qm plain")).not.toContain("not run");
    hook(join(workspace.root, ".git/hooks/pre-commit"));
    hook(join(workspace.root, ".git/hooks/commit-msg"));
    writeFileSync(join(workspace.root, ".git/hooks/post-commit"), "not executable\n", { mode: 0o644 });
    expect(await commands.use("run_cmd", "git commit --allow-empty -qm two")).toContain(
      "hooks were not run: pre-commit, commit-msg (",
    );
    expect(await commands.use("run_cmd", "git commit -n --allow-empty -qm three")).not.toContain("not run");
    expect(await commands.use("run_cmd", "git status")).not.toContain("not run");
    git(workspace.root, "config", "commit.gpgsign", "true");
    git(workspace.root, "config", "core.hooksPath", ".husky/_");
    mkdirSync(join(workspace.root, ".husky/_"), { recursive: true });
    hook(join(workspace.root, ".husky/_/pre-commit"));
    const seen = await commands.use("run_cmd", "git commit --allow-empty -qm four");
    expect(seen).toContain(
      "hooks were not run: pre-commit; nothing was signed, although commit.gpgsign is set",
    );
    expect(seen).toContain('"exit_code":0');
    expect(existsSync(join(workspace.root, "ran"))).toBe(false);
  });

  test("REQ-D24: hooks of the user's own configuration are named; outside the roots, others are not looked for", async () => {
    await using workspace = await project();
    await using commands = tools(workspace.root);
    const hooks = tempWorkspace();
    hook(join(hooks, "pre-commit"));
    writeFileSync(join(home, ".gitconfig"), `[core]\n\thooksPath = ${hooks}\n`);
    expect(await commands.use("run_cmd", "git commit --allow-empty -qm two")).toContain(
      "hooks were not run: pre-commit (",
    );
    writeFileSync(join(home, ".gitconfig"), "");
    git(workspace.root, "config", "core.hooksPath", hooks);
    const seen = await commands.use("run_cmd", "git commit --allow-empty -qm three");
    expect(seen).toContain("hooks were not run: those in core.hooksPath (");
    expect(seen).not.toContain("pre-commit");
  });

  test("REQ-D24: an upstream that could not be set is named as such", async () => {
    await using workspace = await project();
    git(workspace.root, "branch", "topic");
    await using commands = tools(workspace.root);
    // Without a sandbox git writes it, and it is taken back, which the answer says.
    const note = setting.tier === "plain" ? "renamed" : "commands do not write git's configuration";
    expect(await commands.use("run_cmd", "git checkout -b track --track topic")).toContain(note);
    expect(git(workspace.root, "branch", "-vv")).not.toContain("[topic");
  });

  test("REQ-D24: content filters do not run, so what would store or check out unfiltered content is refused", async () => {
    await using workspace = await project();
    const { root } = workspace;
    const filter = '[filter "lfs"]\n\tclean = tr a-z A-Z\n\tsmudge = tr A-Z a-z\n';
    writeFileSync(join(home, ".gitconfig"), filter);
    mkdirSync(join(root, "data"));
    writeFileSync(join(root, "data/.gitattributes"), "*.bin filter=lfs -text\n*.txt -filter\n");
    writeFileSync(join(root, "data/a.bin"), "abc\n");
    git(root, "add", "-A");
    git(root, "commit", "-qm", "filtered");
    git(root, "branch", "other");
    await using commands = tools(root);
    const run = (line: string) =>
      commands.use("run_cmd", line).catch((error: unknown) => `refused: ${String(error)}`);
    expect(await run("git status --short")).toContain('content filter (\\"lfs\\") may look modified');
    writeFileSync(join(root, "data/b.bin"), "new\n");
    writeFileSync(join(root, "b.txt"), "new\n");
    for (const line of [
      "git add data/b.bin",
      "git add -A",
      "git add data",
      "git commit -am all",
      "git commit -m some data/a.bin",
      "git stash",
      "git checkout other",
      "git switch other",
      "git restore data/a.bin",
      "git reset --hard",
      "git merge other",
      "git rebase other",
    ])
      expect(await run(line), line).toContain("without their content filter");
    expect(git(root, "status", "--porcelain")).toBe("?? b.txt\n?? data/b.bin\n");
    for (const line of ["git add b.txt", "git commit -m plain", "git checkout -b fresh", "git reset HEAD~1"])
      expect(await run(line), line).toContain('"exit_code":0');
    expect(git(root, "show", "other:data/a.bin")).toBe("ABC\n");
  });

  test("REQ-D24: a filter that no program stands behind stops nothing", async () => {
    await using workspace = await project();
    writeFileSync(join(workspace.root, ".gitattributes"), "# x filter=lfs\n*.bin filter=none\n");
    await using commands = tools(workspace.root);
    expect(await commands.use("run_cmd", "git add -A")).toContain('"exit_code":0');
  });
});
