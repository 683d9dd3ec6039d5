/** Length (four bytes, little-endian) and JSON: how the server and a guest process speak over pipes. */

const HEADER_BYTES = 4;
const FIRST_BYTES = 4096;
const KEPT_BYTES = 1024 * 1024;

export const encodeFrame = (message: object): Buffer => {
  const text = JSON.stringify(message);
  const bytes = Buffer.byteLength(text);
  const frame = Buffer.allocUnsafe(HEADER_BYTES + bytes);
  frame.writeUInt32LE(bytes, 0);
  frame.write(text, HEADER_BYTES);
  return frame;
};

/**
 * Cuts a stream into the texts of its frames. Throws for one that is larger than allowed: the other side may be hostile,
 * and nothing after that frame can be trusted to be one.
 */
export const createFrameReader = (maxBytes: number, onFrame: (text: string) => void) => {
  // One buffer, whatever pieces the stream comes in: to keep a piece of one byte takes a hundred.
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
      const text = waiting.toString("utf8", at + HEADER_BYTES, end);
      at = end;
      onFrame(text);
    }
    if (at > 0) dropUntil(at);
  };
};
