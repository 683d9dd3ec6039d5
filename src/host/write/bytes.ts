import { createHash, type Hash } from "node:crypto";
import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import { readAt } from "../reach/descriptor.ts";

// Large enough that the trip to the thread pool does not count, small enough for many calls at once.
const CHUNK_BYTES = 256 * 1024;

/** From a position to the end, chunk by chunk; gives the position of the end. A chunk is good until the next one. */
export const readThrough = async (
  fd: number,
  from: number,
  take: (chunk: Buffer) => void | Promise<void>,
  signal: AbortSignal | undefined,
): Promise<number> => {
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  for (let position = from; ; ) {
    stopIfAborted(signal);
    const count = await readAt(fd, buffer, position);
    if (count === 0) return position;
    await take(buffer.subarray(0, count));
    position += count;
  }
};

/** Everything, where the size is known and bounded. */
export const readWhole = async (
  fd: number,
  sizeBytes: number,
  signal: AbortSignal | undefined,
): Promise<Buffer> => {
  // One byte over the size: a read that leaves it empty has seen the end.
  const buffer = Buffer.allocUnsafe(sizeBytes + 1);
  for (let length = 0; ; ) {
    stopIfAborted(signal);
    const count = await readAt(fd, buffer, length, length);
    length += count;
    if (count === 0 || length > sizeBytes) return buffer.subarray(0, length);
  }
};

export const startHash = (): Hash => createHash("sha256");

export const sha256Of = (bytes: Buffer): string => startHash().update(bytes).digest("hex");
