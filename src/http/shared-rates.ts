import type { RateStore } from "./rate.ts";

/** How long a store that failed is left alone. */
const REST_MS = 5000;

/**
 * Buckets that several machines share, with this machine's own beside them: while the shared store does not answer,
 * each machine limits by itself, and nobody is let in unlimited or locked out.
 */
export const createSharedRates = (
  shared: RateStore,
  own: RateStore,
  now: () => number,
  onTrouble: (error: unknown) => void,
): RateStore => {
  let restUntil = 0;
  return {
    take: (key, limit) => {
      if (now() < restUntil) return own.take(key, limit);
      return Promise.resolve(shared.take(key, limit)).catch((error: unknown) => {
        // One message for each rest, however many requests find out together.
        if (now() >= restUntil) {
          restUntil = now() + REST_MS;
          onTrouble(error);
        }
        return own.take(key, limit);
      });
    },
    close: async () => {
      await shared.close();
      await own.close();
    },
  };
};
