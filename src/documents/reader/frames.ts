/** Length (four bytes, little-endian) and bytes: how the server and a reader process speak over pipes. */

const HEADER_BYTES = 4;

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
  let parts: Buffer[] = [];
  let waitingBytes = 0;
  let expectedBytes: number | undefined;
  const take = (bytes: number): Buffer => {
    const all = parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
    parts = all.length === bytes ? [] : [all.subarray(bytes)];
    waitingBytes -= bytes;
    return all.subarray(0, bytes);
  };
  return (chunk: Buffer): void => {
    parts.push(chunk);
    waitingBytes += chunk.length;
    for (;;) {
      if (expectedBytes === undefined) {
        if (waitingBytes < HEADER_BYTES) return;
        expectedBytes = take(HEADER_BYTES).readUInt32LE(0);
        if (expectedBytes > maxBytes) throw new RangeError("a frame is larger than allowed");
      }
      if (waitingBytes < expectedBytes) return;
      const frame = take(expectedBytes);
      expectedBytes = undefined;
      onFrame(frame);
    }
  };
};
