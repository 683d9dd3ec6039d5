/** Length (four bytes, little-endian) and JSON: how the server and a guest process speak over pipes. */

const HEADER_BYTES = 4;

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
  let parts: Buffer[] = [];
  let waiting = 0;
  const take = (bytes: number): Buffer => {
    const all = parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
    parts = all.length === bytes ? [] : [all.subarray(bytes)];
    waiting -= bytes;
    return all.subarray(0, bytes);
  };
  let expected: number | undefined;
  return (chunk: Buffer): void => {
    parts.push(chunk);
    waiting += chunk.length;
    for (;;) {
      if (expected === undefined) {
        if (waiting < HEADER_BYTES) return;
        expected = take(HEADER_BYTES).readUInt32LE(0);
        if (expected > maxBytes) throw new RangeError("a frame is larger than allowed");
      }
      if (waiting < expected) return;
      const text = take(expected).toString("utf8");
      expected = undefined;
      onFrame(text);
    }
  };
};
