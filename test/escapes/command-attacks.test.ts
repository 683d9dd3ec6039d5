import { execFile, execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, chown, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { cleanEnv, type Workspace } from "../workspace.ts";
import { ATTACK, type Attacked, attack, INTERPRETER, type Way } from "./command-attack.ts";
import { SECRET } from "./command-plant.ts";
import { casesIn, GIT, sandboxes } from "./command-stand.ts";

const repository = (workspace: Workspace, ...settings: readonly [key: string, value: string][]): void => {
  const git = (...args: string[]): Buffer => execFileSync(GIT, args, { cwd: workspace.root });
  git("init", "-q", ".");
  git("add", "file.txt");
  git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one");
  for (const [key, value] of settings) git("config", key, value);
};

/** Ways to make an allowed program run another: by its arguments, or by what lies in the workspace (FAIL-C10). */
const ALL_WAYS: readonly Way[] = [
  INTERPRETER,
  { name: "a shell", tool: "te_run", line: `sh -c '${ATTACK} & wait'` },
  { name: "a process", tool: "linux_proc_start", line: ATTACK },
  { name: "a process in a terminal", tool: "linux_proc_start with a terminal", line: `sh -c '${ATTACK}'` },
  { name: "git's own options", tool: "run_cmd", line: `git -c "alias.x=!${ATTACK}" x` },
  {
    name: "package.json and a test file",
    tool: "run_pytest",
    line: "",
    plant: async ({ write }) => {
      await write("package.json", '{"scripts":{"test":"node --test"}}');
      await write(
        "attack.test.mjs",
        `import { spawnSync } from "node:child_process";
spawnSync("/usr/bin/python3", ["attack.py"], { stdio: "inherit" });`,
      );
    },
  },
  {
    name: "a Python module that is found before the real one",
    tool: "te_run",
    line: "python3 -m unittest",
    plant: ({ write }) => write("test_attack.py", "import attack\n"),
  },
  {
    name: "a Makefile",
    tool: "te_run",
    line: "make",
    plant: ({ write }) => write("Makefile", `all:\n\t@${ATTACK}\n`),
  },
  {
    name: "git's fsmonitor",
    // A git that only reads gets no writable folder, so the attacks cannot even note what came of them.
    isHeldBefore: true,
    tool: "run_cmd",
    line: "git status",
    plant: (workspace) => repository(workspace, ["core.fsmonitor", `${ATTACK};`]),
  },
  {
    name: "git's external diff",
    isHeldBefore: true,
    tool: "te_run",
    line: "git diff --ext-diff",
    plant: async (workspace) => {
      repository(workspace, ["diff.external", `${ATTACK};`]);
      await workspace.write("file.txt", "changed");
    },
  },
  {
    name: "git's hooks folder",
    isHeldBefore: true,
    tool: "run_cmd",
    line: "git -c user.name=a -c user.email=a@b commit --allow-empty -m two",
    plant: async (workspace) => {
      await workspace.write("hooks/pre-commit", `#!/bin/sh\n${ATTACK}\n`);
      await chmod(join(workspace.root, "hooks/pre-commit"), 0o755);
      repository(workspace, ["core.hooksPath", "hooks"]);
    },
  },
  {
    name: "git's filters",
    isHeldBefore: true,
    passesPipes: true,
    tool: "linux_proc_start",
    line: "git add file.txt",
    plant: async (workspace) => {
      repository(workspace, ["filter.x.clean", `${ATTACK}; cat`]);
      await workspace.write(".git/info/attributes", "* filter=x\n");
      await workspace.write("file.txt", "changed");
    },
  },
];

const WAYS = ALL_WAYS.filter(({ line }) => line !== "make" || existsSync("/usr/bin/make"));

describe.each(sandboxes)(
  "FAIL-C3 FAIL-C10 REQ-X10 REQ-D12 in $name nothing outside is reached",
  (setting) => {
    // How a program comes to run decides nothing about what holds it.
    test.each([...new Set([INTERPRETER, ...casesIn(setting, WAYS)])])(
      "through $name ($tool)",
      async (way) => {
        const { seen, tried, succeeded, traces, config } = await attack(setting, way);
        if (way.isHeldBefore !== true) expect(tried.length, seen.slice(0, 2000)).toBeGreaterThan(45);
        const inherited = way.passesPipes === true ? ["find inherited descriptors"] : [];
        expect(succeeded.filter(([name]) => !inherited.includes(name))).toEqual([]);
        expect(traces).toEqual([]);
        expect(config).toBe("# config\n");
        expect(seen).not.toContain(SECRET);
        if (tried.length > 0) expect(seen).toContain(`"tier":"${setting.tier}"`);
      },
    );
  },
);

test("without a sandbox the same attacks succeed, so that their failure means something", async () => {
  const { tried, succeeded, traces } = await attack({ name: "plain", tier: "plain" }, INTERPRETER);
  // No descriptor is inherited in any tier, and containers often keep these from everybody.
  const seldom = [
    "find inherited descriptors",
    "send by UDP",
    "send a datagram to a Unix socket",
    "send a datagram through a pair",
    "signal through a pipe's owner",
    "read another process's memory file",
    "read another process's memory",
    "read another process's descriptors",
    "read another process's environment",
    "read through another process's root",
    "read through another process's folder",
    "trace another process",
    "take another process's descriptor",
    "write a kernel setting",
    "open the system's trigger",
    "open the kernel's log",
    "open a raw socket",
    "read a key of the session",
    "add a key",
    "set an attribute",
    "read through a hard link",
    "move a file in",
    "read a memory segment by its number",
  ];
  const failed = tried.filter((name) => !succeeded.some(([succeededName]) => succeededName === name));
  expect(failed.filter((name) => !seldom.includes(name))).toEqual([]);
  expect(traces).toHaveLength(8);
});

const NOBODY = 65534;
const SCRIPT = join(import.meta.dirname, "command-attack-main.ts");

/** Root becomes somebody else; anybody else stays who they are. The repository must be readable for everybody. */
const ORDINARY = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};

describe("FAIL-C3 REQ-X10 for a server that is not root", () => {
  test.each(sandboxes)("$name works as well and holds as well", async (setting) => {
    const home = await mkdtemp(join(tmpdir(), "llmc-home-"));
    if (ORDINARY.uid !== undefined) await chown(home, NOBODY, NOBODY);
    try {
      const { stdout } = await promisify(execFile)(process.execPath, [SCRIPT, JSON.stringify(setting)], {
        ...ORDINARY,
        cwd: "/",
        env: { ...cleanEnv(), HOME: home, TMPDIR: home, XDG_STATE_HOME: join(home, "state") },
      });
      const { seen, tried, succeeded, traces } = JSON.parse(stdout) as Attacked;
      expect(seen).toContain(`"tier":"${setting.tier}"`);
      expect(seen).not.toContain(SECRET);
      expect(tried.length).toBeGreaterThan(45);
      expect([...succeeded, ...traces]).toEqual([]);
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  });
});
