/** How long somebody waits for one of the first places before they go in addition. */
const MAX_WAIT_MS = 20;

/**
 * Lets so many in at once, and others when one leaves, or soon in any case: short requests take turns on a few connections,
 * and long ones hold nobody up.
 */
export const createSoftLimit = (limit: number) => {
  const waiting = new Set<() => void>();
  let inside = 0;
  const enter = (): void => {
    inside++;
  };
  return {
    enter: (): Promise<void> | undefined => {
      if (inside < limit) {
        enter();
        return undefined;
      }
      return new Promise((resolve) => {
        const go = (): void => {
          clearTimeout(timer);
          waiting.delete(go);
          enter();
          resolve();
        };
        const timer = setTimeout(go, MAX_WAIT_MS);
        waiting.add(go);
      });
    },
    leave: (): void => {
      inside--;
      const [next] = waiting;
      if (inside < limit) next?.();
    },
  };
};
