import { stopIfAborted } from "../../base/stop-if-aborted.ts";

/** Settles with the promise, or sooner: rejects when the signal is aborted, and resolves to undefined after `timeoutMs`. */
export const waitFor = <T>(
  promise: Promise<T>,
  signal: AbortSignal | undefined,
  timeoutMs?: number,
): Promise<T | undefined> => {
  const stop = AbortSignal.any([
    ...(signal === undefined ? [] : [signal]),
    ...(timeoutMs === undefined ? [] : [AbortSignal.timeout(timeoutMs)]),
  ]);
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      try {
        stopIfAborted(signal);
        resolve(undefined);
      } catch (error) {
        reject(error);
      }
    };
    if (stop.aborted) leave();
    stop.addEventListener("abort", leave, { once: true });
    promise.then(resolve, reject);
  });
};
