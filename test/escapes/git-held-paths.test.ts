import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createWorkspace, type Workspace } from "../workspace.ts";
import { GIT, settings } from "./command-stand.ts";
import { commandTools } from "./command-tools.ts";

const git = (cwd: string, ...args: readonly string[]): string =>
  execFileSync(GIT, ["-c", "user.name=a", "-c", "user.email=a@b", ...args], {
    cwd,
    encoding: "utf8",
    stdio: "pipe",
  });

const TOML = "[mcp.tools]\n";

/** A repository at the top of the workspace, with a change, a new file and one that is only there. */
const project = async (): Promise<Workspace> => {
  const workspace = await createWorkspace({ a: "1\n", "llmc.toml": TOML, ".gitignore": "kept\n" });
  const { root } = workspace;
  git(root, "init", "-q", "-b", "main");
  git(root, "add", "a", ".gitignore");
  git(root, "commit", "-q", "-m", "one");
  writeFileSync(join(root, "a"), "2\n");
  writeFileSync(join(root, "new"), "new\n");
  mkdirSync(join(root, "d"));
  writeFileSync(join(root, "d/loose"), "loose\n");
  writeFileSync(join(root, "kept"), "ignored\n");
  return workspace;
};

/** What differs from the last commit; git pop without --index brings changes back that are not staged. */
const stateOf = (root: string): string =>
  [
    git(root, "diff", "HEAD"),
    git(root, "status", "--porcelain", "--ignored", "-uall")
      .replaceAll(/^M /gm, " M")
      .replaceAll(/.. \.llmc\/.*\n/g, ""),
    git(root, "stash", "list"),
  ].join("\n");

const PREPARE: Readonly<Record<string, (root: string) => void>> = {
  untracked: (root) => void git(root, "add", "new"),
  staged: (root) => void git(root, "add", "new", "llmc.toml"),
  committed: (root) => {
    git(root, "add", "llmc.toml");
    git(root, "commit", "-q", "-m", "toml");
    git(root, "add", "new");
  },
  changed: (root) => {
    writeFileSync(join(root, "llmc.toml"), "# before\n");
    git(root, "add", "llmc.toml");
    git(root, "commit", "-q", "-m", "toml");
    writeFileSync(join(root, "llmc.toml"), TOML);
    git(root, "add", "new");
  },
};

const forTools = (setting: (typeof settings)[number], root: string) =>
  commandTools(setting, root, {
    allowlist: ["git"],
    powers: ["git:write"],
    denylist: ["**/.env"],
    obeyedPaths: () => ({ config: ["llmc.toml"], modules: [], models: [], startup: [] }),
  });

const WAYS = ["", " -u", " push -a -m 'a b'", " save -u a b", " push a new"];

describe.each(settings.filter(({ tier }) => tier !== "landlock"))("FAIL-J4 REQ-D24 in $name", (setting) => {
  test.each(Object.keys(PREPARE))("git stash and pop leave all as it was; llmc.toml %s", async (state) => {
    await using workspace = await project();
    const { root } = workspace;
    await using commands = forTools(setting, root);
    PREPARE[state]?.(root);
    const before = stateOf(root);
    for (const how of WAYS) {
      expect(await commands.use("run_cmd", `git stash${how}`), how).toContain('"exit_code":0');
      expect(readFileSync(join(root, "a"), "utf8")).toBe("1\n");
      expect(readFileSync(join(root, "llmc.toml"), "utf8")).toBe(TOML);
      expect(await commands.use("run_cmd", "git stash pop"), how).toContain('"exit_code":0');
      expect(stateOf(root), how).toBe(before);
    }
  });

  test.each(["-fd", "-fdx", "-fd .", "-fd -e '!/.env' -e '!llmc.toml'"])(
    "git clean %s removes the rest",
    async (options) => {
      await using workspace = await project();
      const { root } = workspace;
      await using commands = forTools(setting, root);
      writeFileSync(join(root, ".env"), "S=1\n");
      expect(await commands.use("run_cmd", `git clean ${options}`)).toContain('"exit_code":0');
      const left = git(root, "status", "--porcelain", "--ignored", "-uall");
      expect(left.replaceAll(/.. \.llmc\/.*\n/g, "")).toBe(
        ` M a\n?? .env\n?? llmc.toml\n${options.includes("x") ? "" : "!! kept\n"}`,
      );
    },
  );

  test("git clean -X, which removes what is excluded, is refused", async () => {
    await using workspace = await project();
    await using commands = forTools(setting, workspace.root);
    for (const options of ["-fX", "-fdX", "-f -X ."])
      await expect(commands.use("run_cmd", `git clean ${options}`)).rejects.toThrow("git clean -X");
  });

  test("git reset --hard and git stash --staged are refused before anything changes", async () => {
    await using workspace = await project();
    const { root } = workspace;
    await using commands = forTools(setting, root);
    PREPARE["changed"]?.(root);
    const before = stateOf(root);
    await expect(commands.use("run_cmd", "git reset --hard")).rejects.toThrow("No command changes llmc.toml");
    await expect(commands.use("run_cmd", "git stash --staged")).rejects.toMatchObject({
      hint: expect.stringContaining("git stash push -- . ':(top,exclude)llmc.toml'"),
    });
    expect(stateOf(root)).toBe(before);
    expect(await commands.use("run_cmd", "git reset")).toContain('"exit_code":0');
    expect(await commands.use("run_cmd", "git restore -- . ':(top,exclude)llmc.toml'")).toContain(
      '"exit_code":0',
    );
    rmSync(join(root, "new"));
    expect(git(root, "status", "--porcelain", "-uno")).toBe(" M llmc.toml\n");
  });

  test("git checkout, switch and reset that would have to change or remove llmc.toml are refused before anything changes", async () => {
    await using workspace = await createWorkspace({ a: "1\n", "llmc.toml": TOML });
    const { root } = workspace;
    git(root, "init", "-q", "-b", "main");
    git(root, "config", "user.name", "Ada");
    git(root, "config", "user.email", "ada@example.org");
    git(root, "add", "a");
    git(root, "commit", "-q", "-m", "one");
    git(root, "branch", "other");
    await using commands = forTools(setting, root);
    expect(await commands.use("run_cmd", "git checkout -q -b feat")).toContain('"exit_code":0');
    writeFileSync(join(root, "a"), "2\n");
    git(root, "add", "a", "llmc.toml");
    git(root, "commit", "-q", "-m", "feat");
    const before = stateOf(root);
    const ways = ["checkout main", "checkout -q -f main", "switch main", "switch -c x main", "checkout -"];
    for (const line of [...ways, "reset --hard HEAD~1", "reset -q --keep main"]) {
      await expect(commands.use("run_cmd", `git ${line}`), line).rejects.toMatchObject({
        message: expect.stringContaining("No command changes llmc.toml"),
        hint: expect.stringContaining("git rm --cached llmc.toml"),
      });
      expect(stateOf(root), line).toBe(before);
      expect(git(root, "branch", "--show-current"), line).toBe("feat\n");
    }
    // Others are not asked beforehand, but their answer says what was in the way.
    const tip = git(root, "rev-parse", "feat").trim();
    if (setting.tier === "bubblewrap")
      expect(await commands.use("run_cmd", "git revert --no-edit HEAD")).toContain(
        "no command changes llmc.toml",
      );
    git(root, "reset", "-q", "--hard", tip);
    // What leaves it as it is works: the same content there, or paths alone.
    expect(await commands.use("run_cmd", "git checkout -q -b again feat")).toContain('"exit_code":0');
    expect(await commands.use("run_cmd", "git reset -q --hard HEAD")).toContain('"exit_code":0');
    expect(await commands.use("run_cmd", "git checkout main -- a")).toContain('"exit_code":0');
    expect(await commands.use("run_cmd", "git checkout no-such-branch")).toContain("did not match");
    // The way out of the hint.
    expect(
      await commands.use(
        "run_cmd",
        "git rm -q --cached llmc.toml && git commit -qm out && git checkout -q main",
      ),
    ).toContain('"exit_code":0');
    expect(readFileSync(join(root, "llmc.toml"), "utf8")).toBe(TOML);
    expect(readFileSync(join(root, "a"), "utf8")).toBe("1\n");
    await expect(commands.use("run_cmd", "git checkout feat")).rejects.toMatchObject({
      hint: expect.stringContaining("in a terminal"),
    });
  });

  test("FAIL-J4: git add of whatever there is leaves out what was quarantined; named outright, it is added", async () => {
    const planted = ["sub/.envrc.refused-0123abcd", "conf.refused-89abcdef/x"];
    await using workspace = await createWorkspace({
      "sub/a": "1\n",
      "b.refused-notes": "2\n",
      ...Object.fromEntries(planted.map((path) => [path, "planted\n"])),
    });
    const { root } = workspace;
    git(root, "init", "-q", "-b", "main");
    await using commands = forTools(setting, root);
    for (const [line, cwd] of [
      ["git add -A"],
      ["git add . sub"],
      ["git add --all", join(root, "sub")],
    ] as const) {
      expect(await commands.use("run_cmd", line, cwd), line).toContain('"exit_code":0');
      expect(git(root, "ls-files"), line).toBe("b.refused-notes\nsub/a\n");
      git(root, "rm", "-q", "-r", "--cached", ".");
    }
    expect(await commands.use("run_cmd", `git add ${planted[0]}`)).toContain('"exit_code":0');
    expect(git(root, "ls-files")).toBe(`${planted[0]}\n`);
  });

  test("git add of whatever there is leaves out an llmc.toml that git does not know, and says so", async () => {
    await using workspace = await createWorkspace({ "llmc.toml": TOML, "sub/a": "1\n" });
    const { root } = workspace;
    git(root, "init", "-q", "-b", "main");
    await using commands = forTools(setting, root);
    const note = "llmc.toml was left out";
    for (const [line, cwd] of [
      ["git add -A"],
      ["git add ."],
      ["git add --all -v", join(root, "sub")],
    ] as const) {
      expect(await commands.use("run_cmd", line, cwd), line).toContain(note);
      expect(git(root, "ls-files")).toBe("sub/a\n");
      git(root, "rm", "-q", "-r", "--cached", ".");
    }
    // What was not asked for is not left out.
    for (const [line, cwd] of [
      ["git add sub/a"],
      ["git add sub"],
      ["git -C sub add -v ."],
      ["git add .", join(root, "sub")],
      ["git add -u"],
    ] as const) {
      const added = await commands.use("run_cmd", line, cwd);
      expect(added, line).toContain('"exit_code":0');
      expect(added, line).not.toContain(note);
      expect(git(root, "ls-files"), line).toBe("sub/a\n");
    }
    for (const line of ["git add sub/..", "git add '*'", "git add -v ':/'"])
      expect(await commands.use("run_cmd", line), line).toContain(note);
    expect(git(root, "ls-files")).toBe("sub/a\n");
    writeFileSync(join(root, ".gitignore"), "/llmc.toml\n");
    expect(await commands.use("run_cmd", "git add -A")).not.toContain(note);
    rmSync(join(root, ".gitignore"));
    expect(await commands.use("run_cmd", "git add -A llmc.toml")).not.toContain(note);
    expect(git(root, "ls-files")).toContain("llmc.toml\n");
    expect(await commands.use("run_cmd", "git add -A")).not.toContain(note);
  });

  test("REQ-D24: what git needs another program for is named, with a way that works", async () => {
    await using workspace = await createWorkspace({ "a.txt": "1\n" });
    const { root } = workspace;
    git(root, "init", "-q", "-b", "main");
    git(root, "add", "-A");
    git(root, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one");
    writeFileSync(join(root, "a.txt"), "2\n");
    await using commands = forTools(setting, root);
    const parts = await commands.use("run_cmd", "git add -p");
    // Without a sandbox git starts itself, and asks somebody who is not there.
    if (setting.tier !== "plain") expect(parts).toContain("stage them with git apply --cached x.patch");
    const signed = await commands.use("run_cmd", "git commit --allow-empty -S -m two");
    expect(signed).toContain("commands sign nothing, so that no key is used unasked: leave the option out");
    expect(
      await commands.use(
        "run_cmd",
        "git diff a.txt > x.patch && git apply --cached x.patch && git status --short",
      ),
    ).toContain("M  a.txt");
  });

  test("an untracked .env that is not ignored and stops git add is named, with a way that works", async () => {
    await using workspace = await createWorkspace({ ".env": "S=1\n", a: "1\n" });
    const { root } = workspace;
    git(root, "init", "-q", "-b", "main");
    await using commands = forTools(setting, root);
    const seen = await commands.use("run_cmd", "git add -A && git status --short");
    // Without a sandbox it is left out.
    if (setting.tier !== "plain") {
      expect(seen).toContain(
        ".env is withheld from commands, and git does not ignore it: put it into .gitignore",
      );
      expect(git(root, "ls-files")).toBe("");
    }
    expect(await commands.use("run_cmd", "git add -A -- . ':(exclude).env'")).toContain('"exit_code":0');
    expect(git(root, "ls-files")).toBe("a\n");
  });
});
