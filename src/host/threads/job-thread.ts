import { createBoundedQueue } from "../../base/bounded-queue.ts";
import { LlmcError } from "../../base/error.ts";
import type { ThreadMethods } from "./messages.ts";
import { startThread, type Thread, type ThreadOptions } from "./thread.ts";

interface JobThreadOptions extends ThreadOptions {
  /** A job that takes longer is given up, and its thread with it: code that hangs cannot be stopped otherwise. */
  readonly jobTimeoutMs: number;
  /** An idle thread is ended after this time, and gives its memory back. */
  readonly idleMs: number;
}

export type JobThread<M extends ThreadMethods> = ReturnType<typeof createJobThread<M>>;

/** One thread that does one job at a time. It is started on demand, and anew after a job that ended it. */
export const createJobThread = <M extends ThreadMethods>(options: JobThreadOptions) => {
  const queue = createBoundedQueue(() => ({ maxRunning: 1, maxWaiting: Number.POSITIVE_INFINITY }));
  let thread: Thread<M> | undefined;
  let idleTimer: NodeJS.Timeout | undefined;

  const runJob = async <K extends keyof M & string>(
    method: K,
    params: M[K]["takes"],
    signal: AbortSignal | undefined,
    timeoutMs: number,
  ): Promise<M[K]["gives"]> => {
    clearTimeout(idleTimer);
    const current = thread?.isAlive() === true ? thread : startThread<M>(options);
    thread = current;
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      current.kill();
    }, timeoutMs);
    try {
      return await current.call(method, params, { signal });
    } catch (error) {
      if (isLate)
        throw new LlmcError("timeout", `A job took longer than ${timeoutMs} ms.`, {
          cause: error,
        });
      // A cancelled job still runs in its thread, and the next one would have to wait for it.
      if (signal?.aborted === true) current.kill();
      throw error;
    } finally {
      clearTimeout(timer);
      clearTimeout(idleTimer);
      idleTimer = setTimeout(() => void current.close(), options.idleMs);
      idleTimer.unref();
    }
  };

  return {
    run: <K extends keyof M & string>(
      method: K,
      params: M[K]["takes"],
      signal?: AbortSignal,
      timeoutMs = options.jobTimeoutMs,
    ): Promise<M[K]["gives"]> => queue.run(() => runJob(method, params, signal, timeoutMs), signal),
    close: async (): Promise<void> => {
      clearTimeout(idleTimer);
      thread?.kill();
    },
  };
};
