import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { isFull } from "../rounds.ts";
import { USER_STATE } from "../user-state.ts";
import { casesIn, GIT, ofThisKernel, type Setting } from "./command-stand.ts";
import { commandTools } from "./command-tools.ts";
import { templateOf } from "./template.ts";

const git = (cwd: string, ...args: readonly string[]): string =>
  execFileSync(GIT, ["-c", "user.name=a", "-c", "user.email=a@b", ...args], {
    cwd,
    encoding: "utf8",
    stdio: "pipe",
  });

/** A program that plants a hook and a remote again and again while it runs. */
const plantFor = (name: string, rounds: number): string => `#!/bin/sh
touch started-${name}
i=0
while [ $i -lt ${rounds} ]; do
  mkdir -p .git/hooks .git/remotes
  [ -e .git/hooks/pre-commit ] || printf '#!/bin/sh\\ntouch fired\\n' > .git/hooks/pre-commit
  chmod +x .git/hooks/pre-commit
  [ -e .git/remotes/upstream ] || printf 'URL: https://example.invalid/x\\n' > .git/remotes/upstream
  sleep 0.1
  i=$((i+1))
done
exit 1
`;

const repository = templateOf((root) => {
  writeFileSync(join(root, "file.txt"), "one\n");
  git(root, "init", "-q", "-b", "main", ".");
  git(root, "add", "file.txt");
  git(root, "commit", "-qm", "one");
  git(root, "checkout", "-q", "-b", "side");
  writeFileSync(join(root, "file.txt"), "side\n");
  git(root, "commit", "-qam", "side");
  git(root, "checkout", "-q", "main");
  mkdirSync(join(root, "git-merge-x"));
  writeFileSync(join(root, "git-merge-x/a"), plantFor("a", 8), { mode: 0o755 });
  writeFileSync(join(root, "git-merge-x/b"), plantFor("b", 16), { mode: 0o755 });
  for (const name of ["hooks", "branches", "remotes"])
    rmSync(join(root, ".git", name), { recursive: true, force: true });
});

const tools = (
  setting: Setting,
  root: string,
  timeoutSeconds = 60,
  powers: readonly string[] = ["git:write"],
) =>
  commandTools(setting, root, {
    allowlist: ["git"],
    powers,
    denylist: [],
    timeoutSeconds,
  });

/** Landlock does not run git that writes and starts others. */
const forking = ofThisKernel.filter(({ tier }) => tier !== "landlock");

describe.each(forking)("REQ-D24 FAIL-J3 git commands that write in $name", (setting) => {
  test.each(casesIn(setting, ["run_cmd", "linux_proc_start"] as const))(
    "%s: of two at the same time, neither keeps or brings back what the other planted",
    async (tool) => {
      await using workspace = await repository();
      const { root } = workspace;
      await using first = tools(setting, root, 60, ["git:write", "git:run"]);
      await using second = tools(setting, root, 60, ["git:write", "git:run"]);
      const one = first.use(tool, "git cherry-pick --strategy=x/a side");
      while (!existsSync(join(root, "started-a"))) await sleep(20);
      const other = second.use("run_cmd", "git cherry-pick --strategy=x/b side");
      const seen = await Promise.all([one, other]);
      expect(existsSync(join(root, "started-b"))).toBe(true);
      expect(seen.join()).toContain("refused-");
      expect(existsSync(join(root, ".git/hooks"))).toBe(false);
      expect(existsSync(join(root, ".git/remotes"))).toBe(false);
      git(root, "commit", "-q", "--allow-empty", "-m", "mine");
      expect(existsSync(join(root, "fired"))).toBe(false);
    },
  );
});

test("REQ-D24 FAIL-J8 a git process that only waits does not keep the write lock longer than a command may run", async () => {
  const [setting] = forking;
  if (setting === undefined) throw new Error("no tier");
  await using workspace = await repository();
  await using first = tools(setting, workspace.root, 1);
  await using second = tools(setting, workspace.root, 30);
  await first.use("linux_proc_start", "git update-ref --stdin");
  const answer = await second.use("run_cmd", "git branch other");
  expect(answer).toContain('"exit_code":0');
  expect(git(workspace.root, "branch", "--list", "other")).toContain("other");
});

/** A superproject with a submodule, whose git directory lies in the superproject's. */
const superproject = templateOf((root) => {
  const source = join(root, "source");
  mkdirSync(source);
  for (const folder of [source, root]) {
    git(folder, "init", "-q", "-b", "main", ".");
    writeFileSync(join(folder, "file.txt"), "one\n");
    git(folder, "add", "file.txt");
    git(folder, "commit", "-qm", "one");
  }
  git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "./source", "sub");
  git(root, "commit", "-qm", "sub");
  rmSync(source, { recursive: true });
  for (const folder of [root, join(root, "sub")]) {
    git(folder, "checkout", "-q", "-b", "side");
    writeFileSync(join(folder, "file.txt"), "side\n");
    git(folder, "commit", "-qam", "side");
    git(folder, "checkout", "-q", "main");
    mkdirSync(join(folder, "git-merge-x"));
    const plant = plantFor("a", 8).replaceAll(".git/", '"$GIT_DIR"/');
    writeFileSync(join(folder, "git-merge-x/a"), plant, { mode: 0o755 });
    writeFileSync(join(folder, "git-merge-x/b"), "#!/bin/sh\ntouch started-b\nsleep 1.5\nexit 1\n", {
      mode: 0o755,
    });
  }
  for (const dir of [".git", ".git/modules/sub"])
    for (const name of ["hooks", "branches", "remotes"])
      rmSync(join(root, dir, name), { recursive: true, force: true });
});

describe.each(forking)("REQ-D24 FAIL-J3 git in a superproject and in its submodule in $name", (setting) => {
  test("what git leaves in the submodule's own directory is undone", async () => {
    await using workspace = await superproject();
    const { root } = workspace;
    await using commands = tools(setting, root, 60, ["git:write", "git:run"]);
    const answer = await commands.use("run_cmd", "git cherry-pick --strategy=x/a side", "sub");
    expect(answer).toContain("remotes.refused-");
    for (const name of ["hooks", "remotes"])
      expect(existsSync(join(root, ".git/modules/sub", name)), answer).toBe(false);
  });

  test.each([
    { planter: "sub", other: "." },
    { planter: ".", other: "sub" },
  ])("what is planted in $planter is not brought back by git in $other", async ({ planter, other }) => {
    await using workspace = await superproject();
    const { root } = workspace;
    await using first = tools(setting, root, 60, ["git:write", "git:run"]);
    await using second = tools(setting, root, 60, ["git:write", "git:run"]);
    const one = first.use("run_cmd", "git cherry-pick --strategy=x/a side", planter);
    while (!existsSync(join(root, planter, "started-a"))) await sleep(20);
    await sleep(200);
    const two = second.use("run_cmd", "git cherry-pick --strategy=x/b side", other);
    const seen = await Promise.all([one, two]);
    expect(existsSync(join(root, other, "started-b"))).toBe(true);
    expect(seen[0]).toContain("refused-");
    for (const dir of [".git", ".git/modules/sub"])
      for (const name of ["hooks", "remotes"])
        expect(existsSync(join(root, dir, name)), `${dir}/${name} ${seen.join("\n")}`).toBe(false);
  });
});

/** A lock is the same for every user. */
const waiting = isFull ? ofThisKernel : ofThisKernel.slice(0, 1);

describe.each(waiting)("REQ-D24 REQ-F10 turns of git in $name", (setting) => {
  test("another process that holds the turn is waited for, at most until the deadline; reading goes on", async () => {
    await using workspace = await repository();
    const { root } = workspace;
    await using patient = tools(setting, root);
    expect(await patient.use("run_cmd", "git tag first")).toContain('"exit_code":0');
    const { dev, ino } = statSync(root);
    const lock = join(USER_STATE, "write-locks", `${dev}-${ino}`);
    const holder = spawn("flock", ["-x", lock, "sh", "-c", `printf make > ${lock}; echo held; cat`]);
    await once(holder.stdout, "data");
    await using hasty = tools(setting, root, 1);
    await expect(hasty.use("run_cmd", "git tag hasty")).rejects.toMatchObject({
      code: "busy",
      message: expect.stringContaining('("make") is still running; this one waited 1 s'),
    });
    expect(await hasty.use("run_cmd", "git log -1")).toContain('"exit_code":0');
    const waiting = patient.use("run_cmd", "git tag patient");
    holder.stdin.end();
    expect(await waiting).toContain('"exit_code":0');
    expect(git(root, "tag").trim()).toBe("first\npatient");
  });

  test("programs of one line share it, and it is free again after a failure", async () => {
    await using workspace = await repository();
    await using commands = tools(setting, workspace.root, 10);
    expect(await commands.use("run_cmd", "git write-tree | git hash-object -w --stdin")).toContain(
      '"exit_code":0',
    );
    expect(await commands.use("run_cmd", "git tag -d missing")).toContain('"exit_code":1');
    const many = await Promise.all(
      Array.from({ length: 6 }, (_, at) => commands.use("run_cmd", `git tag t${at}`)),
    );
    for (const seen of many) expect(seen).toContain('"exit_code":0');
  });
});

test.each(waiting)(
  "FAIL-J5 a secret that is made while a git command waits for its turn is withheld from it in $name",
  async (setting) => {
    await using workspace = await repository();
    const { root } = workspace;
    const options = {
      allowlist: ["git", "python3"],
      powers: ["git:write"],
      denylist: ["**/.env"],
      timeoutSeconds: 60,
    };
    await using commands = commandTools(setting, root, options);
    const wait =
      "import os, time; open('work/started', 'w').close()\nwhile not os.path.exists('work/go'): time.sleep(0.02)";
    mkdirSync(join(root, "work"));
    writeFileSync(join(root, "wait.py"), wait);
    const first = commands.use("run_cmd", "python3 wait.py | git hash-object -w --stdin");
    while (!existsSync(join(root, "work/started"))) await sleep(10);
    const second = commands.use("run_cmd", "git add -A").catch(() => "");
    await sleep(1000);
    writeFileSync(join(root, ".env"), "the secret\n");
    writeFileSync(join(root, "work/go"), "");
    await Promise.all([first, second]);
    expect(git(root, "ls-files")).not.toContain(".env");
    expect(git(root, "cat-file", "--batch-all-objects", "--batch")).not.toContain("the secret");
  },
);
