import { stopIfAborted } from "../../../base/stop-if-aborted.ts";

/** Callers of this process that want the same key, first come first served. */
export interface KeyQueue {
  /** True once the caller is the only one with the key, who then must leave; false when the time ran out. */
  enter(key: string, waitMs: number, signal?: AbortSignal): true | Promise<boolean>;
  leave(key: string): void;
}

export const createKeyQueue = (): KeyQueue => {
  // A key is here while somebody has it; the list holds those who wait.
  const queues = new Map<string, (() => void)[]>();

  const wait = (queue: (() => void)[], waitMs: number, signal: AbortSignal | undefined): Promise<boolean> =>
    new Promise((resolve, reject) => {
      const settle = (finish: () => void): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", stop);
        finish();
      };
      const admit = (): void => settle(() => resolve(true));
      const giveUp = (finish: () => void): void => {
        queue.splice(queue.indexOf(admit), 1);
        settle(finish);
      };
      const stop = (): void =>
        giveUp(() => {
          try {
            stopIfAborted(signal);
          } catch (error) {
            reject(error);
          }
        });
      const timer = setTimeout(() => giveUp(() => resolve(false)), Math.max(0, waitMs));
      signal?.addEventListener("abort", stop);
      queue.push(admit);
    });

  return {
    enter: (key, waitMs, signal) => {
      const queue = queues.get(key);
      if (queue !== undefined) return wait(queue, waitMs, signal);
      queues.set(key, []);
      return true;
    },
    leave: (key) => {
      const next = queues.get(key)?.shift();
      if (next === undefined) queues.delete(key);
      else next();
    },
  };
};
