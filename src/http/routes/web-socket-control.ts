import { randomBytes } from "node:crypto";
import type { WebSocket } from "ws";

/** A client that has not answered a ping when the next is due is considered gone. */
const PING_MS = 30_000;
/** Pings and pongs that a client may send between two of our pings: twenty a second. */
const MAX_CONTROL_FRAMES = 600;
/** Unpredictable, so that nobody can answer a ping without reading it. */
const PING_BYTES = 8;

/**
 * What the library holds of a message that has not ended, besides its bytes: each fragment, and each piece of a frame as it
 * came from the system, takes some 400 bytes whatever is in it. A message of the usual size comes whole, or in fragments of
 * kilobytes.
 */
export const UNFINISHED_LIMITS = { maxFragments: 128, maxBufferedChunks: 1024 } as const;

interface ControlLimits {
  /** With more unsent bytes than this, a ping is not answered: a later one is (RFC 6455, 5.5.3). */
  readonly backlogBytes: number;
  readonly onFlood: () => void;
}

/**
 * Answers pings, ends the connection if its client stops answering ours, and reports a client that sends too many. The
 * count is per connection and not the rate limit of the token: a shared limiter would have to be asked for every frame.
 * Returns the function that stops our pings.
 */
export const serveControlFrames = (
  socket: WebSocket,
  { backlogBytes, onFlood }: ControlLimits,
): (() => void) => {
  let received = 0;
  let awaited: Buffer | undefined;
  const isTooMany = (): boolean => {
    // A connection that is being closed still receives.
    if (socket.readyState !== socket.OPEN) return true;
    received++;
    if (received > MAX_CONTROL_FRAMES) onFlood();
    return received > MAX_CONTROL_FRAMES;
  };
  socket.on("ping", (data: Buffer) => {
    if (!isTooMany() && socket.bufferedAmount <= backlogBytes) socket.pong(data);
  });
  socket.on("pong", (data: Buffer) => {
    if (!isTooMany() && awaited?.equals(data) === true) awaited = undefined;
  });
  const timer = setInterval(() => {
    if (awaited !== undefined) return socket.terminate();
    received = 0;
    awaited = randomBytes(PING_BYTES);
    socket.ping(awaited);
  }, PING_MS);
  return () => clearInterval(timer);
};
