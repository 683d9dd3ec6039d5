import type { Socket } from "node:net";

/** What one sends the other gets; each direction ends for itself, and an error of one ends both. */
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
