const NEWLINE = 0x0a;
const ZERO = 0x30;
const NINE = 0x39;
const NOTHING = Buffer.alloc(0);

export interface RecordReader {
  /** A file with hits; its path as ripgrep writes it, in memory that is used again after the call. */
  file(path: Buffer): void;
  /** A matching line of that file, counted from 1; they come in order. The column is that of its first match, from 1, in bytes. */
  hit(line: number, column?: number): void;
}

/**
 * Reads ripgrep's output in the form of `--heading --null --line-number --max-columns=1` (and `--column`): a path and a NUL, then lines
 * that start with their number, then an empty line before the next path. Paths must start with something else than a
 * digit, such as `./`: that is how the remark on a binary file is told from a hit.
 */
export const createRecordParser = (reader: RecordReader, hasColumns = false): ((chunk: Buffer) => void) => {
  let rest: Buffer = NOTHING;
  let expectsPath = true;
  let pathBytes = 0;

  /** The position after the record that starts at `at`; undefined if the record is not complete yet. */
  const readRecord = (bytes: Buffer, at: number): number | undefined => {
    if (expectsPath) {
      const end = bytes.indexOf(0, at);
      if (end < 0) return undefined;
      pathBytes = end - at;
      expectsPath = false;
      reader.file(bytes.subarray(at, end));
      return end + 1;
    }
    let byte = bytes[at] ?? 0;
    if (byte === NEWLINE) {
      expectsPath = true;
      return at + 1;
    }
    let line = 0;
    let after = at;
    for (; byte >= ZERO && byte <= NINE; byte = bytes[++after] ?? 0) line = line * 10 + byte - ZERO;
    const isHit = after > at;
    let column: number | undefined;
    if (isHit && hasColumns) {
      column = 0;
      for (byte = bytes[++after] ?? 0; byte >= ZERO && byte <= NINE; byte = bytes[++after] ?? 0)
        column = column * 10 + byte - ZERO;
    }
    // "PATH: WARNING: stopped searching binary file…", where the path may have newlines of its own.
    const end = bytes.indexOf(NEWLINE, isHit ? after : at + pathBytes);
    if (end < 0) return undefined;
    if (isHit) reader.hit(line, column);
    return end + 1;
  };

  return (chunk) => {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let at = 0;
    while (at < bytes.length) {
      const next = readRecord(bytes, at);
      if (next === undefined) break;
      at = next;
    }
    rest = bytes.subarray(at);
  };
};

/** Reads names that end with a NUL each. */
export const createNameParser = (take: (name: Buffer) => void): ((chunk: Buffer) => void) => {
  let rest: Buffer = NOTHING;
  return (chunk) => {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let at = 0;
    for (let end = bytes.indexOf(0); end >= 0; end = bytes.indexOf(0, at)) {
      take(bytes.subarray(at, end));
      at = end + 1;
    }
    rest = bytes.subarray(at);
  };
};
