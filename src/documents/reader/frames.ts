/** Length (four bytes, little-endian) and bytes: how the server and a reader process speak over pipes. */

const HEADER_BYTES = 4;
const FIRST_BYTES = 4096;
const KEPT_BYTES = 1024 * 1024;

export const encodeFrame = (bytes: Uint8Array): Buffer => {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32LE(bytes.length, 0);
  return Buffer.concat([header, bytes]);
};

/**
 * Cuts a stream into its frames. Throws for one that is larger than allowed: the other side may be hostile, and nothing
 * after that frame can be trusted to be one.
 */
export const createFrameReader = (maxBytes: number, onFrame: (bytes: Buffer) => void) => {
  // One buffer, whatever pieces the stream comes in: to keep a piece of one byte takes a hundred. As in sandbox/guest,
  // which no other room's confined program may load.
  let waiting = Buffer.alloc(FIRST_BYTES);
  let length = 0;
  const append = (chunk: Buffer): void => {
    if (length + chunk.length > waiting.length) {
      const larger = Buffer.alloc(Math.max(length + chunk.length, 2 * waiting.length));
      waiting.copy(larger, 0, 0, length);
      waiting = larger;
    }
    chunk.copy(waiting, length);
    length += chunk.length;
  };
  /** Keeps what follows; the memory of a large frame is given back. */
  const dropUntil = (end: number): void => {
    const rest = waiting.subarray(end, length);
    length -= end;
    if (waiting.length > KEPT_BYTES && length <= FIRST_BYTES) {
      waiting = Buffer.alloc(FIRST_BYTES);
      rest.copy(waiting);
    } else rest.copy(waiting, 0);
  };
  return (chunk: Buffer): void => {
    append(chunk);
    let at = 0;
    while (length - at >= HEADER_BYTES) {
      const expected = waiting.readUInt32LE(at);
      if (expected > maxBytes) throw new RangeError("a frame is larger than allowed");
      const end = at + HEADER_BYTES + expected;
      if (length < end) break;
      const frame = Buffer.from(waiting.subarray(at + HEADER_BYTES, end));
      at = end;
      onFrame(frame);
    }
    if (at > 0) dropUntil(at);
  };
};
