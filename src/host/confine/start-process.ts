import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { constants } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { processLimit } from "../os/process-limit.ts";
import { findSystemProgram } from "../os/system-programs.ts";
import type { Confined, ConfinedEnd, ConfinedProgram, ConfinementTier, Held } from "./contract.ts";
import { heldIn, missingHolds, refuseEverywhere, refuseUnheld } from "./holds.ts";
import { EMPTY_FILE, landlockRules, landlockSupport } from "./landlock-rules.ts";
import {
  type Launched,
  LaunchRefusal,
  type LaunchRequest,
  launchByItself,
  launchInBubblewrap,
} from "./launch.ts";
import type { ProgramPlan, ResolvedProgram } from "./node-arguments.ts";
import type { ExecutableFiles } from "./node-files.ts";
import { holdCpuShare } from "./pause-loop.ts";
import { openGroups, type ResourceGroups } from "./resource-groups.ts";
import { SANDBOX_EXEC, seatbeltProfile } from "./seatbelt.ts";
import { spawnSealed } from "./spawn-sealed.ts";

export interface ConfinementOptions {
  /** Tiers to try, best first; by default all that this system has. */
  readonly tiers?: readonly ConfinementTier[];
  /** Refuse to start unless the kernel holds files, network, processes and memory. */
  readonly isRequired?: boolean;
  /** Whether control groups are used where they can be made, which is the default. */
  readonly usesGroups?: boolean;
}

const DESCRIPTORS = 4096;
const THREADS = 64;
const GRACE_MS = 2000;

/** Two more are needed while it starts, and the hard limit of this process bounds them all. */
const descriptorLimit = (wanted = DESCRIPTORS): number => {
  const hard = /Max open files\s+\S+\s+(\d+)/.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
  return Math.min(wanted, Number(hard ?? 1024) - 2);
};

/** A program of any kind, with everything that it needs. */
export interface Executable {
  readonly wanted: Pick<ConfinedProgram, "stdio" | "env" | "limits">;
  readonly files: ExecutableFiles;
  readonly resolved: ResolvedProgram;
  /** How it is called, by whether RLIMIT_DATA holds its memory. */
  plan(boundByData: boolean): ProgramPlan;
}

interface Preparation extends Omit<Executable, "plan"> {
  readonly plan: ProgramPlan;
  readonly bound: LaunchRequest["bound"];
}

/** An IPC channel of Node's is found by these names inside. */
const channelOf = ({ stdio = [] }: Executable["wanted"]): Record<string, string> => {
  const index = stdio.indexOf("ipc");
  return index < 0 ? {} : { NODE_CHANNEL_FD: String(index), NODE_CHANNEL_SERIALIZATION_MODE: "json" };
};

const launchRequest = ({ wanted, files, plan, bound }: Preparation): LaunchRequest => ({
  bound,
  stdio: wanted.stdio ?? [],
  plan: {
    file: files.file,
    argv: plan.argv,
    env: {
      // There is no list of users inside, in which Node would look.
      HOME: "/",
      ...(files.libraryFolders.length === 0 ? {} : { LD_LIBRARY_PATH: files.libraryFolders.join(":") }),
      ...channelOf(wanted),
      ...wanted.env,
    },
    descriptors: descriptorLimit(wanted.limits.descriptors),
    threads: processLimit(wanted.limits.threads ?? THREADS),
    dataBytes: plan.dataMb === undefined ? undefined : plan.dataMb * 1024 * 1024,
  },
});

const launchPlainly = async (
  { wanted, plan, bound }: Preparation,
  [file, ...args]: readonly [string, ...string[]],
): Promise<Launched> => {
  const child = spawnSealed(file, [...args, ...plan.argv.slice(1)], {
    stdio: wanted.stdio ?? [],
    env: { ...channelOf(wanted), ...wanted.env },
    cwd: "/",
    detached: true,
  });
  await once(child, "spawn");
  // It runs already; one that has ended needs no bounds.
  await bound(child.pid ?? 0).catch(() => undefined);
  return { child, pid: child.pid ?? 0, release: () => undefined };
};

const LAUNCHERS: Readonly<Record<ConfinementTier, (preparation: Preparation) => Promise<Launched>>> = {
  bubblewrap: (preparation) => {
    const bwrap = findSystemProgram("bwrap");
    if (bwrap === undefined) throw new LaunchRefusal("bubblewrap is not installed.");
    return launchInBubblewrap(bwrap, preparation.files, preparation.resolved, launchRequest(preparation));
  },
  landlock: (preparation) => {
    const support = landlockSupport();
    if (support === undefined) throw new LaunchRefusal("This kernel has no Landlock.");
    const { plan, ...request } = launchRequest(preparation);
    const landlock = { abi: support.abi, rules: landlockRules(preparation.files, preparation.resolved) };
    const env = { OPENSSL_CONF: EMPTY_FILE, ...plan.env };
    return launchByItself(support.folder, { ...request, plan: { ...plan, env, landlock } });
  },
  seatbelt: (preparation) => {
    if (!existsSync(SANDBOX_EXEC)) throw new LaunchRefusal("There is no sandbox-exec.");
    const profile = seatbeltProfile(preparation.files.file, preparation.resolved);
    return launchPlainly(preparation, [SANDBOX_EXEC, "-p", profile, preparation.files.file]);
  },
  permission: (preparation) => launchPlainly(preparation, [preparation.files.file]),
};

const tiersOf = (platform: NodeJS.Platform): readonly ConfinementTier[] => {
  if (platform === "linux") return ["bubblewrap", "landlock", "permission"];
  return platform === "darwin" ? ["seatbelt", "permission"] : ["permission"];
};

type Exit = Omit<ConfinedEnd, "wasOverMemory">;

/** bubblewrap exits with 128 and the number of the signal that ended the program. */
const exitOf = (tier: ConfinementTier, code: number | null, signal: NodeJS.Signals | null): Exit => {
  if (tier !== "bubblewrap" || code === null || code <= 128) return { code, signal };
  const entry = Object.entries(constants.signals).find(([, number]) => number === code - 128);
  return entry === undefined ? { code, signal } : { code: null, signal: entry[0] as NodeJS.Signals };
};

const isRunning = ({ exitCode, signalCode }: ChildProcess): boolean =>
  exitCode === null && signalCode === null;

const sendSignal = (pid: number, name: NodeJS.Signals): void => {
  try {
    process.kill(pid, name);
  } catch {
    // It ended meanwhile.
  }
};

const control = (
  { child, pid }: Launched,
  tier: ConfinementTier,
  held: Held,
  groups: ResourceGroups,
  clean: () => Promise<void>,
): Confined => {
  const whenGone = async (): Promise<ConfinedEnd> => {
    if (isRunning(child)) await once(child, "exit");
    const wasOverMemory = groups.wasOverMemory();
    await clean();
    return { ...exitOf(tier, child.exitCode, child.signalCode), wasOverMemory };
  };
  const gone = whenGone();
  const kill = (): void => {
    if (isRunning(child)) sendSignal(pid, "SIGKILL");
  };
  return {
    child,
    pid,
    tier,
    held,
    gone,
    kill,
    stop: async (graceMs = GRACE_MS) => {
      if (isRunning(child)) sendSignal(pid, "SIGTERM");
      await Promise.race([gone, sleep(graceMs, undefined, { ref: false })]);
      kill();
      await gone;
    },
  };
};

const noGroups: ResourceGroups = {
  memory: undefined,
  cpu: undefined,
  threads: undefined,
  enter: async () => {},
  wasOverMemory: () => false,
  remove: async () => {},
};

const startIn = async (
  tier: ConfinementTier,
  executable: Executable,
  groups: ResourceGroups,
  isRequired: boolean,
  refusals: readonly string[],
): Promise<Confined> => {
  const { wanted, files, resolved } = executable;
  const isLaunched = tier === "bubblewrap" || tier === "landlock";
  const plan = executable.plan(isLaunched && groups.memory === undefined);
  const held = heldIn(tier, groups, plan);
  if (isRequired && missingHolds(held).length > 0) throw refuseUnheld(held, refusals);
  const launched = await LAUNCHERS[tier]({ wanted, files, resolved, plan, bound: groups.enter });
  const pauses = groups.cpu === undefined && process.platform === "linux";
  const loop = pauses ? holdCpuShare(launched.pid, wanted.limits.cpuShare) : undefined;
  launched.release();
  return control(launched, tier, held, groups, async () => {
    loop?.stop();
    await groups.remove();
  });
};

/** A tier of the kernel in which a program of this process ran. */
let proven: ConfinementTier | undefined;

/** What worked once works again: a start that fails later must not lead to a weaker tier, but to another try. */
const tiersToTry = (tiers: readonly ConfinementTier[]): readonly ConfinementTier[] =>
  proven !== undefined && tiers.includes(proven) ? [proven] : tiers;

const tryTier = async (
  tier: ConfinementTier,
  executable: Executable,
  groups: ResourceGroups,
  isRequired: boolean,
  refusals: string[],
): Promise<Confined | undefined> => {
  try {
    const confined = await startIn(tier, executable, groups, isRequired, refusals);
    if (tier !== "permission") proven = tier;
    return confined;
  } catch (thrown) {
    await groups.remove();
    if (!(thrown instanceof LaunchRefusal)) throw thrown;
    refusals.push(`${tier}: ${thrown.message}`);
    return undefined;
  }
};

/** Starts it in the first tier that works, in control groups where they can be made and entered. */
export const startProcess = async (
  executable: Executable,
  { tiers = tiersOf(process.platform), isRequired = false, usesGroups = true }: ConfinementOptions = {},
): Promise<Confined> => {
  const refusals: string[] = [];
  const { memoryMb, cpuShare, threads = THREADS } = executable.wanted.limits;
  for (const tier of tiersToTry(tiers)) {
    const groups =
      usesGroups && process.platform === "linux" ? openGroups(memoryMb, cpuShare, threads) : noGroups;
    const hasGroups = groups.memory !== undefined || groups.cpu !== undefined;
    for (const bounds of hasGroups ? [groups, noGroups] : [noGroups]) {
      const confined = await tryTier(tier, executable, bounds, isRequired, refusals);
      if (confined !== undefined) return confined;
    }
  }
  throw refuseEverywhere(refusals);
};
