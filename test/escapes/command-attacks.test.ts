import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createWorkspace, type Workspace } from "../workspace.ts";
import { plantAround, SECRET } from "./command-plant.ts";
import { GIT, type Setting, sandboxes } from "./command-stand.ts";
import { commandTools, type ToolName } from "./command-tools.ts";

const ATTACKER = await readFile(join(import.meta.dirname, "command-attacks.py"), "utf8");
const ATTACK = "python3 attack.py";

const POWERS = ["python3", "sh", "git", "node", "make"].flatMap((program) =>
  ["run", "write", "read", "network", "config"].map((power) => `${program}:${power}`),
);

interface Way {
  readonly name: string;
  readonly tool: ToolName;
  readonly line: string;
  /** What a tool wrote before, or a stranger's repository brought along. */
  readonly plant?: (workspace: Workspace) => Promise<void> | void;
}

const repository = (workspace: Workspace, ...settings: readonly [key: string, value: string][]): void => {
  const git = (...args: string[]): Buffer => execFileSync(GIT, args, { cwd: workspace.root });
  git("init", "-q", ".");
  git("add", "file.txt");
  git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one");
  for (const [key, value] of settings) git("config", key, value);
};

/** Ways to make an allowed program run another: by its arguments, or by what lies in the workspace (FAIL-C10). */
const WAYS: readonly Way[] = [
  { name: "an interpreter", tool: "run_cmd", line: ATTACK },
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
    tool: "run_cmd",
    line: "git status",
    plant: (workspace) => repository(workspace, ["core.fsmonitor", `${ATTACK};`]),
  },
  {
    name: "git's external diff",
    tool: "te_run",
    line: "git diff --ext-diff",
    plant: async (workspace) => {
      repository(workspace, ["diff.external", `${ATTACK};`]);
      await workspace.write("file.txt", "changed");
    },
  },
  {
    name: "git's hooks folder",
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
    tool: "linux_proc_start",
    line: "git add file.txt",
    plant: async (workspace) => {
      repository(workspace, ["filter.x.clean", `${ATTACK}; cat`]);
      await workspace.write(".git/info/attributes", "* filter=x\n");
      await workspace.write("file.txt", "changed");
    },
  },
].filter(({ line }) => line !== "make" || existsSync("/usr/bin/make")) as readonly Way[];

const attack = async (setting: Setting, { tool, line, plant }: Way) => {
  await using around = await plantAround();
  await using workspace = await createWorkspace({
    "attack.py": ATTACKER,
    "attack.json": JSON.stringify(around.plan),
    "out/result.json": "{}",
    ".llmc/planted": SECRET,
    "llmc.toml": "# config\n",
    "file.txt": "text\n",
    "sub/.env": SECRET,
  });
  await plant?.(workspace);
  await using tools = commandTools(setting, workspace.root, {
    allowlist: ["python3", "sh", "git", "make", process.execPath],
    powers: POWERS,
    denylist: ["**/.env"],
  });
  const seen = await tools.use(tool, line);
  const results = JSON.parse(await workspace.read("out/result.json")) as Readonly<Record<string, string>>;
  return {
    seen,
    tried: Object.keys(results),
    succeeded: Object.entries(results).filter(([, result]) => result !== "refused"),
    traces: await around.traces(),
    config: await workspace.read("llmc.toml"),
  };
};

describe.each(sandboxes)(
  "FAIL-C3 FAIL-C10 REQ-X10 REQ-D12 in $name nothing outside is reached",
  (setting) => {
    test.each(WAYS)("through $name ($tool)", async (way) => {
      const { seen, tried, succeeded, traces, config } = await attack(setting, way);
      expect(tried.length, seen.slice(0, 2000)).toBeGreaterThan(45);
      expect(succeeded).toEqual([]);
      expect(traces).toEqual([]);
      expect(config).toBe("# config\n");
      expect(seen).not.toContain(SECRET);
      expect(seen).toContain(`"tier":"${setting.tier}"`);
    });
  },
);

test("without a sandbox the same attacks succeed, so that their failure means something", async () => {
  const [way] = WAYS;
  if (way === undefined) throw new Error("no way");
  const { tried, succeeded, traces } = await attack({ name: "plain", tier: "plain" }, way);
  // No descriptor is inherited in any tier, and containers often keep these from everybody.
  const seldom = [
    "find inherited descriptors",
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
