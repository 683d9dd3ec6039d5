import { createClientLines } from "./client-lines.ts";
import type { FrontChild } from "./front-process.ts";
import { createFrontWatch, type FrontSize } from "./front-watch.ts";
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
  /** The size at which another front takes the place of one. */
  readonly maxSize: () => FrontSize;
  readonly log: (text: string) => void;
}

/** How long a front whose place another has taken may go on with what it has: streams may stay open for ever. */
const MAX_REPLACED_MS = 30_000;
/** How long it may take to end when the server is stopped, all work having ended. */
const MAX_STOP_MS = 2500;
/** This process is the core, and there is one. */
const GENERATION = 1;

/**
 * The fronts of an HTTP server, kept by the core itself: if the core ends, so do its sessions, and whoever started it starts
 * it again. There are no lines to hand over here, because connections end with the front that has them.
 */
export const superviseHttpFronts = (parts: HttpFrontsParts) => {
  const ready = Promise.withResolvers<undefined>();
  ready.promise.catch(() => {});
  const connections = new WeakMap<FrontChild, number>();
  const watch = createFrontWatch({
    fronts: () => fronts,
    maxSize: parts.maxSize,
    log: parts.log,
    onNeverWell: ready.reject,
  });
  const fronts = new Fronts({
    lines: createClientLines(),
    start: parts.start,
    hello: parts.hello,
    snapshot: () => Buffer.from(parts.settings()),
    core: () => ({ isReady: true, generation: GENERATION }),
    endMs: { replaced: MAX_REPLACED_MS, stopped: MAX_STOP_MS },
    onMessage: () => {},
    onSettled: () => {},
    onSeen: () => {},
    onConnections: (front, count) => void connections.set(front, count),
    onWell: (front) => {
      watch.well(front);
      ready.resolve(undefined);
    },
    onFailedStart: (thrown) =>
      parts.log(`a front could not be started (${thrown instanceof Error ? thrown.message : "unknown"})`),
    onStarted: parts.onStarted,
    onEnded: watch.ended,
    onMisfit: () => parts.log("what is installed now is of another version: start the server again"),
  });
  void fronts.start();
  return {
    /** Resolves when the first front accepts clients; rejects if none can run. */
    ready: ready.promise,
    /** The process that accepts clients now. */
    pid: () => fronts.pid,
    /** Of clients, with all fronts together. */
    connections: (): number => fronts.children.reduce((sum, front) => sum + (connections.get(front) ?? 0), 0),
    /** Has another front take over, without a gap. */
    replace: (): void => void fronts.replace(),
    /** Tells every front what has changed. */
    publish: (): void => fronts.notify("C", [], parts.settings()),
    stop: (): Promise<void> => {
      watch.stop();
      return fronts.stop();
    },
  };
};
