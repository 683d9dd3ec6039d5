const BLOCK_BYTES = 16_384;

/** The last bytes of an endless output, in blocks that are never copied; positions count from the very first byte. */
export interface OutputRing {
  /** Position after the last byte. */
  readonly end: number;
  /** Position of the oldest byte that is kept. */
  readonly begin: number;
  push(chunk: Buffer): void;
  /** Bytes from a position on; from the oldest where that one is gone. */
  from(position: number): Buffer;
}

export const createOutputRing = (maxBytes: number): OutputRing => {
  const maxBlocks = Math.max(2, Math.ceil(maxBytes / BLOCK_BYTES));
  const blocks: Buffer[] = [];
  let end = 0;
  let dropped = 0;

  return {
    get end() {
      return end;
    },
    get begin() {
      return dropped;
    },
    push: (chunk) => {
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
    from: (position) => {
      const first = Math.min(Math.max(position, dropped), end);
      const all = Buffer.concat(blocks).subarray(0, end - dropped);
      return all.subarray(first - dropped);
    },
  };
};
