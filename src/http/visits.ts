/** One request or message that is being worked on, from its arrival until its answer is out or its client gone. */
export interface Visit {
  /** Fires when the client goes, or when the time to finish after a stop is over. */
  readonly signal: AbortSignal;
  /** It has ended: `clientGone` before its answer was whole. */
  end(clientGone: boolean): void;
}

/** All that is under way, so that a stop can wait for it. */
export const createVisits = () => {
  const open = new Set<AbortController>();
  const waiting = new Set<() => void>();
  let draining = false;

  const settle = (): void => {
    if (open.size > 0) return;
    for (const wake of waiting) wake();
    waiting.clear();
  };

  return {
    begin: (): Visit => {
      const controller = new AbortController();
      open.add(controller);
      return {
        signal: controller.signal,
        end: (clientGone) => {
          if (!open.delete(controller)) return;
          if (clientGone) controller.abort();
          settle();
        },
      };
    },
    count: () => open.size,
    isDraining: () => draining,
    /** From now on nothing new is let in. */
    startDraining: (): void => {
      draining = true;
    },
    /** Resolves when nothing is under way any more. */
    idle: (): Promise<void> =>
      new Promise((resolve) => {
        waiting.add(resolve);
        settle();
      }),
    /** Ends what is still under way. */
    abort: (): void => {
      for (const controller of open) controller.abort();
    },
  };
};

export type Visits = ReturnType<typeof createVisits>;
