import { LlmcError } from "../../base/error.ts";
import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import type { ThreadMethods } from "./messages.ts";
import { startThread, type Thread, type ThreadOptions } from "./thread.ts";

export interface PoolOptions extends ThreadOptions {
  /** Threads at most; they are started as work comes. */
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
  const queue: ((thread: Thread<M>) => void)[] = [];
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

  const hire = (): Thread<M> | undefined => {
    forgetDead();
    const free = idle.pop();
    if (free !== undefined) return free;
    if (all.size >= options.size) return undefined;
    const started = startThread<M>(options);
    all.add(started);
    return started;
  };

  const serveQueue = (): void => {
    while (queue.length > 0) {
      const thread = hire();
      if (thread === undefined) return;
      queue.shift()?.(thread);
    }
  };

  const giveBack = (thread: Thread<M>): void => {
    if (thread.isAlive()) idle.push(thread);
    serveQueue();
    clearTimeout(idleTimer);
    idleTimer = setTimeout(releaseIdle, options.idleMs);
    idleTimer.unref();
  };

  const takeTurn = (signal: AbortSignal | undefined): Promise<Thread<M>> =>
    new Promise((resolve, reject) => {
      const admit = (thread: Thread<M>): void => {
        signal?.removeEventListener("abort", leave);
        resolve(thread);
      };
      const leave = (): void => {
        const at = queue.indexOf(admit);
        if (at >= 0) queue.splice(at, 1);
        try {
          stopIfAborted(signal);
        } catch (error) {
          reject(error);
        }
      };
      signal?.addEventListener("abort", leave, { once: true });
      queue.push(admit);
      serveQueue();
    });

  return {
    run: async (method, params, signal) => {
      stopIfAborted(signal);
      clearTimeout(idleTimer);
      const thread = await takeTurn(signal);
      let isLate = false;
      const timer = setTimeout(() => {
        isLate = true;
        thread.kill();
      }, options.jobTimeoutMs);
      try {
        return await thread.call(method, params, { signal });
      } catch (error) {
        if (!isLate) {
          // What is cancelled still runs in there: the next job would wait for it.
          if (signal?.aborted === true) thread.kill();
          throw error;
        }
        throw new LlmcError("timeout", `A job took longer than ${options.jobTimeoutMs} ms.`, {
          cause: error,
        });
      } finally {
        clearTimeout(timer);
        giveBack(thread);
      }
    },
    close: async () => {
      clearTimeout(idleTimer);
      idle.length = 0;
      for (const thread of all) thread.kill();
      all.clear();
    },
  };
};
