import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { createFileWrites } from "../../src/host/write/file-writes.ts";
import { casesIn, GIT, ofThisKernel, type Setting } from "./command-stand.ts";
import { commandTools } from "./command-tools.ts";
import { templateOf } from "./template.ts";
import { writesOptions } from "./write-port.ts";

const git = (cwd: string, ...args: readonly string[]): string =>
  execFileSync(GIT, ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd, encoding: "utf8" });

const startRepository = (root: string): void => {
  writeFileSync(join(root, "file.txt"), "one\n");
  git(root, "init", "-q", "-b", "main", ".");
  git(root, "add", "file.txt");
  git(root, "commit", "-qm", "one");
};

const repository = templateOf(startRepository);

const put = (root: string, path: string, text: string): void => {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
};

const tools = (setting: Setting, root: string, powers: readonly string[] = ["git:write"]) =>
  commandTools(setting, root, {
    allowlist: ["git", "python3", "cat"],
    powers,
    denylist: ["**/.env", "**/.ssh/**"],
  });

/** Beside it, what a linked work tree keeps, and the first half of a repository that somebody else brought. */
const withOthers = templateOf((root) => {
  startRepository(root);
  git(root, "init", "-q", "--bare", "bare.git");
  for (const [name, text] of [
    ["tree/admin/HEAD", "ref: refs/heads/x"],
    ["tree/admin/commondir", "../../.git"],
    ["half/HEAD", "ref: refs/heads/x"],
    ["common/objects/x", ""],
    ["common/refs/x", ""],
    ["half-common/objects/x", ""],
    ["sub/x", ""],
    ["new/x", ""],
  ] as const)
    put(root, name, text);
});

describe("REQ-D24 FAIL-J3 file tools write nothing in a git directory, whatever it is called", () => {
  test.each([
    ".git/commondir",
    ".git/config.worktree",
    ".git/worktrees/w/gitdir",
    ".git/modules/m/config",
    ".git/objects/info/alternates",
    ".git/rebase-merge/git-rebase-todo",
    ".git/index",
    ".git/HEAD",
    ".git/info/attributes",
    ".git/a-new-file",
    "sub/.git",
    "sub/.git/config",
    "sub/.GIT/config",
    "sub/git~1/config",
    "bare.git/config",
    "bare.git/hooks/post-update",
    "bare.git/new",
    "tree/admin/config",
    "new/HEAD",
    "half/objects/x",
    "half/refs/heads/main",
    "half/commondir",
    "common/config",
    "common/hooks/post-checkout",
    "half-common/refs",
    "half-common/refs/heads/x",
  ])("%s", async (path) => {
    await using workspace = await withOthers();
    const writes = createFileWrites(writesOptions(workspace.root));
    const before = existsSync(join(workspace.root, path))
      ? readFileSync(join(workspace.root, path))
      : undefined;
    const attempts = [
      () => writes.rewrite(path, "x"),
      () => writes.append(path, "x"),
      () => writes.makeDirs(path, { existOk: true }),
      () => writes.move("file.txt", path),
      () => writes.applyAll([{ kind: "create", path, text: "x" }], { dryRun: false }),
    ];
    for (const attempt of attempts) {
      const outcome = await attempt().then(
        (done) => done,
        (thrown: { code: string }) => thrown.code,
      );
      // A directory that is there already is made again by nobody; a directory called HEAD is no file.
      if (path.endsWith("HEAD") && typeof outcome === "object" && !("bytesWritten" in outcome)) continue;
      expect(outcome, String(attempt)).toBeTypeOf("string");
    }
    const after = existsSync(join(workspace.root, path))
      ? readFileSync(join(workspace.root, path))
      : undefined;
    if (before !== undefined) expect(after).toEqual(before);
  });

  test("attributes, submodules and ignore files of the work tree are ordinary files", async () => {
    await using workspace = await repository();
    const writes = createFileWrites(writesOptions(workspace.root));
    for (const path of [".gitattributes", ".gitmodules", ".gitignore", "docs/HEAD.md", "src/objects/a.ts"]) {
      if (path.includes("/")) await writes.makeDirs(dirname(path), { existOk: true });
      expect(await writes.rewrite(path, "x\n")).toMatchObject({ created: true });
    }
  });
});

const MARK = "llmc-was-here";
const fire = (root: string): string => `touch ${join(root, MARK)}`;

describe.each(ofThisKernel)("REQ-D24 FAIL-J3 git runs no programs of a repository in $name", (setting) => {
  test.each(
    casesIn(setting, [
      ["fsmonitor", ["core.fsmonitor"], "git status"],
      ["an external diff", ["diff.external"], "git diff"],
      ["a diff driver", ["diff.x.command", "diff.x.textconv"], "git diff"],
      ["a clean filter", ["filter.x.clean", "filter.x.process"], "git status"],
      ["a filter while adding", ["filter.x.clean", "filter.x.process"], "git add file.txt"],
      ["hooks elsewhere", ["core.hooksPath"], "git commit --allow-empty -m two"],
      ["a signing program", ["gpg.program", "commit.gpgSign"], "git commit --allow-empty -m two"],
      ["a pager and an editor", ["core.pager", "core.editor"], "git log"],
    ] as const),
  )("%s", async (name, keys, line) => {
    await using workspace = await repository();
    put(workspace.root, ".git/info/attributes", "* filter=x diff=x\n");
    put(workspace.root, "hooks/pre-commit", `#!/bin/sh\n${fire(workspace.root)}\n`);
    chmodSync(join(workspace.root, "hooks/pre-commit"), 0o755);
    for (const key of keys)
      git(
        workspace.root,
        "config",
        key,
        key === "core.hooksPath" ? "hooks" : key.endsWith("Sign") ? "true" : fire(workspace.root),
      );
    writeFileSync(join(workspace.root, "file.txt"), "two\n");
    await using commands = tools(setting, workspace.root);
    await commands.use("run_cmd", line).catch(() => {});
    expect(existsSync(join(workspace.root, MARK)), name).toBe(false);
  });

  test.each(
    casesIn(setting, [
      ["a filter without a name", '[filter ""]\n\tclean = FIRE\n', "* filter=\n"],
      ["a filter whose name is not UTF-8", '[filter "\xff"]\n\tclean = FIRE\n', "* filter=\xff\n"],
    ] as const),
  )("%s", async (name, config, attributes) => {
    await using workspace = await repository();
    const bytes = (text: string): Buffer => Buffer.from(text.replace("FIRE", fire(workspace.root)), "latin1");
    appendFileSync(join(workspace.root, ".git/config"), bytes(config));
    writeFileSync(join(workspace.root, ".gitattributes"), bytes(attributes));
    writeFileSync(join(workspace.root, "file.txt"), "two\n");
    // With submodules git may start other programs.
    writeFileSync(join(workspace.root, ".gitmodules"), "");
    await using commands = tools(setting, workspace.root);
    for (const line of ["git status", "git diff", "git add file.txt"])
      await commands.use("run_cmd", line).catch(() => {});
    expect(existsSync(join(workspace.root, MARK)), name).toBe(false);
  });

  test("hooks and configuration stay, while index, objects, refs and logs are written (REQ-D24)", async () => {
    await using workspace = await repository();
    const config = readFileSync(join(workspace.root, ".git/config"), "utf8");
    writeFileSync(join(workspace.root, "file.txt"), "two\n");
    await using commands = tools(setting, workspace.root);
    await commands.use("run_cmd", "git add file.txt");
    const seen = await commands.use("run_cmd", 'git -C . commit -m "two words"');
    expect(seen).toContain('"exit_code":0');
    await commands.use("run_cmd", "git branch topic");
    expect(git(workspace.root, "log", "--format=%s")).toBe("two words\none\n");
    expect(git(workspace.root, "branch", "--format=%(refname:short)")).toBe("main\ntopic\n");
    expect(readFileSync(join(workspace.root, ".git/config"), "utf8")).toBe(config);
    expect(git(workspace.root, "status", "--porcelain", "-uno")).toBe("");
  });

  test("a linked work tree whose repository lies in a root works", async () => {
    await using workspace = await repository();
    git(workspace.root, "worktree", "add", "-q", "linked", "-b", "linked");
    await using commands = tools(setting, workspace.root);
    writeFileSync(join(workspace.root, "linked/file.txt"), "three\n");
    expect(await commands.use("run_cmd", "git -C linked status")).toContain("file.txt");
    await commands.use("run_cmd", "git -C linked add file.txt");
    expect(await commands.use("run_cmd", "git -C linked commit -m three")).toContain('"exit_code":0');
    expect(git(join(workspace.root, "linked"), "log", "-1", "--format=%s")).toBe("three\n");
  });

  test.each(casesIn(setting, ["commondir", "gitdir file", "alternates", "work tree", "include", "link"]))(
    "FAIL-J3 a repository that points outside is refused with the reason: %s",
    async (what) => {
      await using workspace = await repository();
      const outside = await realpath(await mkdtemp(join(tmpdir(), "llmc-outside-")));
      try {
        git(outside, "init", "-q", ".");
        const at = (path: string): string => join(workspace.root, path);
        if (what === "commondir") writeFileSync(at(".git/commondir"), join(outside, ".git"));
        if (what === "alternates")
          writeFileSync(at(".git/objects/info/alternates"), join(outside, ".git/objects\n"));
        if (what === "work tree") git(workspace.root, "config", "core.worktree", outside);
        if (what === "include") git(workspace.root, "config", "include.path", join(outside, "config"));
        if (what === "gitdir file" || what === "link") {
          execFileSync("mv", [at(".git"), at("old")]);
          if (what === "link") symlinkSync(join(outside, ".git"), at(".git"));
          else writeFileSync(at(".git"), `gitdir: ${join(outside, ".git")}\n`);
        }
        await using commands = tools(setting, workspace.root);
        await expect(commands.use("run_cmd", "git status")).rejects.toMatchObject({ code: "forbidden" });
      } finally {
        await rm(outside, { recursive: true, force: true });
      }
    },
  );
});
