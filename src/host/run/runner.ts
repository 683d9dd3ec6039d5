import { availableParallelism } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { createBoundedQueue } from "../../base/bounded-queue.ts";
import { LlmcError } from "../../base/error.ts";
import type { ReachedLimit } from "../../base/limit-notes.ts";
import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import type { CommandOutcome, CommandRunner, JudgedCommand } from "./contract.ts";
import { createLiveTrees, type LiveTrees } from "./live-trees.ts";
import type { LiveWriters } from "./live-writers.ts";
import { openBounds, prepareRun, type RunBounds, type RunResources } from "./prepare-run.ts";
import type { RunPhase } from "./scan/new-findings.ts";
import type { Quarantined } from "./scan/quarantined.ts";
import type { Tier } from "./tiers/contract.ts";
import { checkRequest, checkStarted, explainStart, refuseElsewhere } from "./tiers/start-checks.ts";
import type { CommandGroups } from "./tree/cgroup.ts";
import { ProcessTree, type TreeStdio } from "./tree/process-tree.ts";
import { exitOf, openOutputs, type TreeOutputs, waitForTree } from "./tree/run-tree.ts";

export type SandboxMode = "auto" | "require" | "off";

export interface RunnerOptions extends Partial<Pick<RunResources, "closed" | "gitFolder">> {
  /** Read at every call: it can change while the server runs. */
  readonly mode: () => SandboxMode;
  /** Tiers to try, best first; for machines whose best tier is to be passed over. */
  readonly tiers?: readonly Tier[];
  /** Treat Landlock as if the kernel were older. */
  readonly maxLandlockAbi?: number;
  /** By default, control groups if this machine lets us create them. */
  readonly groups?: CommandGroups;
  /** Told of commands that may write. */
  readonly writers?: LiveWriters;
  /** Called with whatever was found, also where no answer can say so: its call was cancelled, or the server ends. */
  readonly onQuarantined?: (quarantined: readonly Quarantined[]) => void;
}

/** A command that runs on while others are served. */
export interface StartedCommand {
  readonly tree: ProcessTree;
  readonly tier: Tier;
  /** Throws where the program never ran; to be called when its launcher has ended, with the beginning of its stderr. */
  check(errors: Buffer): void;
  /** The limit that it ran into; to be asked before `finish`. */
  limit(): ReachedLimit | undefined;
  /** While it runs: renames newly created files that would be obeyed. */
  quarantineNew(): Promise<readonly Quarantined[]>;
  /** To be called once, when every process of it is gone. */
  finish(phase?: Exclude<RunPhase, "running">): Promise<readonly Quarantined[]>;
}

export interface CommandStarter {
  /** Returns when the launcher runs; the descriptors are opened at the last moment and closed in any case. */
  start(command: JudgedCommand, openStdio: () => TreeStdio): Promise<StartedCommand>;
  /** Trees of commands that somebody's call waits for. */
  awaited(): readonly ProcessTree[];
}

/** Commands of one principal at once; with those of others well below the calls that a server takes (mcp.max_concurrent_requests). */
const MAX_RUNNING_EACH = Math.min(32, Math.max(8, 2 * availableParallelism()));

/** One slot is always left for somebody else: a command cannot be interrupted to make room. */
const QUEUE = { maxRunning: MAX_RUNNING_EACH + 1, maxRunningEach: MAX_RUNNING_EACH, maxWaiting: 32 };

const tooManyCommands = (running: number, waiting: number): LlmcError =>
  new LlmcError("busy", `${running} commands are already running and ${waiting} are waiting.`, {
    hint: "Wait for some of them to end, then try again.",
  });

/** If no sandbox worked, the tiers are probed again after this time. */
const RETRY_MS = 60_000;

const ALL_TIERS: readonly Tier[] = ["bubblewrap", "landlock", "plain"];

interface State extends RunResources {
  readonly options: RunnerOptions;
  /** The best tier that works here, and when to look again. */
  best: Promise<Tier> | undefined;
  retryAt: number;
  readonly trees: LiveTrees;
}

/** A check that failed is repeated after this time: the system may have been out of descriptors or memory for a moment. */
const CHECK_AGAIN_MS = 250;

const startIn = async (
  state: State,
  tier: Tier,
  command: JudgedCommand,
  openStdio: () => TreeStdio,
  /** Of a command that is waited for: what it shares with those that run beside it. */
  shared?: RunBounds,
): Promise<StartedCommand> => {
  const bounds = shared ?? openBounds(state, [command]);
  const closeBounds = (): void => {
    if (shared === undefined) bounds.close();
  };
  const run = await prepareRun(state, tier, command, bounds).catch((thrown: unknown) => {
    closeBounds();
    throw thrown;
  });
  let made: ProcessTree | undefined;
  let finished = (): void => {};
  const { writable } = command.profile;
  const writer = writable.length === 0 ? undefined : state.options.writers?.add(run, writable);
  let isChecked = false;
  const close = async (): Promise<void> => {
    made?.close();
    // Before its list of mounts is closed, which tells what it could write.
    if (isChecked) writer?.checked();
    else writer?.unchecked();
    try {
      await run.close();
    } finally {
      closeBounds();
      finished();
    }
  };
  const quarantine = async (phase: RunPhase): Promise<readonly Quarantined[]> => {
    const quarantined = await run.quarantine(phase);
    if (quarantined.length > 0) state.options.onQuarantined?.(quarantined);
    return quarantined;
  };
  const check = async (phase: RunPhase): Promise<readonly Quarantined[]> => {
    const again = () => sleep(CHECK_AGAIN_MS).then(() => quarantine(phase));
    const quarantined = await quarantine(phase).catch(again);
    isChecked = true;
    return quarantined;
  };
  try {
    state.trees.refuseWhenEnding();
    const tree = new ProcessTree(run.launch(), openStdio());
    made = tree;
    finished = state.trees.add(tree, shared !== undefined);
    await tree.started();
    const watch = run.watch?.(tree);
    return {
      tree,
      tier,
      check: (errors) =>
        checkStarted(tier, command.profile, { report: tree.report, wasUnready: tree.wasUnready, errors }),
      limit: () => watch?.hit() ?? run.reachedLimit(),
      quarantineNew: () => quarantine("running"),
      finish: async (phase = "long run ended") => {
        try {
          return await check(phase);
        } finally {
          watch?.stop();
          await close();
        }
      },
    };
  } catch (thrown) {
    await made?.end(0);
    // What was never started has left nothing.
    if (made === undefined) isChecked = true;
    else await check("short run ended").catch(() => {});
    await close();
    throw explainStart(thrown);
  }
};

const runIn = async (
  state: State,
  tier: Tier,
  command: JudgedCommand,
  bounds: RunBounds,
  signal: AbortSignal | undefined,
): Promise<CommandOutcome> => {
  const { request } = command;
  let streams: TreeOutputs | undefined;
  const openStdio = (): TreeStdio => {
    streams = openOutputs(request);
    return streams.stdio;
  };
  const started = await startIn(state, tier, command, openStdio, bounds);
  let quarantined: readonly Quarantined[] = [];
  let limit: ReachedLimit | undefined;
  let timedOut = false;
  try {
    const limits = { timeoutMs: request.timeoutMs, signal };
    ({ timedOut } = await waitForTree(started.tree, streams?.outputs ?? [], limits));
    limit = started.limit();
  } finally {
    quarantined = await started.finish("short run ended");
  }
  stopIfAborted(signal);
  if (!timedOut) started.check(streams?.errors() ?? Buffer.alloc(0));
  return { ...exitOf(started.tree), timedOut, limit, tier, quarantined };
};

/** One that cannot be started would leave the others waiting for it. */
const runAllIn = async (
  state: State,
  tier: Tier,
  commands: readonly JudgedCommand[],
  signal: AbortSignal | undefined,
): Promise<readonly CommandOutcome[]> => {
  const bounds = openBounds(state, commands);
  const failed = new AbortController();
  const ended = signal === undefined ? failed.signal : AbortSignal.any([signal, failed.signal]);
  let first: { readonly thrown: unknown } | undefined;
  const runs = commands.map((command) =>
    runIn(state, tier, command, bounds, ended).catch((thrown: unknown) => {
      first ??= { thrown };
      failed.abort();
      return undefined;
    }),
  );
  const outcomes = (await Promise.all(runs)).filter((outcome) => outcome !== undefined);
  bounds.close();
  if (first !== undefined) throw first.thrown;
  return outcomes;
};

/** In many containers an installed sandbox does not work, so a real run is tried. */
const works = async (state: State, tier: Tier): Promise<boolean> => {
  if (tier === "plain") return true;
  const request = {
    argv: ["/bin/sh", "-c", "exit 7"],
    cwd: "/",
    timeoutMs: 10_000,
  } as const;
  const profile = { writable: [], protectedInside: [], hidden: [], network: false };
  const outcomes = await runAllIn(state, tier, [{ request, profile }], undefined).catch(() => []);
  return outcomes[0]?.exitCode === 7;
};

const findBest = async (state: State): Promise<Tier> => {
  for (const tier of state.options.tiers ?? ALL_TIERS) if (await works(state, tier)) return tier;
  return "plain";
};

const tierInForce = async (state: State): Promise<Tier> => {
  const { mode } = state.options;
  if (process.platform !== "linux") throw refuseElsewhere();
  if (mode() === "off") return "plain";
  // A machine that was too busy or too full for a moment is asked again.
  if (state.best === undefined || performance.now() > state.retryAt) {
    state.best = findBest(state);
    state.retryAt = (await state.best) === "plain" ? performance.now() + RETRY_MS : Number.POSITIVE_INFINITY;
  }
  const found = await state.best;
  if (found === "plain" && mode() === "require")
    throw new LlmcError(
      "unavailable",
      "Commands must run in a sandbox, and this machine has none that works.",
      {
        hint: "Install bubblewrap and allow user namespaces, or use a kernel with Landlock (5.13 or later).",
      },
    );
  return found;
};

/** Runs commands in the best tier that works here; the caller has judged them before. */
export const createCommandRunner = (
  options: RunnerOptions,
): CommandRunner & CommandStarter & AsyncDisposable => {
  const queue = createBoundedQueue(() => QUEUE, tooManyCommands);
  const state: State = {
    options,
    maxLandlockAbi: options.maxLandlockAbi,
    gitFolder: options.gitFolder,
    closed: options.closed,
    store: undefined,
    groups: options.groups,
    removals: new Set(),
    best: undefined,
    retryAt: Number.POSITIVE_INFINITY,
    trees: createLiveTrees(),
  };
  return {
    tier: () => tierInForce(state),
    inSlot: (work, signal, principal) => queue.run(work, signal, principal),
    runTogether: async (commands, signal) => {
      stopIfAborted(signal);
      await Promise.all(commands.map(({ request }) => checkRequest(request)));
      const tier = await tierInForce(state);
      return runAllIn(state, tier, commands, signal);
    },
    awaited: () => state.trees.awaited(),
    start: async (command, openStdio) => {
      await checkRequest(command.request);
      const tier = await tierInForce(state);
      const forget = command.noteManaged?.();
      try {
        const started = await startIn(state, tier, command, openStdio);
        return { ...started, finish: (phase) => started.finish(phase).finally(forget) };
      } catch (thrown) {
        forget?.();
        throw thrown;
      }
    },
    [Symbol.asyncDispose]: async () => {
      await state.trees.end();
      await Promise.all(state.removals);
      if (state.store !== undefined) await (await state.store).dispose();
    },
  };
};
