import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { LlmcError } from "../../base/error.ts";
import { findSystemProgram } from "../os/system-programs.ts";
import type { Confined, ConfinedProgram, ConfinementTier, Held } from "./contract.ts";
import { type Launched, LaunchRefusal, launchInBubblewrap } from "./launch.ts";
import { type NodePlan, nodePlan, resolveProgram } from "./node-arguments.ts";
import { nodeFiles } from "./node-files.ts";
import { openGroups, type ResourceGroups } from "./resource-groups.ts";

const DESCRIPTORS = 4096;
const GRACE_MS = 2000;

/** Two more are needed while it starts, and the hard limit of this process bounds them all. */
const descriptorLimit = (wanted = DESCRIPTORS): number => {
  const hard = /Max open files\s+\S+\s+(\d+)/.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
  return Math.min(wanted, Number(hard ?? 1024) - 2);
};

interface Attempt {
  readonly launched: Launched;
  readonly tier: ConfinementTier;
  readonly held: Held;
}

const holdsOf = (plan: NodePlan, groups: ResourceGroups): Pick<Held, "memory" | "cpu"> => ({
  memory:
    groups.memory !== undefined
      ? { byKernel: true, mechanism: `control group v${groups.memory}` }
      : {
          byKernel: plan.isExact,
          mechanism: plan.isExact
            ? `RLIMIT_DATA of ${plan.dataMb} MiB, Node without its compiler`
            : `RLIMIT_DATA of ${plan.dataMb} MiB: TypeScript sources need Node's compiler, which reserves 512 of them`,
        },
  cpu:
    groups.cpu !== undefined
      ? { byKernel: true, mechanism: `control group v${groups.cpu}` }
      : { byKernel: false, mechanism: "not held" },
});

const inBubblewrap = async (wanted: ConfinedProgram, groups: ResourceGroups): Promise<Attempt> => {
  const bwrap = findSystemProgram("bwrap");
  if (bwrap === undefined) throw new LaunchRefusal("bubblewrap is not installed.");
  const files = nodeFiles();
  const resolved = resolveProgram(wanted);
  const plan = nodePlan(files.node, wanted, resolved, groups.memory === undefined);
  const launched = await launchInBubblewrap(bwrap, files, resolved, {
    stdio: wanted.stdio ?? [],
    groups: groups.entrances,
    plan: {
      file: files.node,
      argv: plan.argv,
      env: { LD_LIBRARY_PATH: files.libraryFolders.join(":"), ...wanted.env },
      connects: resolved.sockets.length > 0,
      descriptors: descriptorLimit(wanted.limits.descriptors),
      dataBytes: plan.dataMb === undefined ? undefined : plan.dataMb * 1024 * 1024,
    },
  });
  const namespaces = { byKernel: true, mechanism: "namespaces (bubblewrap) and a seccomp filter" };
  return {
    launched,
    tier: "bubblewrap",
    held: { files: namespaces, network: namespaces, processes: namespaces, ...holdsOf(plan, groups) },
  };
};

type Exit = Awaited<Confined["gone"]>;

/** bubblewrap exits with 128 and the number of the signal that ended the program. */
const exitOf = (tier: ConfinementTier, code: number | null, signal: NodeJS.Signals | null): Exit => {
  if (tier !== "bubblewrap" || code === null || code <= 128) return { code, signal };
  const entry = Object.entries(constants.signals).find(([, number]) => number === code - 128);
  return entry === undefined ? { code, signal } : { code: null, signal: entry[0] as NodeJS.Signals };
};

const whenGone = async (
  child: ChildProcess,
  tier: ConfinementTier,
  clean: () => Promise<void>,
): Promise<Exit> => {
  const [code, signal] =
    child.exitCode === null && child.signalCode === null
      ? ((await once(child, "exit")) as [number | null, NodeJS.Signals | null])
      : [child.exitCode, child.signalCode];
  await clean();
  return exitOf(tier, code, signal);
};

const signal = (pid: number, name: NodeJS.Signals): void => {
  try {
    process.kill(pid, name);
  } catch {
    // It ended meanwhile.
  }
};

const control = ({ launched: { child, pid }, tier, held }: Attempt, clean: () => Promise<void>): Confined => {
  const gone = whenGone(child, tier, clean);
  const isRunning = (): boolean => child.exitCode === null && child.signalCode === null;
  const kill = (): void => {
    if (isRunning()) signal(pid, "SIGKILL");
  };
  return {
    child,
    pid,
    tier,
    held,
    gone,
    kill,
    stop: async (graceMs = GRACE_MS) => {
      if (isRunning()) signal(pid, "SIGTERM");
      await Promise.race([gone, sleep(graceMs, undefined, { ref: false })]);
      kill();
      await gone;
    },
  };
};

/** Starts a program of ours in the best confinement that this machine has. */
export const startConfined = async (wanted: ConfinedProgram): Promise<Confined> => {
  const groups = openGroups(wanted.limits.memoryMb, wanted.limits.cpuShare);
  try {
    return control(await inBubblewrap(wanted, groups), groups.remove);
  } catch (thrown) {
    await groups.remove();
    if (!(thrown instanceof LaunchRefusal)) throw thrown;
    throw new LlmcError("unavailable", "A program of the server could not be confined.", {
      hint: "Install bubblewrap, or run `llmc doctor --sandbox` to see what this machine can hold.",
      cause: thrown,
    });
  }
};
