import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import type { ByteBudget } from "../../link/byte-budget.ts";

/** Before the bytes of a control frame: two, and four of the mask. */
const CONTROL_HEAD_BYTES = 6;

/** What a client is told whose message has no room. */
export const TOO_MANY_UNFINISHED = "too many unfinished messages";

/** What has come of a message that has not ended counts like the bodies that are being read. */
export const countUnfinished = (
  socket: WebSocket,
  stream: Duplex,
  bodies: ByteBudget,
  onFull: () => void,
): void => {
  let held = 0;
  const release = (bytes: number): void => {
    const released = Math.min(held, bytes);
    held -= released;
    bodies.give(released);
  };
  const onData = (piece: Buffer): void => {
    try {
      bodies.take(piece.length);
      held += piece.length;
    } catch {
      onFull();
    }
  };
  const onControl = (data: Buffer): void => release(CONTROL_HEAD_BYTES + data.length);
  // Before the library, which may find the end of a message in this very piece.
  stream.prependListener("data", onData);
  socket.on("message", () => release(held));
  socket.on("ping", onControl).on("pong", onControl);
  socket.on("close", () => {
    stream.off("data", onData);
    release(held);
  });
};
