const NEWLINE = 10;

/** What becomes of the lines of a byte stream. */
export interface LineSink {
  readonly onLine: (line: Buffer) => void;
  /** A line that exceeds the limit: its size and its two ends. */
  readonly onOversize: (size: number, head: Buffer, tail: Buffer) => void;
}

/**
 * Splits a byte stream into lines. Memory is bounded: once a line exceeds the limit, only its two ends are kept, and the
 * rest is dropped as it arrives.
 */
export const createLineSplitter = (
  maxLineBytes: () => number,
  endBytes: number,
  { onLine, onOversize }: LineSink,
) => {
  let parts: Buffer[] = [];
  let size = 0;
  let oversize: { readonly head: Buffer; tail: Buffer } | undefined;

  /** Where no ends are wanted, `subarray(-0)` would be all of it. */
  const endOf = (bytes: Buffer): Buffer => bytes.subarray(Math.max(0, bytes.length - endBytes));

  const keep = (part: Buffer): void => {
    size += part.length;
    if (oversize !== undefined) {
      oversize.tail = endOf(Buffer.concat([oversize.tail, endOf(part)]));
      return;
    }
    parts.push(part);
    if (size > maxLineBytes()) {
      const all = Buffer.concat(parts);
      oversize = {
        head: Buffer.from(all.subarray(0, endBytes)),
        tail: Buffer.from(endOf(all)),
      };
      parts = [];
    }
  };

  const finish = (): void => {
    const [first, ...more] = parts;
    const long = oversize;
    const length = size;
    parts = [];
    size = 0;
    oversize = undefined;
    if (long !== undefined) onOversize(length, long.head, long.tail);
    else if (first !== undefined) onLine(more.length === 0 ? first : Buffer.concat([first, ...more]));
  };

  return {
    push: (chunk: Buffer): void => {
      let start = 0;
      for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
        keep(chunk.subarray(start, end));
        finish();
        start = end + 1;
      }
      if (start < chunk.length) keep(chunk.subarray(start));
    },
    /** The stream ended: a last line without a newline still counts. */
    end: (): void => {
      if (size > 0) finish();
    },
  };
};

/** Whether a line holds nothing but spaces and control characters. */
export const isBlank = (line: Buffer): boolean => !line.some((byte) => byte > 32);
