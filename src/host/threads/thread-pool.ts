import { createBoundedQueue } from "../../base/bounded-queue.ts";
import { LlmcError } from "../../base/error.ts";
import type { ThreadMethods } from "./messages.ts";
import { startThread, type Thread, type ThreadOptions } from "./thread.ts";

export interface PoolOptions extends ThreadOptions {
  /** Maximum number of threads; they are started on demand. */
  readonly size: number;
  /** A job that takes longer is given up, and its thread with it: code that hangs cannot be stopped otherwise. */
  readonly jobTimeoutMs: number;
  /** Threads without work end after so long, and give their memory back. */
  readonly idleMs: number;
}

/** Threads that do one job at a time each. */
export interface ThreadPool<M extends ThreadMethods> {
  run<K extends keyof M & string>(
    method: K,
    params: M[K]["takes"],
    signal?: AbortSignal,
  ): Promise<M[K]["gives"]>;
  close(): Promise<void>;
}

export const createThreadPool = <M extends ThreadMethods>(options: PoolOptions): ThreadPool<M> => {
  const all = new Set<Thread<M>>();
  const idle: Thread<M>[] = [];
  const queue = createBoundedQueue(() => ({
    maxRunning: options.size,
    maxWaiting: Number.POSITIVE_INFINITY,
  }));
  let idleTimer: NodeJS.Timeout | undefined;

  const forgetDead = (): void => {
    for (const thread of all) if (!thread.isAlive()) all.delete(thread);
    for (let i = idle.length - 1; i >= 0; i--) if (idle[i]?.isAlive() !== true) idle.splice(i, 1);
  };

  const releaseIdle = (): void => {
    for (const thread of idle.splice(0)) {
      all.delete(thread);
      void thread.close();
    }
  };

  /** The queue lets in no more jobs than there may be threads. */
  const findFree = (): Thread<M> => {
    forgetDead();
    const free = idle.pop();
    if (free !== undefined) return free;
    const started = startThread<M>(options);
    all.add(started);
    return started;
  };

  const giveBack = (thread: Thread<M>): void => {
    if (thread.isAlive()) idle.push(thread);
    clearTimeout(idleTimer);
    idleTimer = setTimeout(releaseIdle, options.idleMs);
    idleTimer.unref();
  };

  const runIn = async <K extends keyof M & string>(
    thread: Thread<M>,
    method: K,
    params: M[K]["takes"],
    signal: AbortSignal | undefined,
  ): Promise<M[K]["gives"]> => {
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      thread.kill();
    }, options.jobTimeoutMs);
    try {
      return await thread.call(method, params, { signal });
    } catch (error) {
      if (isLate)
        throw new LlmcError("timeout", `A job took longer than ${options.jobTimeoutMs} ms.`, {
          cause: error,
        });
      // A cancelled job still runs in its thread, and the next one would have to wait for it.
      if (signal?.aborted === true) thread.kill();
      throw error;
    } finally {
      clearTimeout(timer);
      giveBack(thread);
    }
  };

  return {
    run: (method, params, signal) =>
      queue.run(() => {
        clearTimeout(idleTimer);
        return runIn(findFree(), method, params, signal);
      }, signal),
    close: async () => {
      clearTimeout(idleTimer);
      idle.length = 0;
      for (const thread of all) thread.kill();
      all.clear();
    },
  };
};
