import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { splitLine } from "../../../test/split-line.ts";
import type { LlmcError } from "../../base/error.ts";
import { judgeCommand } from "../../policy/commands.ts";
import { SYSTEM_PATH } from "../os/system-programs.ts";
import { type ProgramSearch, resolveProgram } from "./resolve.ts";

const ALLOWLIST = ["ls", "cat", "git", "rg", "sh-like", "absent-tool"];

let base = "";
let workspace = "";
let system = "";
let search: ProgramSearch;

const program = async (path: string, text = "#!/bin/sh\necho evil\n") => {
  await writeFile(path, text);
  await chmod(path, 0o755);
};

beforeAll(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), "llmc-resolve-")));
  workspace = join(base, "work");
  system = join(base, "system");
  await mkdir(join(workspace, "bin"), { recursive: true });
  await mkdir(join(system, "sub"), { recursive: true });
  await mkdir(join(base, "elsewhere"));
  // One file with many names, as busybox is; `sh` is not on the list.
  await program(join(system, "busybox"));
  for (const name of ["ls", "sh"]) await symlink("busybox", join(system, name));
  await program(join(system, "cat"));
  await program(join(system, "id"));
  await writeFile(join(system, "git"), "not executable");
  await program(join(base, "elsewhere", "ls"));
  await program(join(base, "elsewhere", "rg"));
  await program(join(base, "elsewhere", "tool"));
  await program(join(workspace, "ls"));
  await program(join(workspace, "bin", "absent-tool"));
  await program(join(workspace, "bin", "ls"));
  await symlink(join(base, "elsewhere", "ls"), join(workspace, "bin", "cat"));
  await symlink(join(system, "busybox"), join(workspace, "linked"));
  await mkdir(join(workspace, "links"));
  await symlink(join(system, "busybox"), join(workspace, "links", "ls"));
  await symlink(join(system, "busybox"), join(workspace, "links", "cat"));
  await symlink(join(workspace, "bin", "absent-tool"), join(system, "absent-tool"));
  search = { allowlist: ALLOWLIST, dirs: [system], writableRoots: [workspace] };
});

afterAll(() => rm(base, { recursive: true }));

describe("REQ-X1 a listed name leads to its file", () => {
  it("by name", async () => {
    const cat = join(system, "cat");
    expect(await resolveProgram("cat", search)).toEqual({ executable: cat, startPath: cat, name: "cat" });
  });

  it("by a path to the same file", async () => {
    expect(await resolveProgram(join(system, "cat"), search)).toMatchObject({ name: "cat" });
    expect(await resolveProgram(`${system}/sub/../cat`, search)).toMatchObject({
      executable: join(system, "cat"),
    });
  });

  it("and keeps the name of a program that goes by it", async () => {
    const ls = { executable: join(system, "busybox"), startPath: join(system, "ls"), name: "ls" };
    expect(await resolveProgram("ls", search)).toEqual(ls);
    expect(await resolveProgram(join(workspace, "links", "ls"), search)).toEqual(ls);
  });

  it("or by a whole path on the list, wherever it is", async () => {
    const tool = join(base, "elsewhere", "tool");
    const own = join(workspace, "bin", "absent-tool");
    const listed = { ...search, allowlist: [tool, own] };
    for (const word of [tool, "tool"])
      expect(await resolveProgram(word, listed)).toMatchObject({ executable: tool });
    expect(await resolveProgram("absent-tool", listed)).toMatchObject({ executable: own });
  });

  it("of several listed paths that are one file, the path that was named, as virtual environments need", async () => {
    const environment = join(workspace, ".venv/bin");
    await mkdir(environment, { recursive: true });
    await writeFile(join(workspace, ".venv/pyvenv.cfg"), "");
    for (const name of ["python", "tool"])
      await symlink(join(base, "elsewhere/tool"), join(environment, name));
    await symlink("tool", join(base, "elsewhere/python"));
    const others = ["python", "tool"].map((name) => join(base, "elsewhere", name));
    const own = ["python", "tool"].map((name) => join(environment, name));
    const listed = { ...search, allowlist: [...others, ...own], cwd: workspace };
    for (const path of [...own, others[0] ?? ""])
      expect(await resolveProgram(path, listed)).toMatchObject({ startPath: path });
    for (const path of [".venv/bin/python", "./bin/../.venv/bin/python"])
      expect(await resolveProgram(path, listed)).toMatchObject({ startPath: own[0] });
    expect(await resolveProgram("python", listed)).toMatchObject({ startPath: own[0] });
  });

  it("a listed path can be written as it is from the working directory, and no other", async () => {
    const own = join(workspace, "bin", "absent-tool");
    const listed = { ...search, allowlist: ["ls", "cat", own] };
    const from = (cwd: string, program: string) => resolveProgram(program, { ...listed, cwd });
    for (const path of ["bin/absent-tool", "./bin/absent-tool", "links/../bin/absent-tool"])
      expect(await from(workspace, path)).toMatchObject({ executable: own, name: "absent-tool" });
    expect(await from(join(workspace, "bin"), "./absent-tool")).toMatchObject({ executable: own });
    for (const [cwd, path] of [
      [workspace, "./absent-tool"],
      [base, "system/absent-tool"],
      [workspace, "bin/ls"],
      [workspace, "links/ls"],
    ] as const)
      await expect(from(cwd, path)).rejects.toMatchObject({ code: "forbidden" });
    await expect(from(join(workspace, "links"), "./absent-tool")).rejects.toMatchObject({
      message: '"./absent-tool" is not the absent-tool that may be run.',
      hint: expect.stringMatching(
        `^Allowed is ${own}: write that, or absent-tool alone, or .* llmc allow ${workspace}/links/absent-tool `,
      ),
    });
    await expect(from(workspace, "bin/ls")).rejects.toMatchObject({
      hint: expect.stringMatching("^Write ls alone, or"),
    });
  });

  it("or, for rg, to the one that came with us", async () => {
    const ripgrepPath = join(base, "elsewhere", "rg");
    expect(await resolveProgram("rg", { ...search, ripgrepPath })).toMatchObject({ executable: ripgrepPath });
    await expect(resolveProgram("rg", search)).rejects.toMatchObject({ code: "file_not_found" });
  });

  it("also where the whole file system is a root", async () => {
    expect(await resolveProgram("cat", { ...search, writableRoots: ["/"] })).toMatchObject({ name: "cat" });
  });
});

describe("FAIL-C2 FAIL-C6 other files of a listed name are refused", () => {
  it.each([
    ["at another place", () => join(base, "elsewhere", "ls")],
    ["in the workspace", () => join(workspace, "ls")],
    ["relative", () => "./ls"],
    ["relative without a dot", () => "bin/ls"],
    ["relative upwards", () => "../../../../../../../bin/ls"],
    ["in a home", () => "~/ls"],
    ["through dots", () => `${system}/../elsewhere/ls`],
    ["a link of a listed name to an unlisted program", () => join(workspace, "bin", "cat")],
    ["a link of one listed name to another's file", () => join(workspace, "links", "cat")],
    ["another name of a listed program's file", () => join(system, "sh")],
    ["the file behind a listed name", () => join(system, "busybox")],
    ["a link of an unlisted name", () => join(workspace, "linked")],
    ["an unlisted program", () => "id"],
    ["an unlisted name of a listed file", () => "sh"],
    ["an unlisted program by path", () => join(system, "id")],
    ["nothing at all", () => "/no/such/ls"],
    ["a directory", () => `${system}/`],
    ["a slash after the name", () => `${system}/cat/`],
    ["a NUL byte", () => "cat\0"],
    ["an unlisted program that the machine lacks", () => "no-such-program"],
    ["the same by path", () => "/usr/bin/no-such-program"],
    ["a listed name, mistyped", () => "cta"],
  ])("%s", async (_, word) => {
    await expect(resolveProgram(word(), search)).rejects.toMatchObject({
      code: "forbidden",
      hint: expect.stringContaining("mcp.tools.run_cmd_allowlist"),
    });
  });

  it("whether the machine has an unlisted program cannot be told from the answer", async () => {
    const answers = await Promise.all(
      ["id", "xy", join(system, "id"), join(system, "xy")].map((word) =>
        resolveProgram(word, search).catch((thrown: LlmcError) => ({
          code: thrown.code,
          hint: thrown.hint,
          message: thrown.message.replace(word, "WORD"),
        })),
      ),
    );
    expect(
      new Set(answers.map((answer) => JSON.stringify(answer).replaceAll(/llmc allow \S+/g, "llmc allow IT")))
        .size,
    ).toBe(1);
  });

  it("a PATH entry planted in the workspace is not searched, nor a relative one", async () => {
    const dirs = [join(workspace, "bin"), "bin", ".", "", system];
    expect(await resolveProgram("ls", { ...search, dirs })).toMatchObject({ startPath: join(system, "ls") });
    await expect(resolveProgram("absent-tool", { ...search, dirs })).rejects.toMatchObject({
      code: "file_not_found",
    });
  });

  it("the server's own PATH is not searched", async () => {
    const before = process.env["PATH"];
    process.env["PATH"] = `${workspace}/bin:${before}`;
    try {
      await expect(resolveProgram("absent-tool", search)).rejects.toMatchObject({ code: "file_not_found" });
    } finally {
      process.env["PATH"] = before;
    }
  });
});

describe("REQ-X1 what is not there is said so", () => {
  it.each([
    ["absent-tool", /system's own folders/],
    ["git", /system's own folders/],
  ])("%s", async (word, hint) => {
    await expect(resolveProgram(word, search)).rejects.toMatchObject({
      code: "file_not_found",
      hint: expect.stringMatching(hint),
    });
  });
});

describe("FAIL-C10 with the real git, settings that were planted do not fire", () => {
  const run = promisify(execFile);
  const env = { PATH: SYSTEM_PATH.join(":"), HOME: "/nonexistent", GIT_AUTHOR_DATE: "2026-01-01T00:00:00Z" };
  let repository = "";
  let fired = "";

  const plain = (...args: string[]) => run("git", args, { cwd: repository, env });
  const readFired = () => readFile(fired, "utf8").catch(() => "");
  const runHardened = async (line: string) => {
    const argv = splitLine(line);
    const resolved = await resolveProgram("git", {
      allowlist: ["git"],
      dirs: SYSTEM_PATH,
      writableRoots: [workspace],
    });
    const judgement = judgeCommand({ ...resolved, argv, allowlist: ["git"], powers: [] });
    if (!judgement.allowed) throw new Error(judgement.reason);
    return run(resolved.startPath, judgement.argv.slice(1), { cwd: repository, env });
  };

  beforeAll(async () => {
    repository = join(workspace, "repository");
    fired = join(base, "fired");
    await mkdir(repository);
    await plain("init", "-q");
    await writeFile(join(repository, ".gitattributes"), "*.x diff=planted\n");
    await writeFile(join(repository, "a.x"), "one\n");
    await plain("add", ".");
    await plain("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one");
    await writeFile(join(repository, "a.x"), "two\n");
    await plain("-c", "user.name=a", "-c", "user.email=a@b", "stash", "-q");
    await writeFile(join(repository, "a.x"), "three\n");
    const evil = join(workspace, "evil.sh");
    await program(evil, `#!/bin/sh\necho "$0 $*" >> ${fired}\n`);
    for (const hook of ["post-index-change", "fsmonitor-watchman"]) {
      await symlink(evil, join(repository, ".git", "hooks", hook));
    }
    for (const key of [
      ...["core.fsmonitor", "core.pager", "pager.log", "pager.status", "diff.external", "core.sshCommand"],
      ...["diff.planted.textconv", "diff.planted.command", "gpg.program", "core.editor", "core.askPass"],
      ...[
        "core.alternateRefsCommand",
        "remote.origin.uploadpack",
        "credential.helper",
        "interactive.diffFilter",
      ],
    ]) {
      await plain("config", key, evil);
    }
    await plain("config", "alias.log", `!${evil}`);
    await plain("config", "log.showSignature", "true");
    await plain("config", "remote.origin.url", repository);
    await plain("config", "remote.origin.promisor", "true");
    await plain("config", "extensions.partialClone", "origin");
    await rm(fired, { force: true });
  });

  it("though they do without our care", async () => {
    await plain("status");
    expect(await readFired()).toContain("evil.sh");
    await rm(fired, { force: true });
  });

  it.each([
    ...[
      "git status",
      "git status -v",
      "git diff",
      "git diff HEAD",
      "git diff --stat",
      "git log -p",
      "git log --format=%G?",
    ],
    ...[
      "git show HEAD",
      "git show HEAD:a.x",
      "git blame a.x",
      "git stash list -p",
      "git stash show -p",
      "git reflog -p",
    ],
    ...[
      "git grep three",
      "git ls-files -m",
      "git describe --always --dirty",
      "git branch -vv",
      "git diff-index -p HEAD",
    ],
    ...[
      "git diff-files -p",
      "git whatchanged -p",
      "git annotate a.x",
      "git rev-list --all --objects",
      "git shortlog HEAD",
    ],
    ...[
      "git cat-file -t 0123456789012345678901234567890123456789",
      "git cat-file -p HEAD:a.x",
      "git config --list",
    ],
    ...[
      "git remote -v",
      "git range-diff HEAD HEAD HEAD",
      "git for-each-ref",
      "git tag -l",
      "git rev-parse HEAD",
    ],
  ])("%s", async (line) => {
    await runHardened(line).catch((error: unknown) => {
      // A missing object, or a sub-command that this version retired, may end in failure; nothing may run.
      if (!/0123456|whatchanged/.test(line)) throw error;
    });
    expect(await readFired()).toBe("");
  });
});
