import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import type { IndexProgress, IndexReport } from "./index-status.ts";
import { whileWaiting } from "./while-waiting.ts";

interface Run<R> {
  readonly force: boolean;
  readonly startedMs: number;
  readonly controller: AbortController;
  readonly listeners: Set<(progress: IndexProgress) => void>;
  progress: IndexProgress;
  holders: number;
  readonly promise: Promise<R>;
}

/** Runs of this process of one kind: one at a time, which everybody who asks for one shares. */
export interface BuildRuns<R = IndexReport> {
  /** Joins the run that is on, or starts one; it is stopped when the last who joined has left. */
  join(
    force: boolean,
    signal: AbortSignal | undefined,
    onProgress?: (progress: IndexProgress) => void,
  ): Promise<R>;
  /** Makes sure that one is on, for nobody in particular: it runs to its end. */
  startForNobody(): void;
  /** Waits for the run that is on, until it is so old: whoever comes late to a long one does not wait. */
  waitUntilAge(ageMs: number, signal: AbortSignal | undefined): Promise<void>;
  current(): IndexProgress | undefined;
  close(): Promise<void>;
}

type Work<R> = (force: boolean, signal: AbortSignal, tell: (progress: IndexProgress) => void) => Promise<R>;

export const createBuildRuns = <R>(work: Work<R>, onFailure: (error: unknown) => void): BuildRuns<R> => {
  let run: Run<R> | undefined;
  let isClosed = false;

  const start = (force: boolean): Run<R> => {
    const controller = new AbortController();
    const listeners = new Set<(progress: IndexProgress) => void>();
    const tell = (progress: IndexProgress): void => {
      started.progress = progress;
      for (const listener of listeners) listener(progress);
    };
    const promise = Promise.resolve()
      .then(() => work(force, controller.signal, tell))
      .finally(() => {
        if (run === started) run = undefined;
      });
    // Whoever waits gets the failure; where nobody does, it must not end the process.
    promise.catch(() => {});
    const started: Run<R> = {
      force,
      startedMs: performance.now(),
      controller,
      listeners,
      progress: { phase: "list", done: 0, total: 0 },
      holders: 0,
      promise,
    };
    run = started;
    return started;
  };

  /** One that was given up only has to end. */
  const live = (): Run<R> | undefined => (run?.controller.signal.aborted === false ? run : undefined);

  const leave = (one: Run<R>): void => {
    one.holders--;
    if (one.holders === 0) one.controller.abort();
  };

  return {
    join: async (force, signal, onProgress) => {
      stopIfAborted(signal);
      // One that only looks for changes, or was given up, is not what was asked for.
      while (run !== undefined && ((force && !run.force) || run.controller.signal.aborted))
        await whileWaiting(
          run.promise.then(
            () => {},
            () => {},
          ),
          signal,
        );
      const joined = run ?? start(force);
      joined.holders++;
      if (onProgress !== undefined) joined.listeners.add(onProgress);
      try {
        const report = await whileWaiting(joined.promise, signal);
        if (report === undefined) throw new Error("a run without a limit ended without a report");
        return report;
      } finally {
        if (onProgress !== undefined) joined.listeners.delete(onProgress);
        leave(joined);
      }
    },
    startForNobody: () => {
      if (isClosed || live() !== undefined) return;
      const started = start(false);
      started.holders++;
      started.promise.catch((error: unknown) => {
        if (!started.controller.signal.aborted) onFailure(error);
      });
    },
    waitUntilAge: async (ageMs, signal) => {
      const waitedFor = live();
      if (waitedFor === undefined) return;
      const leftMs = waitedFor.startedMs + ageMs - performance.now();
      const end = waitedFor.promise.catch((error: unknown) => {
        // Others gave it up, which is not this caller's failure.
        if (!waitedFor.controller.signal.aborted) throw error;
      });
      if (leftMs > 0) await whileWaiting(end, signal, leftMs);
    },
    current: () => live()?.progress,
    close: async () => {
      isClosed = true;
      run?.controller.abort();
      await run?.promise.catch(() => {});
    },
  };
};
