import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import type { IndexProgress, IndexReport } from "./index-status.ts";
import { waitFor } from "./wait-for.ts";

interface Run<R> {
  readonly force: boolean;
  readonly controller: AbortController;
  readonly listeners: Set<(progress: IndexProgress) => void>;
  progress: IndexProgress;
  participants: number;
  readonly promise: Promise<R>;
}

/** Runs of one kind in this process: one at a time, shared by all callers who ask for one. */
export interface SharedRuns<R = IndexReport> {
  /** Joins the current run or starts one; the run is aborted when its last participant has left. */
  join(
    force: boolean,
    signal: AbortSignal | undefined,
    onProgress?: (progress: IndexProgress) => void,
  ): Promise<R>;
  /** Makes sure that a run is under way that nobody has to wait for: it runs to its end. */
  startInBackground(): void;
  /** Waits for the current run, for a time. */
  wait(
    maxMs: number,
    signal: AbortSignal | undefined,
    onProgress?: (progress: IndexProgress) => void,
  ): Promise<void>;
  current(): IndexProgress | undefined;
  close(): Promise<void>;
}

type Work<R> = (
  force: boolean,
  signal: AbortSignal,
  onProgress: (progress: IndexProgress) => void,
) => Promise<R>;

export const createSharedRuns = <R>(
  work: Work<R>,
  onBackgroundFailure: (error: unknown) => void,
): SharedRuns<R> => {
  let run: Run<R> | undefined;
  let isClosed = false;

  const start = (force: boolean): Run<R> => {
    const controller = new AbortController();
    const listeners = new Set<(progress: IndexProgress) => void>();
    const report = (progress: IndexProgress): void => {
      started.progress = progress;
      for (const listener of listeners) listener(progress);
    };
    const promise = Promise.resolve()
      .then(() => work(force, controller.signal, report))
      .finally(() => {
        if (run === started) run = undefined;
      });
    // The failure reaches whoever waits; where nobody does, it must not end the process.
    promise.catch(() => {});
    const started: Run<R> = {
      force,
      controller,
      listeners,
      progress: { phase: "list", done: 0, total: 0 },
      participants: 0,
      promise,
    };
    run = started;
    return started;
  };

  const isUsable = (one: Run<R>, force: boolean): boolean =>
    !one.controller.signal.aborted && (one.force || !force);

  const live = (): Run<R> | undefined => (run !== undefined && isUsable(run, false) ? run : undefined);

  const leave = (one: Run<R>): void => {
    one.participants--;
    if (one.participants === 0) one.controller.abort();
  };

  return {
    join: async (force, signal, onProgress) => {
      stopIfAborted(signal);
      while (run !== undefined && !isUsable(run, force))
        await waitFor(
          run.promise.then(
            () => {},
            () => {},
          ),
          signal,
        );
      const joined = run ?? start(force);
      joined.participants++;
      if (onProgress !== undefined) joined.listeners.add(onProgress);
      try {
        const report = await waitFor(joined.promise, signal);
        if (report === undefined) throw new Error("a run without a time limit ended without a report");
        return report;
      } finally {
        if (onProgress !== undefined) joined.listeners.delete(onProgress);
        leave(joined);
      }
    },
    startInBackground: () => {
      if (isClosed || live() !== undefined) return;
      const started = start(false);
      // Never leaves, so the run is not aborted when others leave it.
      started.participants++;
      started.promise.catch((error: unknown) => {
        if (!started.controller.signal.aborted) onBackgroundFailure(error);
      });
    },
    wait: async (maxMs, signal, onProgress) => {
      const current = live();
      if (current === undefined) return;
      const end = current.promise.catch((error: unknown) => {
        // A run that its participants aborted is not this caller's failure.
        if (!current.controller.signal.aborted) throw error;
      });
      if (onProgress !== undefined) current.listeners.add(onProgress);
      try {
        await waitFor(end, signal, maxMs);
      } finally {
        if (onProgress !== undefined) current.listeners.delete(onProgress);
      }
    },
    current: () => live()?.progress,
    close: async () => {
      isClosed = true;
      run?.controller.abort();
      await run?.promise.catch(() => {});
    },
  };
};
