import { randomBytes } from "node:crypto";
import { availableParallelism } from "node:os";
import { createBoundedQueue } from "../../base/bounded-queue.ts";
import { LlmcError } from "../../base/error.ts";
import type { ReachedLimit } from "../../base/limit-notes.ts";
import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import { isInside } from "../../policy/paths.ts";
import { deathSignalPrefix } from "../os/child-limits.ts";
import type { CommandOutcome, CommandRunner } from "./contract.ts";
import { watchMissing } from "./scan/protected-names.ts";
import { bubblewrapLaunch, sharesTemp } from "./tiers/bubblewrap.ts";
import type { CommandRequest, SandboxProfile, SetAside, Tier } from "./tiers/contract.ts";
import { landlockLaunch } from "./tiers/landlock.ts";
import { plainLaunch } from "./tiers/plain.ts";
import { createSandboxFileStore, type SandboxFiles } from "./tiers/sandbox-files.ts";
import { checkRequest, checkStarted, explainStart } from "./tiers/start-checks.ts";
import { type CommandGroups, createCommandGroups, entering } from "./tree/cgroup.ts";
import { createMark } from "./tree/limits.ts";
import { type Launch, ProcessTree, type TreeStdio } from "./tree/process-tree.ts";
import { runTree } from "./tree/run-tree.ts";
import { sealDescriptors } from "./tree/seal-descriptors.ts";
import { type UsageWatch, watchUsage } from "./tree/usage-watch.ts";

export type SandboxMode = "auto" | "require" | "off";

export interface RunnerOptions {
  /** Read at every call: it can change while the server runs. */
  readonly mode: () => SandboxMode;
  /** Tiers to try, best first; for machines whose best tier is to be passed over. */
  readonly tiers?: readonly Tier[];
  /** Treat Landlock as if the kernel were older. */
  readonly maxLandlockAbi?: number;
  /** Left out: control groups where this machine lets us make them. */
  readonly groups?: CommandGroups;
}

/** A command that runs on while others are served. */
export interface StartedCommand {
  readonly tree: ProcessTree;
  readonly tier: Tier;
  /** Throws where the program never ran; to be called when its launcher has ended, with what it said. */
  check(said: Buffer): void;
  /** The limit that it ran into; to be asked before `finish`. */
  limit(): ReachedLimit | undefined;
  /** While it runs: what came into being and would be obeyed. */
  inspect(): Promise<readonly SetAside[]>;
  /** To be called once, when every process of it is gone. */
  finish(): Promise<readonly SetAside[]>;
}

export interface CommandStarter {
  /** Returns when the launcher runs; the descriptors are opened at the last moment and closed in any case. */
  start(
    request: CommandRequest,
    profile: SandboxProfile,
    openStdio: () => TreeStdio,
  ): Promise<StartedCommand>;
  /** Trees of commands that somebody's call waits for. */
  awaited(): readonly ProcessTree[];
}

/** Together well below the calls that a server takes at once (mcp.max_concurrent_requests). */
const QUEUE = { maxRunning: Math.min(32, Math.max(8, 2 * availableParallelism())), maxWaiting: 32 };

const tooManyCommands = (running: number, waiting: number): LlmcError =>
  new LlmcError("busy", `${running} commands are running and ${waiting} wait already.`, {
    hint: "Wait for some of them to end, then try again.",
  });

/** After this long a machine on which no sandbox worked is tried again. */
const RETRY_MS = 60_000;

const ALL_TIERS: readonly Tier[] = ["bubblewrap", "landlock", "plain"];

/** Runs commands in the best tier that works here; the caller has judged them before. */
export const createCommandRunner = (
  options: RunnerOptions,
): CommandRunner & CommandStarter & AsyncDisposable => {
  const order = options.tiers ?? ALL_TIERS;
  const queue = createBoundedQueue(() => QUEUE, tooManyCommands);
  let places: ReturnType<typeof createSandboxFileStore> | undefined;
  let best: Promise<Tier> | undefined;
  let retryAt = Number.POSITIVE_INFINITY;
  let groups = options.groups;
  const removals = new Set<Promise<void>>();
  const awaited = new Set<ProcessTree>();

  const launchFor = (
    tier: Tier,
    request: CommandRequest,
    profile: SandboxProfile,
    place: SandboxFiles,
  ): Launch => {
    const mark = createMark();
    if (tier === "bubblewrap") return bubblewrapLaunch(request, profile, place, mark);
    if (tier === "landlock") return landlockLaunch(request, profile, place, mark, options.maxLandlockAbi);
    return plainLaunch(request, profile, place, mark);
  };

  const prepare = async (tier: Tier, request: CommandRequest, wanted: SandboxProfile) => {
    if (places === undefined) sealDescriptors();
    places ??= createSandboxFileStore().catch((thrown: unknown) => {
      places = undefined;
      throw thrown;
    });
    const shared = await places;
    const isExposed = [...wanted.writable, ...(wanted.readable ?? [])].some((root) =>
      isInside(shared.base, root),
    );
    groups ??= createCommandGroups();
    const { limits } = wanted;
    // Entering a group takes the kernel some 6 ms: programs that only read are bounded by limits and watched.
    const isGrouped = limits !== undefined && wanted.writable.length > 0;
    const group = isGrouped ? groups.open(randomBytes(8).toString("hex"), limits) : undefined;
    const isWatched = limits !== undefined && group === undefined;
    const profile: SandboxProfile = {
      ...wanted,
      ...(isExposed ? { hidden: [...wanted.hidden, shared.base] } : {}),
      ...(isWatched ? { limits: { ...limits, dataBytes: limits.memoryBytes } } : {}),
    };
    const needsFolders = tier !== "bubblewrap" || sharesTemp(profile);
    const [place, prefix, missing] = await Promise.all([
      shared.open(needsFolders),
      deathSignalPrefix(),
      watchMissing(profile),
    ]).catch(async (thrown: unknown) => {
      await group?.remove();
      throw thrown;
    });
    const setAside = async (when?: "after a long run") => {
      const [made, found] = await Promise.allSettled([missing.setAside(), profile.inspect?.(when) ?? []]);
      if (made.status === "rejected") throw made.reason;
      if (found.status === "rejected") throw found.reason;
      return [...made.value, ...found.value];
    };
    const launch = (): Launch => {
      const bare = launchFor(tier, request, profile, place);
      // The other tiers have launchers that see to it themselves.
      const [wrapper, ...first] = tier === "plain" ? prefix : [];
      const made =
        wrapper === undefined ? bare : { ...bare, file: wrapper, args: [...first, bare.file, ...bare.args] };
      return group === undefined ? made : { ...made, ...entering(group, made) };
    };
    const watch = isWatched ? (tree: ProcessTree): UsageWatch => watchUsage(tree, limits) : undefined;
    const close = async (): Promise<void> => {
      // The kernel takes some milliseconds to notice that a group is empty: nobody waits for that but the end.
      if (group !== undefined) {
        const removal = group.remove().finally(() => removals.delete(removal));
        removals.add(removal);
      }
      if (needsFolders) await shared.close(place);
    };
    return { launch, setAside, watch, hit: () => group?.hit(), close };
  };

  const startIn = async (
    tier: Tier,
    request: CommandRequest,
    profile: SandboxProfile,
    openStdio: () => TreeStdio,
  ): Promise<StartedCommand> => {
    const ready = await prepare(tier, request, profile);
    let made: ProcessTree | undefined;
    try {
      const tree = new ProcessTree(ready.launch(), openStdio());
      made = tree;
      await tree.started();
      const watch = ready.watch?.(tree);
      const finish = async () => {
        try {
          return await ready.setAside("after a long run");
        } finally {
          watch?.stop();
          tree.close();
          await ready.close();
        }
      };
      const inspect = async () => (await profile.inspect?.("running")) ?? [];
      const check = (errors: Buffer): void =>
        checkStarted(tier, profile, { report: tree.report, wasUnready: tree.wasUnready, errors });
      const limit = (): ReachedLimit | undefined => watch?.hit() ?? ready.hit();
      return { tree, tier, check, limit, inspect, finish };
    } catch (thrown) {
      await made?.end(0);
      made?.close();
      await ready.close();
      throw explainStart(thrown);
    }
  };

  const runIn = async (
    tier: Tier,
    request: CommandRequest,
    profile: SandboxProfile,
    signal: AbortSignal | undefined,
  ): Promise<CommandOutcome> => {
    const ready = await prepare(tier, request, profile);
    let own: ProcessTree | undefined;
    try {
      const { timeoutMs, maxOutputBytes, onOutput } = request;
      const outcome = await runTree(ready.launch(), {
        timeoutMs,
        maxOutputBytes,
        signal,
        onOutput,
        watch: ready.watch,
        onTree: (tree) => {
          own = tree;
          awaited.add(tree);
        },
      }).catch((thrown: unknown) => {
        throw explainStart(thrown);
      });
      const setAside = await ready.setAside();
      stopIfAborted(signal);
      const { report, wasUnready, ...told } = outcome;
      if (!outcome.timedOut) checkStarted(tier, profile, { report, wasUnready, errors: outcome.stderr });
      return { ...told, limit: told.limit ?? ready.hit(), tier, setAside };
    } finally {
      if (own !== undefined) awaited.delete(own);
      await ready.close();
    }
  };

  /** Installed is not enough in many containers: only a real run tells. */
  const works = async (tier: Tier): Promise<boolean> => {
    if (tier === "plain") return true;
    const request = {
      argv: ["/bin/sh", "-c", "exit 7"],
      cwd: "/",
      timeoutMs: 10_000,
      maxOutputBytes: 4096,
    } as const;
    const profile = { writable: [], readOnly: [], hidden: [], network: false };
    const outcome = await runIn(tier, request, profile, undefined).catch(() => undefined);
    return outcome?.exitCode === 7;
  };

  const findBest = async (): Promise<Tier> => {
    for (const tier of order) if (await works(tier)) return tier;
    return "plain";
  };

  const tier = async (): Promise<Tier> => {
    if (options.mode() === "off") return "plain";
    // A machine that was too busy or too full for a moment is asked again.
    if (best === undefined || performance.now() > retryAt) {
      best = findBest();
      retryAt = (await best) === "plain" ? performance.now() + RETRY_MS : Number.POSITIVE_INFINITY;
    }
    const found = await best;
    if (found === "plain" && options.mode() === "require")
      throw new LlmcError(
        "unavailable",
        "Commands must run in a sandbox, and this machine has none that works.",
        {
          hint: "Install bubblewrap and allow user namespaces, or use a kernel with Landlock (5.13 or later).",
        },
      );
    return found;
  };

  return {
    tier,
    run: async (request, profile, signal) => {
      stopIfAborted(signal);
      await checkRequest(request);
      const found = await tier();
      return queue.run(() => runIn(found, request, profile, signal), signal);
    },
    awaited: () => [...awaited],
    start: async (request, profile, openStdio) => {
      await checkRequest(request);
      return startIn(await tier(), request, profile, openStdio);
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(removals);
      if (places !== undefined) await (await places).dispose();
    },
  };
};
