import { LlmcError } from "../base/error.ts";

/** How long a call waits for a core that is being started again. */
const MAX_WAIT_MS = 15_000;
/** After a connection broke, while nobody has said yet that the core is gone. */
const RETRY_MS = 25;

const unavailable = (): LlmcError =>
  new LlmcError("unavailable", "The server's core is not available: it is being started again.", {
    hint: "Lists show what the core last reported. Try again in a moment.",
    retryable: true,
  });

/** Whether the core can be asked. */
export const createCoreAvailability = () => {
  /** The generation of the core that is there, as the supervisor said. */
  let core: number | undefined;
  /** A connection broke, and the core is not asked for a moment. */
  let isBroken = false;
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

  const open = (): void => {
    isBroken = false;
    for (const done of waiting) done();
    waiting.clear();
  };

  return {
    /** The core of a generation is there. */
    up: (generation: number): void => {
      core = generation;
      open();
      for (const listener of opened) listener(generation);
    },
    down: (): void => {
      core = undefined;
    },
    /** A connection broke. If the core is not gone, it can be asked again in a moment. */
    broken: (): void => {
      if (core === undefined || isBroken) return;
      isBroken = true;
      setTimeout(() => {
        if (core !== undefined && isBroken) open();
      }, RETRY_MS);
    },
    reachable: (): Promise<void> => (core === undefined || isBroken ? wait() : Promise.resolve()),
    /** Whether that core is there, be its connections broken or not. */
    isCurrent: (generation: number): boolean => core === generation,
    onUp: (listener: (generation: number) => void): void => void opened.add(listener),
  };
};
