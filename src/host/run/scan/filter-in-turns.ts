import { setImmediate as nextTurn } from "node:timers/promises";

/** How long one piece of work keeps others waiting, in milliseconds. */
const PIECE_MS = 10;

/** Those of many items that are meant. Everybody else's calls get a turn in between: a judgement may ask the disk. */
export const filterInTurns = async <T>(
  items: readonly T[],
  isMeant: (item: T) => boolean,
): Promise<readonly T[]> => {
  const meant: T[] = [];
  let since = performance.now();
  for (const item of items) {
    if (isMeant(item)) meant.push(item);
    if (performance.now() - since < PIECE_MS) continue;
    await nextTurn();
    since = performance.now();
  }
  return meant;
};
