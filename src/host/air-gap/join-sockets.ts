import type { Socket } from "node:net";

/**
 * Forwards what either socket receives to the other; each direction ends by itself, and an error on one socket
 * closes both.
 */
export const joinSockets = (one: Socket, other: Socket): void => {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.on("error", () => to.destroy());
    from.on("close", () => {
      if (from.errored !== null || !from.readableEnded) to.destroy();
    });
    from.pipe(to);
  }
};
