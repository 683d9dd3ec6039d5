import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  linkSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { casesIn, GIT, ofThisKernel, type Setting } from "./command-stand.ts";
import { commandTools } from "./command-tools.ts";
import { templateOf } from "./template.ts";

const SECRET = "TOKEN=very-secret";

const git = (cwd: string, ...args: readonly string[]): string =>
  execFileSync(GIT, ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd, encoding: "utf8" });

const repository = templateOf((root) => {
  for (const folder of ["sub", "tools/hooks"]) mkdirSync(join(root, folder), { recursive: true });
  for (const name of ["file.txt", "sub/file.txt"]) writeFileSync(join(root, name), "one\n");
  writeFileSync(join(root, ".env"), `${SECRET}\n`);
  writeFileSync(join(root, "tools/hooks/pre-commit"), "#!/bin/sh\n");
  git(root, "init", "-q", "-b", "main", ".");
  git(root, "add", "file.txt", "sub/file.txt", "tools");
  git(root, "commit", "-qm", "one");
});

const tools = (setting: Setting, root: string) =>
  commandTools(setting, root, { allowlist: ["git", "rg"], powers: ["git:write"], denylist: ["**/.env"] });

describe.each(ofThisKernel)("REQ-D24 FAIL-J3 FAIL-J4 arguments of git in $name", (setting) => {
  test.each(
    casesIn(setting, [
      "git log -1 --format=x --output=.git/config",
      "git log -1 --format=x --output .git/hooks/pre-commit",
      "git log -1 --format=x --outp=tools/hooks/pre-commit",
      "git diff --output=tools/hooks/pre-commit HEAD",
      "git shortlog --group=format:# --format=x --output=.git/config HEAD",
      "git rev-list --output=file.txt HEAD",
      "git -C sub show --output=../.git/info/attributes HEAD",
      "git format-patch -1 --output=.git/x",
      "git format-patch -1 -o.git/hooks",
      "git merge-file .git/config file.txt sub/file.txt",
      "git bundle create .git/config HEAD",
      "git read-tree --index-output=.git/config HEAD",
    ]),
  )("%s is refused, and nothing is written", async (line) => {
    await using workspace = await repository();
    const before = git(workspace.root, "status", "--porcelain");
    const config = readFileSync(join(workspace.root, ".git/config"), "utf8");
    await using commands = tools(setting, workspace.root);
    await expect(commands.use("run_cmd", line)).rejects.toMatchObject({ code: "forbidden" });
    expect(readFileSync(join(workspace.root, ".git/config"), "utf8")).toBe(config);
    expect(git(workspace.root, "status", "--porcelain")).toBe(before);
  });

  test.each(
    casesIn(setting, [
      ["rg --trace -nf.env a", "."],
      ["rg -nnnnf.env a", "."],
      ["git blame --contents .env file.txt", "sub"],
      ["git -C sub blame --contents .env file.txt", "."],
    ] as const),
  )("%s in %s shows no secret", async (line, cwd) => {
    await using workspace = await repository();
    await using commands = tools(setting, workspace.root);
    await expect(commands.use("run_cmd", line, cwd)).rejects.toThrow("is on the denylist");
  });

  test("where git would find a repository whose HEAD llmc cannot read, nothing is run", async () => {
    await using workspace = await repository();
    appendFileSync(join(workspace.root, ".git/HEAD"), "\n".repeat(1_100_000));
    rmSync(join(workspace.root, ".git/packed-refs"), { force: true });
    linkSync(join(workspace.root, ".env"), join(workspace.root, ".git/packed-refs"));
    expect(() => git(workspace.root, "status")).toThrow("very-secret");
    await using commands = tools(setting, workspace.root);
    for (const line of ["git status", "git for-each-ref", "git worktree list", "git log"])
      await expect(commands.use("run_cmd", line)).rejects.toThrow("Nothing is run or changed here");
    // Without a sandbox, a program that goes through folders by itself is refused before that.
    const why = setting.tier === "plain" ? /./ : "Nothing is run or changed here";
    await expect(commands.use("run_cmd", "git diff --no-index file.txt sub/file.txt")).rejects.toThrow(why);
  });

  test("REQ-X10 git runs where a branch has a name that is not UTF-8, unless that leads to a file outside", async () => {
    await using workspace = await repository();
    const branch = Buffer.from(join(workspace.root, ".git/refs/heads/f\xfcr"), "latin1");
    writeFileSync(branch, git(workspace.root, "rev-parse", "HEAD"));
    await using commands = tools(setting, workspace.root);
    expect(await commands.use("run_cmd", "git branch")).toContain("* main");
    symlinkSync(join(workspace.root, ".env"), Buffer.concat([branch, Buffer.from("2")]));
    await expect(commands.use("run_cmd", "git branch")).rejects.toThrow("Nothing is run or changed here");
  });

  test("a rebase that somebody left half done runs no program", async () => {
    await using workspace = await repository();
    mkdirSync(join(workspace.root, ".git/rebase-merge"));
    writeFileSync(
      join(workspace.root, ".git/rebase-merge/git-rebase-todo"),
      "pick abc\n exec id > ran.txt\n",
    );
    await using commands = tools(setting, workspace.root);
    await expect(commands.use("run_cmd", "git rebase --continue")).rejects.toMatchObject({
      code: "forbidden",
    });
  });
});
