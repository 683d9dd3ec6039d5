/** Between two pauses, in which the server answers others. */
const MAX_WORK_MS = 10;

const breathe = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Called between two small pieces of long work: lets others have their turn every few milliseconds, and ends with the signal. */
export const createPace = (signal: AbortSignal | undefined): (() => Promise<void> | undefined) => {
  let resumedAt = performance.now();
  const pause = async (): Promise<void> => {
    await breathe();
    signal?.throwIfAborted();
    resumedAt = performance.now();
  };
  return () => (performance.now() - resumedAt < MAX_WORK_MS ? undefined : pause());
};
