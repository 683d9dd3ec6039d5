/** A ring holds this much less than its size at times: it drops whole blocks. */
export const BLOCK_BYTES = 16_384;

/** The last bytes of an endless output, in blocks that are never copied; positions count from the very first byte. */
export const createOutputRing = (maxBytes: number) => {
  const maxBlocks = Math.max(2, Math.ceil(maxBytes / BLOCK_BYTES));
  const blocks: Buffer[] = [];
  let end = 0;
  let dropped = 0;

  return {
    /** Position after the last byte. */
    get end() {
      return end;
    },
    /** Position of the oldest byte that is kept. */
    get begin() {
      return dropped;
    },
    push: (chunk: Buffer): void => {
      for (let at = 0; at < chunk.length; ) {
        const used = (end - dropped) % BLOCK_BYTES;
        if (used === 0) {
          // Not from the shared pool: a block must not hold other memory.
          const spare = blocks.length === maxBlocks ? blocks.shift() : undefined;
          if (spare !== undefined) dropped += BLOCK_BYTES;
          blocks.push(spare ?? Buffer.allocUnsafeSlow(BLOCK_BYTES));
        }
        const copied = chunk.copy(blocks.at(-1) as Buffer, used, at);
        at += copied;
        end += copied;
      }
    },
    /** Bytes from a position on; from the oldest where that one is gone. */
    from: (position: number): Buffer => {
      const first = Math.min(Math.max(position, dropped), end);
      const all = Buffer.concat(blocks).subarray(0, end - dropped);
      return all.subarray(first - dropped);
    },
  };
};
