import { LlmcError } from "../base/error.ts";
import type { ChildExit } from "./child.ts";
import { createClientLines } from "./client-lines.ts";
import type { FrontChild, HowEnded } from "./front-process.ts";
import { Fronts } from "./fronts.ts";

interface HttpFrontsParts {
  /** Starts the program; `front` counts them. */
  readonly start: (front: number) => Promise<FrontChild>;
  /** What a front learns when it starts, in JSON. */
  readonly hello: (front: number) => string;
  /** What it has to know besides, and may change at any time, in JSON. */
  readonly settings: () => string;
  /** To be connected to. */
  readonly onStarted: (child: FrontChild) => void;
  /** Whether a front has grown so much that another should take its place. */
  readonly hasGrown: (pid: number) => boolean;
  /** How many connections of clients the newest front has. */
  readonly onConnections: (count: number) => void;
  readonly log: (text: string) => void;
}

const GROWTH_CHECK_MS = 10_000;
/** Fronts that may end by themselves before one was well: then they cannot run here. */
const MAX_NEVER_WELL = 3;
/** How long a front whose place another has taken may go on with what it has: streams may stay open for ever. */
const MAX_REPLACED_MS = 30_000;
/** How long it may take to end when the server is stopped, all work having ended. */
const MAX_STOP_MS = 2500;
/** This process is the core, and there is one. */
const GENERATION = 1;

const describeExit = ({ code, signal }: ChildExit): string =>
  signal === null ? `exit code ${code}` : String(signal);

/**
 * The fronts of an HTTP server, kept by the core itself: if the core ends, so do its sessions, and whoever started it starts
 * it again. There are no lines to hand over here, because connections end with the front that has them.
 */
export const superviseHttpFronts = (parts: HttpFrontsParts) => {
  const ready = Promise.withResolvers<undefined>();
  ready.promise.catch(() => {});
  let neverWell: number | undefined = 0;
  const log = (exit: ChildExit, { isRetired, isHealthy, fits, wasActive }: HowEnded): void => {
    if (isHealthy) neverWell = undefined;
    else if (neverWell !== undefined && exit.signal === null) neverWell++;
    if (neverWell === MAX_NEVER_WELL)
      ready.reject(
        new LlmcError(
          "unavailable",
          `The process that parses input cannot run here (${describeExit(exit)}).`,
          {
            hint: "Its last words are above. mcp.subprocess = false runs everything in one process.",
          },
        ),
      );
    if (isRetired) parts.log("the front was replaced");
    else if (fits === false)
      parts.log("a front was discarded: it and the core speak other versions of the link");
    else if (wasActive) parts.log(`the front ended (${describeExit(exit)}) and is started again`);
    else parts.log(`a new front ended (${describeExit(exit)}) before it took over`);
  };
  const fronts = new Fronts({
    lines: createClientLines(),
    start: parts.start,
    hello: parts.hello,
    snapshot: () => Buffer.from(parts.settings()),
    core: () => ({ isReady: true, generation: GENERATION }),
    endMs: { replaced: MAX_REPLACED_MS, stopped: MAX_STOP_MS },
    onMessage: () => {},
    onSettled: () => {},
    onSeen: (text) => parts.onConnections(Number(text) || 0),
    onWell: () => ready.resolve(undefined),
    onFailedStart: (thrown) =>
      parts.log(`a front could not be started (${thrown instanceof Error ? thrown.message : "unknown"})`),
    onStarted: parts.onStarted,
    onEnded: log,
    onMisfit: () => parts.log("what is installed now is of another version: start the server again"),
  });
  const growth = setInterval(() => {
    const { pid } = fronts;
    if (pid !== undefined && parts.hasGrown(pid)) void fronts.replace();
  }, GROWTH_CHECK_MS).unref();
  void fronts.start();
  return {
    /** Resolves when the first front accepts clients; rejects if none can run. */
    ready: ready.promise,
    /** The process that accepts clients now. */
    pid: () => fronts.pid,
    /** Has another front take over, without a gap. */
    replace: (): void => void fronts.replace(),
    /** Tells every front what has changed. */
    publish: (): void => fronts.notify("C", [], parts.settings()),
    stop: (): Promise<void> => {
      clearInterval(growth);
      return fronts.stop();
    },
  };
};
