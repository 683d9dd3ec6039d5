import type { RateLimiter } from "./rate-limiter.ts";

/** How long a store that failed is not asked again. */
const PAUSE_MS = 5000;

/**
 * A store that several servers share, with this server's own limiter as the fallback: while the store does not answer,
 * each server limits by itself, so that nobody is unlimited and nobody is locked out.
 */
export const createSharedRateLimiter = (
  shared: RateLimiter,
  own: RateLimiter,
  now: () => number,
  onError: (error: unknown) => void,
): RateLimiter => {
  let pausedUntil = 0;
  return {
    consume: async (key, limit) => {
      if (now() < pausedUntil) return own.consume(key, limit);
      try {
        return await shared.consume(key, limit);
      } catch (error) {
        // One report for each pause, however many requests fail at the same time.
        if (now() >= pausedUntil) {
          pausedUntil = now() + PAUSE_MS;
          onError(error);
        }
        return own.consume(key, limit);
      }
    },
    close: async () => {
      await shared.close();
      await own.close();
    },
  };
};
