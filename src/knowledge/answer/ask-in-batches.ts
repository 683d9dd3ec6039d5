import { stopIfAborted } from "../../base/stop-if-aborted.ts";

/** Collections that are searched at the same time, so that at most this many indexes are loaded at once. */
const BATCH = 8;

export interface AskLimits {
  /** After that time no further batch is begun; the first one always is. */
  readonly untilMs: number;
  readonly now: () => number;
  readonly signal?: AbortSignal | undefined;
}

/** Asks one batch after the other; returns fewer results than it was given if the time does not suffice for all. */
export const askInBatches = async <Asked, Result>(
  all: readonly Asked[],
  ask: (one: Asked) => Promise<Result>,
  { untilMs, now, signal }: AskLimits,
): Promise<readonly Result[]> => {
  const results: Result[] = [];
  for (let from = 0; from < all.length && (from === 0 || now() < untilMs); from += BATCH) {
    stopIfAborted(signal);
    results.push(...(await Promise.all(all.slice(from, from + BATCH).map(ask))));
  }
  return results;
};
