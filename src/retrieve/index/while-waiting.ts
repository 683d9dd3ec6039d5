import { stopIfAborted } from "../../base/stop-if-aborted.ts";

/** Settles with the promise, or sooner: when the signal says so, or after a time, then with undefined. */
export const whileWaiting = <T>(
  promise: Promise<T>,
  signal: AbortSignal | undefined,
  limitMs?: number,
): Promise<T | undefined> =>
  new Promise((resolve, reject) => {
    const leave = (): void => {
      try {
        stopIfAborted(signal);
      } catch (error) {
        settle(() => reject(error));
      }
    };
    const timer =
      limitMs === undefined ? undefined : setTimeout(() => settle(() => resolve(undefined)), limitMs);
    const settle = (finish: () => void): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", leave);
      finish();
    };
    signal?.addEventListener("abort", leave, { once: true });
    promise.then(
      (value) => settle(() => resolve(value)),
      (error: unknown) => settle(() => reject(error)),
    );
  });
