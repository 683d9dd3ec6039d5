import { availableParallelism } from "node:os";
import { LlmcError } from "../../base/error.ts";
import { stopIfAborted } from "../stop-if-aborted.ts";
import { bubblewrapLaunch, sharesTemp } from "./bubblewrap.ts";
import type {
  CommandGround,
  CommandOutcome,
  CommandRequest,
  CommandRunner,
  SetAside,
  Tier,
} from "./contract.ts";
import { landlockLaunch } from "./landlock.ts";
import { createMark } from "./limits.ts";
import { plainLaunch } from "./plain.ts";
import { createPrivatePlaces, type PrivatePlace } from "./private-place.ts";
import { type Launch, ProcessTree, type TreeStdio } from "./process-tree.ts";
import { isInside, watchMissing } from "./protected-names.ts";
import { runTree } from "./run-tree.ts";
import { sealDescriptors } from "./seal-descriptors.ts";
import { checkRequest, checkStarted, explainStart } from "./start-checks.ts";
import { createTurns } from "./turns.ts";

export type SandboxMode = "auto" | "require" | "off";

export interface RunnerOptions {
  /** Read at every call: it can change while the server runs. */
  readonly mode: () => SandboxMode;
  /** Tiers to try, best first; for machines whose best tier is to be passed over. */
  readonly tiers?: readonly Tier[];
  /** Treat Landlock as if the kernel were older. */
  readonly maxLandlockAbi?: number;
}

/** A command that runs on while others are served. */
export interface StartedCommand {
  readonly tree: ProcessTree;
  readonly tier: Tier;
  /** To be called once, when every process of it is gone. */
  finish(): Promise<readonly SetAside[]>;
}

export interface CommandStarter {
  /** Returns when the launcher runs; the descriptors are opened at the last moment and closed in any case. */
  start(request: CommandRequest, ground: CommandGround, openStdio: () => TreeStdio): Promise<StartedCommand>;
}

/** Together well below the calls that a server takes at once (mcp.max_concurrent_requests). */
const MAX_RUNNING = Math.min(32, Math.max(8, 2 * availableParallelism()));
const MAX_WAITING = 32;

const ALL_TIERS: readonly Tier[] = ["bubblewrap", "landlock", "plain"];

/** Runs commands in the best tier that works here; the caller has judged them before. */
export const createCommandRunner = (
  options: RunnerOptions,
): CommandRunner & CommandStarter & AsyncDisposable => {
  const order = options.tiers ?? ALL_TIERS;
  const takeTurn = createTurns({ maxRunning: MAX_RUNNING, maxWaiting: MAX_WAITING });
  let places: ReturnType<typeof createPrivatePlaces> | undefined;
  let best: Promise<Tier> | undefined;

  const launchFor = (
    tier: Tier,
    request: CommandRequest,
    ground: CommandGround,
    place: PrivatePlace,
  ): Launch => {
    const mark = createMark();
    if (tier === "bubblewrap") return bubblewrapLaunch(request, ground, place, mark);
    if (tier === "landlock") return landlockLaunch(request, ground, place, mark, options.maxLandlockAbi);
    return plainLaunch(request, place, mark);
  };

  const prepare = async (tier: Tier, request: CommandRequest, wanted: CommandGround) => {
    if (places === undefined) sealDescriptors();
    places ??= createPrivatePlaces();
    const shared = await places;
    const isExposed = wanted.writable.some((root) => isInside(shared.base, root));
    const ground = isExposed ? { ...wanted, hidden: [...wanted.hidden, shared.base] } : wanted;
    const needsFolders = tier !== "bubblewrap" || sharesTemp(ground);
    const place = await shared.open(needsFolders);
    const { setAside } = await watchMissing(ground);
    const launch = (): Launch => launchFor(tier, request, ground, place);
    return { launch, setAside, close: async () => (needsFolders ? shared.close(place) : undefined) };
  };

  const startIn = async (
    tier: Tier,
    request: CommandRequest,
    ground: CommandGround,
    openStdio: () => TreeStdio,
  ): Promise<StartedCommand> => {
    const ready = await prepare(tier, request, ground);
    try {
      const tree = new ProcessTree(ready.launch(), openStdio());
      await tree.started();
      const finish = async () => {
        try {
          return await ready.setAside();
        } finally {
          tree.close();
          await ready.close();
        }
      };
      return { tree, tier, finish };
    } catch (thrown) {
      await ready.close();
      throw explainStart(thrown);
    }
  };

  const runIn = async (
    tier: Tier,
    request: CommandRequest,
    ground: CommandGround,
    signal: AbortSignal | undefined,
  ): Promise<CommandOutcome> => {
    const ready = await prepare(tier, request, ground);
    try {
      const { timeoutMs, maxOutputBytes, onOutput } = request;
      const outcome = await runTree(ready.launch(), { timeoutMs, maxOutputBytes, signal, onOutput }).catch(
        (thrown: unknown) => {
          throw explainStart(thrown);
        },
      );
      const setAside = await ready.setAside();
      stopIfAborted(signal);
      if (!outcome.timedOut) checkStarted(tier, outcome.report, outcome.stderr);
      const { report: _, ...told } = outcome;
      return { ...told, tier, setAside };
    } finally {
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
    const ground = { writable: [], readOnly: [], hidden: [], network: false };
    const outcome = await runIn(tier, request, ground, undefined).catch(() => undefined);
    return outcome?.exitCode === 7;
  };

  const findBest = async (): Promise<Tier> => {
    for (const tier of order) if (await works(tier)) return tier;
    return "plain";
  };

  const tier = async (): Promise<Tier> => {
    if (options.mode() === "off") return "plain";
    best ??= findBest();
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
    run: async (request, ground, signal) => {
      stopIfAborted(signal);
      await checkRequest(request);
      const found = await tier();
      return takeTurn(() => runIn(found, request, ground, signal), signal);
    },
    start: async (request, ground, openStdio) => {
      await checkRequest(request);
      return startIn(await tier(), request, ground, openStdio);
    },
    [Symbol.asyncDispose]: async () => {
      if (places !== undefined) await (await places).dispose();
    },
  };
};
