import { readdirSync, readFileSync, realpathSync } from "node:fs";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import type { CommandOutcome, CommandRunner } from "../../src/host/run/contract.ts";
import { createCommandRunner } from "../../src/host/run/runner.ts";
import type { CommandRequest, SandboxProfile, Tier } from "../../src/host/run/tiers/contract.ts";
import type { CommandGroups } from "../../src/host/run/tree/cgroup.ts";
import { isFull, isLong, someOf } from "../rounds.ts";
import { createWorkspace, type Workspace } from "../workspace.ts";

/** One way to hold commands, forced, as if the machine had no better one. */
export interface Setting {
  readonly name: string;
  readonly tier: Tier;
  readonly maxLandlockAbi?: number;
}

const SETTINGS: readonly Setting[] = [
  { name: "bubblewrap", tier: "bubblewrap" },
  { name: "landlock", tier: "landlock" },
  { name: "landlock of an old kernel", tier: "landlock", maxLandlockAbi: 1 },
  { name: "plain", tier: "plain" },
];

type Runner = ReturnType<typeof createCommandRunner>;

const runners: { setting: string; groups: CommandGroups | undefined; runner: Runner }[] = [];

/**
 * One runner per setting for all tests of a file, as a server has one for its whole life: to find out whether its tier
 * works costs more than most commands. A test does not dispose of it.
 */
export const runnerOf = ({ name, tier, maxLandlockAbi }: Setting, groups?: CommandGroups): Runner => {
  const known = runners.find((one) => one.setting === name && one.groups === groups);
  if (known !== undefined) return known.runner;
  const runner = createCommandRunner({
    mode: () => "auto",
    tiers: [tier],
    ...(maxLandlockAbi === undefined ? {} : { maxLandlockAbi }),
    ...(groups === undefined ? {} : { groups }),
  });
  runners.push({ setting: name, groups, runner });
  return runner;
};

// Other programs than the test runner use this file, too; what they leave lies in a temporary folder of their own.
if (process.env["VITEST"] !== undefined)
  afterAll(async () => {
    await Promise.all(runners.splice(0).map(({ runner }) => runner[Symbol.asyncDispose]()));
  });

const works = async (setting: Setting): Promise<boolean> => (await runnerOf(setting).tier()) === setting.tier;

/** Those that this machine has. */
export const settings: readonly Setting[] = (
  await Promise.all(SETTINGS.map(async (setting) => ({ setting, has: await works(setting) })))
)
  .filter(({ has }) => has)
  .map(({ setting }) => setting);

export const sandboxes = settings.filter(({ tier }) => tier !== "plain");

/** An old kernel differs in what the filter of Landlock does: rules about git, limits and lines do not depend on it. */
export const ofThisKernel = settings.filter(({ maxLandlockAbi }) => maxLandlockAbi === undefined || isLong);

/**
 * What llmc judges before it starts a command hardly depends on the tier and the user. The strongest tier has all cases;
 * the others, and every tier as an ordinary user, have some of them, and all in the long form.
 */
export const casesIn = <Case>(setting: Setting, cases: readonly Case[]): readonly Case[] => {
  const index = settings.indexOf(setting);
  if (isLong || (index === 0 && isFull)) return cases;
  return someOf(cases, index);
};

export interface RunOutput extends CommandOutcome {
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  /** Both streams. */
  readonly text: string;
  readonly durationMs: number;
}

/** A command may flood us. */
const MAX_KEPT_BYTES = 100_000;

/** Runs one command by itself and keeps the beginning of its output. */
export const runOne = async (
  runner: Pick<CommandRunner, "runTogether">,
  request: CommandRequest,
  profile: SandboxProfile,
  signal?: AbortSignal,
): Promise<RunOutput> => {
  const kept = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
  const onOutput: CommandRequest["onOutput"] = (stream, chunk) => {
    const room = MAX_KEPT_BYTES - kept[stream].length;
    if (room > 0) kept[stream] = Buffer.concat([kept[stream], chunk.subarray(0, room)]);
  };
  const startedAt = performance.now();
  const [outcome] = await runner.runTogether([{ request: { onOutput, ...request }, profile }], signal);
  if (outcome === undefined) throw new Error("no outcome");
  const durationMs = performance.now() - startedAt;
  return { ...outcome, ...kept, text: `${kept.stdout}${kept.stderr}`, durationMs };
};

export interface Stand extends AsyncDisposable {
  readonly workspace: Workspace;
  readonly runner: CommandRunner;
  readonly profile: SandboxProfile;
  /** A folder that no command may reach. */
  readonly outside: string;
  run(
    argv: readonly [string, ...string[]],
    request?: Partial<CommandRequest>,
    signal?: AbortSignal,
  ): Promise<RunOutput>;
  sh(script: string, request?: Partial<CommandRequest>): Promise<RunOutput>;
}

export const createStand = async (
  setting: Setting,
  files: Readonly<Record<string, string>> = {},
  more: Partial<SandboxProfile> = {},
  runner: CommandRunner = runnerOf(setting),
): Promise<Stand> => {
  const workspace = await createWorkspace({
    ".llmc/state": "state-secret",
    "llmc.toml": "# config\n",
    ...files,
  });
  const outside = await realpath(await mkdtemp(join(tmpdir(), "llmc-outside-")));
  const inside = (name: string): string => join(workspace.root, name);
  const profile: SandboxProfile = {
    writable: [workspace.root],
    protectedInside: [inside("llmc.toml"), inside("mods/policy")],
    hidden: [inside(".llmc")],
    network: false,
    ...more,
  };
  const run: Stand["run"] = (argv, request = {}, signal) =>
    runOne(runner, { argv, cwd: workspace.root, timeoutMs: 20_000, ...request }, profile, signal);
  return {
    workspace,
    runner,
    profile,
    outside,
    run,
    sh: (script, request) => run(["/bin/sh", "-c", script], request),
    [Symbol.asyncDispose]: async () => {
      await workspace.remove();
      await rm(outside, { recursive: true, force: true });
    },
  };
};

/** The real file, as the gate hands it on. */
export const PYTHON = realpathSync("/usr/bin/python3");
export const GIT = realpathSync("/usr/bin/git");

/** Living processes whose command line holds the text. */
export const processesWith = (text: string): readonly number[] =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((name) => {
      try {
        return readFileSync(`/proc/${name}/cmdline`, "latin1").includes(text);
      } catch {
        return false;
      }
    })
    .map(Number);
