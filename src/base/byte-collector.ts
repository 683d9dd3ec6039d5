/** What bytes are collected in at first; it grows with what has arrived, and not with what was announced. */
const FIRST_BYTES = 4096;

/**
 * Puts pieces together in one buffer, which is all the memory that they take: Node keeps 400 bytes for each piece of a
 * stream, and a peer may send one byte in each.
 */
export const createByteCollector = () => {
  let held = Buffer.alloc(0);
  let size = 0;
  return {
    add: (piece: Uint8Array): void => {
      const end = size + piece.length;
      if (end > held.length) {
        const larger = Buffer.allocUnsafe(Math.max(FIRST_BYTES, end, 2 * held.length));
        held.copy(larger, 0, 0, size);
        held = larger;
      }
      held.set(piece, size);
      size = end;
    },
    size: (): number => size,
    /** All of it, once: the next piece begins another buffer. */
    take: (): Buffer => {
      const taken = held.subarray(0, size);
      held = Buffer.alloc(0);
      size = 0;
      return taken;
    },
  };
};
