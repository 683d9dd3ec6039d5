import type { ClientLine, ClientLines } from "./client-lines.ts";

/** Lines that a front has at once: more than the core works on by default, few enough for a small heap. */
const MAX_GIVEN = 256;
const TRICKLE_MS = 5;

/**
 * Lines that no front has had yet, in order. A front gets as many as it can work on at once, and then, so that a line which
 * ends others is never stuck behind them, one in a while.
 */
export const createLineFeed = (
  lines: ClientLines,
  hasFront: () => boolean,
  deliver: (line: ClientLine) => void,
) => {
  const undelivered: ClientLine[] = [];
  let isTrickling = false;

  const deliverNext = (): boolean => {
    const line = hasFront() ? undelivered.shift() : undefined;
    if (line !== undefined) deliver(line);
    return line !== undefined;
  };
  const flow = (): void => {
    if (!hasFront() || undelivered.length === 0) return;
    while (lines.count() - undelivered.length < MAX_GIVEN) if (!deliverNext()) return;
    if (isTrickling) return;
    isTrickling = true;
    setTimeout(() => {
      isTrickling = false;
      deliverNext();
      flow();
    }, TRICKLE_MS);
  };

  return {
    flow,
    /** A new line of the client. */
    add: (line: ClientLine): void => {
      undelivered.push(line);
      flow();
    },
  };
};
