import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import { LlmcError } from "../../base/error.ts";

/** WebSockets that one token may have open. */
const MAX_SOCKETS_PER_TOKEN = 64;
/** Shorter than the time after which a connection that does not answer pings counts as gone. */
const MAX_PAUSE_MS = 20_000;

/** What the WebSockets of one principal share. */
export interface SocketShares {
  /** Throws where too many are open. */
  open(principal: string, stream: Duplex): void;
  /** What comes too early is not read on, as a body is not: parsing it would cost more than refusing it. */
  pause(socket: WebSocket, principal: string, refused: LlmcError): void;
}

export const createSocketShares = (): SocketShares => {
  const open = new Map<string, number>();
  /** When the next of a principal's connections that came too early is read on: they take turns. */
  const nextTurn = new Map<string, number>();
  const close = (principal: string): void => {
    const left = (open.get(principal) ?? 0) - 1;
    open.set(principal, left);
    if (left > 0) return;
    open.delete(principal);
    nextTurn.delete(principal);
  };
  return {
    open: (principal, stream) => {
      const count = (open.get(principal) ?? 0) + 1;
      if (count > MAX_SOCKETS_PER_TOKEN)
        throw new LlmcError("rate_limited", "Too many WebSockets are open with this token.", {
          hint: "Use one connection for several calls.",
        });
      open.set(principal, count);
      stream.once("close", () => close(principal));
    },
    pause: (socket, principal, { details }) => {
      if (socket.isPaused || socket.readyState !== socket.OPEN) return;
      const now = performance.now();
      const after = Math.max(now, nextTurn.get(principal) ?? 0) + Number(details["retry_after_ms"] ?? 0);
      const turn = Math.min(after, now + MAX_PAUSE_MS);
      nextTurn.set(principal, turn);
      socket.pause();
      setTimeout(() => socket.readyState === socket.OPEN && socket.resume(), turn - now).unref();
    },
  };
};
