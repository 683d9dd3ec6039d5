import { LlmcError } from "../base/error.ts";

/** How long a call waits for a core that is being started again. */
const MAX_WAIT_MS = 15_000;
/** After a connection broke, while nobody has said yet that the core is gone. */
const RETRY_MS = 25;

const unavailable = (): LlmcError =>
  new LlmcError("unavailable", "The server's core is not there: it is being started again.", {
    hint: "Lists are those of before. Try again in a moment.",
    retryable: true,
  });

/** Whether the core can be asked. */
export const createGate = () => {
  let generation: number | undefined;
  /** The supervisor has said so. */
  let isDown = true;
  const waiting = new Set<() => void>();
  const opened = new Set<(generation: number) => void>();

  const wait = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const done = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        waiting.delete(done);
        reject(unavailable());
      }, MAX_WAIT_MS);
      waiting.add(done);
    });

  const open = (next: number): void => {
    generation = next;
    for (const done of waiting) done();
    waiting.clear();
  };

  return {
    /** The core of a generation is there. */
    up: (next: number): void => {
      isDown = false;
      open(next);
      for (const listener of opened) listener(next);
    },
    down: (): void => {
      isDown = true;
      generation = undefined;
    },
    /** A connection broke. If the core is not gone, it can be asked again in a moment. */
    broken: (): void => {
      const before = generation;
      if (before === undefined) return;
      generation = undefined;
      setTimeout(() => {
        if (generation === undefined && !isDown) open(before);
      }, RETRY_MS);
    },
    reachable: (): Promise<void> => (generation === undefined ? wait() : Promise.resolve()),
    isUp: (): boolean => generation !== undefined,
    onUp: (listener: (generation: number) => void): void => void opened.add(listener),
  };
};
