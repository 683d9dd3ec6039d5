import { execFileSync } from "node:child_process";
import { existsSync, symlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";
import { isOnMachine } from "../../src/host/os/system-programs.ts";
import { ownState } from "../user-state.ts";
import { createWorkspace } from "../workspace.ts";
import { GIT, settings } from "./command-stand.ts";
import { commandTools } from "./command-tools.ts";

const SECRET = "planted-secret-4d1e";

const git = (cwd: string, ...args: readonly string[]): string =>
  execFileSync(GIT, ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd, encoding: "utf8" });

const plain = settings.filter(({ tier }) => tier === "plain");

const tools = (setting: (typeof settings)[number], root: string) =>
  commandTools(setting, root, {
    allowlist: ["git", "grep", "diff", "rg", "wc"],
    powers: ["git:write"],
    denylist: ["**/.env"],
  });

const repository = async () => {
  const workspace = await createWorkspace({ "f.txt": "one\n", "sub/g.txt": "one\n" });
  git(workspace.root, "init", "-q", "-b", "main", ".");
  git(workspace.root, "add", ".");
  git(workspace.root, "commit", "-qm", "one");
  return workspace;
};

describe.each(plain)("FAIL-J12 REQ-X10 values of options in $name", (setting) => {
  test.each([
    "diff --from-file=OUT f.txt",
    "git blame --contents=OUT f.txt",
    "git blame --ignore-revs-file=OUT f.txt",
    "git -C .. blame --contents=../NAME f.txt",
    "grep -fOUT f.txt",
    "grep -nfOUT f.txt",
    "grep -vf../../NAME f.txt",
    "grep -vfx/../../../NAME f.txt",
    "wc --files0-from=OUT",
  ])("%s leads outside and is refused", async (line) => {
    await using workspace = await repository();
    await using outside = await createWorkspace({ secret: SECRET });
    await using commands = tools(setting, workspace.root);
    const path = join(outside.root, "secret");
    const name = path.slice(path.lastIndexOf("/", path.lastIndexOf("/") - 1) + 1);
    const asked = line.replace("OUT", path).replace("NAME", name);
    const answer = commands.use("run_cmd", asked, "sub");
    await expect(answer).rejects.toMatchObject({ code: "path_denied" });
  });

  test("FAIL-J12 links lead neither outside nor to withheld files under another name", async () => {
    await using workspace = await createWorkspace({ ".env": SECRET, "d/a.txt": "a\n", "e/b.txt": "b\n" });
    await using outside = await createWorkspace({ secret: SECRET });
    symlinkSync("../.env", join(workspace.root, "d/link"));
    symlinkSync(outside.root, join(workspace.root, "d/out"));
    await using commands = tools(setting, workspace.root);
    for (const line of [
      "wc d/out/secret",
      "grep -c x d/out/secret",
      "grep -Rn . d",
      "grep --dereference-recursive . d",
    ]) {
      const answer = commands.use("run_cmd", line.replace("NAME", basename(outside.root)));
      await expect(answer, line).rejects.toMatchObject({
        code: expect.stringMatching(/path_denied|forbidden/),
      });
    }
    for (const line of ["rg -L . d", "rg --follow . d", "diff -rN d e", "diff -ruN d e", "grep -rn . d"])
      expect(await commands.use("run_cmd", line), line).not.toContain(SECRET);
  });

  test.each([
    "git log --format=%h/%s",
    "grep -rn --include=*.txt one .",
    "grep -c -f../f.txt g.txt",
    "git -C .. log -1 --format=https://x/%h",
  ])("%s stays inside and runs", async (line) => {
    await using workspace = await repository();
    await using commands = tools(setting, workspace.root);
    expect(await commands.use("run_cmd", line, "sub")).toContain('"exit_code":0');
  });
});

describe.each(plain)("FAIL-J12 REQ-X10 folders that programs are given in $name", (setting) => {
  const files = {
    ".env": SECRET,
    "a.txt": "b\na\n",
    "sub/b.txt": "b\n",
    "deep/er/.env": SECRET,
    "deep/c.txt": "c\n",
  };
  const programs = "ls cat head tail wc stat file find sort uniq tree cp tar zgrep pr rg grep".split(" ");
  const open = (root: string) =>
    commandTools(setting, root, {
      allowlist: programs,
      powers: ["find:run", "tar:run", "tar:write"],
      denylist: ["**/.env"],
    });

  test.each([
    "cp -r . sub/copy",
    "cp -r deep sub/copy",
    "cp -r ../deep copy",
    "tar cf sub/x.tar .",
    "tar cf x.tar ../deep",
    "find . -type f -exec cat {} +",
    "find -name a.txt -exec cat {} +",
  ])("%s may show what lies in them, and is refused with a way out", async (line) => {
    await using workspace = await createWorkspace(files);
    await using commands = open(workspace.root);
    const cwd = line.includes("..") ? "sub" : undefined;
    await expect(commands.use("run_cmd", line, cwd)).rejects.toMatchObject({
      code: "forbidden",
      hint: expect.stringContaining("Name files or a folder without withheld ones, or use rg or grep"),
    });
  });

  test.each([
    "ls -la .",
    "ls -R deep",
    "cat a.txt",
    "head -n 1 a.txt sub/b.txt",
    "tail -n 1 a.txt",
    "wc -l a.txt",
    "stat .",
    "file .",
    "find . -name '*.txt'",
    "sort a.txt",
    "uniq a.txt",
    ...(isOnMachine("tree") ? ["tree ."] : []),
    "cp -r sub sub2",
    "cp a.txt z.txt",
    "tar cf x.tar sub",
    "grep -r planted .",
    "rg planted .",
  ])("%s runs, and shows no content of what is withheld", async (line) => {
    await using workspace = await createWorkspace(files);
    await using commands = open(workspace.root);
    const seen = await commands.use("run_cmd", line);
    expect(seen).not.toContain(SECRET);
  });
});

describe.each(plain)("FAIL-J12 REQ-X10 what git collects in $name", (setting) => {
  /** Every object of the repository, so far as it is text. */
  const objectsIn = (root: string): string =>
    git(root, "cat-file", "--batch-all-objects", "--batch").replaceAll("\0", "");

  test.each([
    ["git add -A", "."],
    ["git add .", "."],
    ["git add -f .", "."],
    ["git add --all", "sub"],
    ["git add -f sub", "."],
    ["git -C sub add -Af", "."],
    ["git add -A -- sub", "."],
    ["git stage -N .", "."],
    ["git stash -u", "."],
    ["git stash push -a", "."],
    ["git clean -fdx", "."],
  ] as const)("%s in %s leaves withheld files where they are", async (line, cwd) => {
    for (const ignores of [false, true]) {
      await using workspace = await repository();
      await using commands = tools(setting, workspace.root);
      await commands.use("run_cmd", "git status");
      for (const path of [".env", "sub/.env", "sub/pr[i]v/.env"]) await workspace.write(path, SECRET);
      for (const path of ["new.txt", "sub/new.txt"]) await workspace.write(path, "new\n");
      if (ignores) await workspace.write(".git/info/exclude", ".env\n.llmc\n");
      expect(await commands.use("run_cmd", line, cwd)).toContain('"exit_code":0');
      expect(objectsIn(workspace.root)).not.toMatch(new RegExp(`${SECRET}|SQLite format`));
      expect(git(workspace.root, "ls-files")).not.toMatch(/env|llmc/);
      expect(await workspace.read("sub/.env")).toBe(SECRET);
      expect(existsSync(ownState(workspace.root, "state.db"))).toBe(true);
      const isCollected = /add|stage/.test(line);
      if (isCollected) expect(git(workspace.root, "ls-files")).toContain("sub/new.txt");
    }
  });

  test.each([
    "git commit -am x",
    "git commit -qam x",
    "git commit --all -m x",
    "git add --pathspec-from-file=list",
    "git hash-object -w --stdin-paths < list",
    "git update-index --add --stdin < list",
    "git stash",
  ])("%s is refused where a file that git keeps has become secret", async (line) => {
    await using workspace = await repository();
    await workspace.write(".env", "empty\n");
    git(workspace.root, "add", "-f", ".env");
    git(workspace.root, "commit", "-qm", "two");
    await workspace.write(".env", SECRET);
    await workspace.write("list", ".env\n");
    await using commands = tools(setting, workspace.root);
    await expect(commands.use("run_cmd", line)).rejects.toMatchObject({ code: "forbidden" });
    await commands.use("run_cmd", "git add list && git commit -m aa && git commit --allow-empty -m aa .");
    expect(git(workspace.root, "ls-files")).toContain("list");
    expect(git(workspace.root, "log", "--format=%s")).toBe("aa\naa\ntwo\none\n");
    expect(objectsIn(workspace.root)).not.toContain(SECRET);
  });
});

const patchOf = (how: string, from: string, to: string): string =>
  `diff --git a/${from} b/${to}\nsimilarity index 100%\n${how} from ${from}\n${how} to ${to}\n`;

describe.each(plain)("FAIL-J12 REQ-X10 git apply in $name", (setting) => {
  const lines = [
    "git apply p.patch",
    "git apply < p.patch",
    "git apply --directory --index p.patch",
    "git apply --index --no-index p.patch",
    "git apply -- p.patch --index",
  ];
  test.each(["copy", "rename"])("gives no withheld file another name by a patch: %s", async (how) => {
    await using workspace = await repository();
    await workspace.write(".env", SECRET);
    await workspace.write("p.patch", patchOf(how, ".env", "stolen.txt"));
    await using commands = tools(setting, workspace.root);
    for (const line of lines)
      await expect(commands.use("run_cmd", line), line).rejects.toMatchObject({ code: "forbidden" });
    expect(await commands.use("run_cmd", "git apply --index p.patch")).toContain("does not exist in index");
    expect(existsSync(join(workspace.root, "stolen.txt"))).toBe(false);
    expect(await workspace.read(".env")).toBe(SECRET);
    await workspace.write("p.patch", patchOf(how, "f.txt", "new.txt"));
    expect(await commands.use("run_cmd", "git apply --index p.patch")).toContain('"exit_code":0');
    expect(await workspace.read("new.txt")).toBe("one\n");
  });
});

describe.each(plain)("FAIL-J12 REQ-X10 git diff outside its work tree in $name", (setting) => {
  const files = {
    "data/.env": `${SECRET}\n`,
    "data/a.txt": "a\n",
    "empty/x.txt": "",
    "repo/f.txt": "f\n",
    "repo/sub/g.txt": "g\n",
  };
  const refused = { code: "forbidden", message: expect.stringContaining("withheld files") };

  test.each([
    [".", "git diff empty data"],
    [".", "git diff --color-words data empty"],
    [".", "git diff -- data empty"],
    [".", "git -C repo diff sub ROOT/data"],
    ["data", "git diff . ../empty"],
    ["repo", "git diff ../empty ../data"],
    ["repo", "git diff --stat -p sub ../data"],
    ["repo/sub", "git diff -- . ../../data"],
    ["repo", "git diff sub/../../empty sub/../../data"],
    ["repo", "git diff sub ROOT/data"],
  ])("in %s, %s compares folders, and is refused", async (cwd, line) => {
    await using workspace = await createWorkspace(files);
    git(join(workspace.root, "repo"), "init", "-q", ".");
    await using commands = tools(setting, workspace.root);
    const answer = commands.use("run_cmd", line.replace("ROOT", workspace.root), cwd);
    await expect(answer).rejects.toMatchObject(refused);
  });

  test("the server's own state counts as withheld", async () => {
    await using workspace = await createWorkspace({ "a/x.txt": "", ".llmc/left.txt": SECRET });
    await using commands = tools(setting, workspace.root);
    for (const line of ["git diff a .", "git diff --no-index a ."])
      await expect(commands.use("run_cmd", line), line).rejects.toMatchObject(refused);
  });

  test.each([
    [".", "git -C repo diff HEAD~1 HEAD -- f.txt"],
    ["repo", "git diff"],
    ["repo", "git diff HEAD~1..HEAD"],
    ["repo/sub", "git diff HEAD~1 ../f.txt"],
    ["repo", "git diff --stat f.txt sub"],
  ])("in %s, %s stays in the work tree and runs", async (cwd, line) => {
    await using workspace = await createWorkspace(files);
    const repo = join(workspace.root, "repo");
    git(repo, "init", "-q", ".");
    git(repo, "add", ".");
    git(repo, "commit", "-qm", "one");
    git(repo, "commit", "-qm", "two", "--allow-empty");
    await using commands = tools(setting, workspace.root);
    expect(await commands.use("run_cmd", line, cwd)).toContain('"exit_code":0');
  });
});
