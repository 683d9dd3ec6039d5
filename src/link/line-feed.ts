import type { ClientLine, ClientLines } from "./client-lines.ts";

/** Lines that a front has at once: more than the core works on by default, few enough for a small heap. */
const MAX_GIVEN = 256;
const TRICKLE_MS = 5;
/** Lines that are no longer than this always have room. */
const SMALL_BYTES = 8192;

interface FeedParts {
  readonly lines: ClientLines;
  /** Of all the larger lines that a front has at once; one that is longer than this it has without the others. */
  readonly maxBytes: () => number;
  /** Whether there is one that reads. */
  readonly hasFront: () => boolean;
  readonly deliver: (line: ClientLine) => void;
}

/**
 * Lines that no front has had yet, in order. A front gets as many as it can work on at once and as it has memory for, and
 * then, so that a line which ends others is never stuck behind them, one in a while.
 */
export const createLineFeed = ({ lines, maxBytes, hasFront, deliver }: FeedParts) => {
  const undelivered: ClientLine[] = [];
  let isTrickling = false;

  /** Each line may be harmless where all of them together end the front, and the next one. */
  const hasRoom = ({ body: { length } }: ClientLine): boolean => {
    if (length <= SMALL_BYTES) return true;
    const given = lines
      .open()
      .filter(({ fronts, body }) => fronts > 0 && body.length > SMALL_BYTES)
      .reduce((sum, { body }) => sum + body.length, 0);
    return given === 0 || given + length <= maxBytes();
  };
  /** False if there is none, or no room for it. */
  const deliverNext = (): boolean => {
    const [line] = undelivered;
    if (line === undefined || !hasFront() || !hasRoom(line)) return false;
    undelivered.shift();
    deliver(line);
    return true;
  };
  const flow = (): void => {
    while (lines.count() - undelivered.length < MAX_GIVEN) if (!deliverNext()) return;
    if (isTrickling || undelivered.length === 0) return;
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
