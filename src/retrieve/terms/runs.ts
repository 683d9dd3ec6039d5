/**
 * A run is an unbroken sequence of letters, digits and underscores: an identifier, a word or a number as written. The
 * same few thousand runs make up most of a repository, so each gets a number, and its terms are computed once per
 * number. A text is read character by character without creating strings, in a third of the time of a regular
 * expression and a Map.
 */
interface RunTable {
  readonly generation: number;
  /** Numbers of the runs of a text, in its order; the array is reused by the next call. */
  scan(text: string): { readonly runs: Int32Array; readonly length: number };
  textOf(run: number): string;
}

/** The rest of a longer run is ignored: it is Base64, a key or minified text, which nobody searches by its end. */
const MAX_RUN_CHARS = 128;

/** A table with more is cleared, so that memory stays bounded. */
const MAX_RUNS = 200_000;

/** Letters, digits, the underscore; characters outside ASCII are classified when the run is split into terms. */
const IS_RUN = Uint8Array.from({ length: 128 }, (_, code) =>
  /[A-Za-z0-9_]/.test(String.fromCharCode(code)) ? 1 : 0,
);

const grown = (array: Int32Array<ArrayBuffer>, least: number): Int32Array<ArrayBuffer> => {
  const larger = new Int32Array(Math.max(array.length * 2, least));
  larger.set(array);
  return larger;
};

const createRunTable = (): RunTable => {
  let generation = 0;
  let texts: string[] = [];
  let first = new Uint32Array(1 << 15);
  let second = new Uint32Array(1 << 15);
  let numbers = new Int32Array(1 << 15).fill(-1);
  let runs = new Int32Array(4096);
  let scanned: string | undefined;
  let scannedLength = 0;

  const clear = (): void => {
    generation++;
    texts = [];
    numbers.fill(-1);
  };

  /** Two hashes of 32 bits identify a run: two runs of one table collide in one of 10^9 tables. */
  const slotOf = (hash: number, other: number): number => {
    const mask = numbers.length - 1;
    let at = (hash ^ (hash >>> 15)) & mask;
    while (numbers[at] !== -1 && (first[at] !== hash || second[at] !== other)) at = (at + 1) & mask;
    return at;
  };

  const grow = (): void => {
    const old = { first, second, numbers };
    first = new Uint32Array(old.first.length * 2);
    second = new Uint32Array(old.first.length * 2);
    numbers = new Int32Array(old.first.length * 2).fill(-1);
    old.numbers.forEach((number, from) => {
      if (number === -1) return;
      const hash = old.first[from] ?? 0;
      const other = old.second[from] ?? 0;
      const at = slotOf(hash, other);
      first[at] = hash;
      second[at] = other;
      numbers[at] = number;
    });
  };

  const numberOf = (text: string, start: number, end: number, hash: number, other: number): number => {
    const at = slotOf(hash, other);
    const found = numbers[at] ?? -1;
    if (found !== -1) return found;
    first[at] = hash;
    second[at] = other;
    const number = texts.length;
    numbers[at] = number;
    // A part of a string keeps the whole string alive: a copy does not.
    texts.push(Buffer.from(text.slice(start, end), "utf16le").toString("utf16le"));
    if (texts.length * 2 > numbers.length) grow();
    return number;
  };

  const scan: RunTable["scan"] = (text) => {
    // Terms and vector of a chunk are computed one after the other, from the same text.
    if (text === scanned) return { runs, length: scannedLength };
    if (texts.length > MAX_RUNS) clear();
    let length = 0;
    for (let at = 0; at < text.length; at++) {
      const start = at;
      let hash = 0x811c9dc5;
      let other = 0x9747b28c;
      for (; at < text.length; at++) {
        const code = text.charCodeAt(at);
        if (code < 128 && IS_RUN[code] === 0) break;
        if (at - start >= MAX_RUN_CHARS) continue;
        hash = Math.imul(hash ^ code, 0x01000193);
        other = Math.imul(other ^ code, 0x5bd1e995) + (other >>> 13);
      }
      if (at === start) continue;
      if (length === runs.length) runs = grown(runs, length + 1);
      const end = Math.min(at, start + MAX_RUN_CHARS);
      runs[length++] = numberOf(text, start, end, hash >>> 0, other >>> 0);
    }
    scanned = text;
    scannedLength = length;
    return { runs, length };
  };

  return {
    get generation() {
      return generation;
    },
    scan,
    textOf: (run) => texts[run] ?? "",
  };
};

const table = createRunTable();

/** The runs of a text as strings: for queries, paths and names. */
export const runsOf = (text: string): readonly string[] => {
  const { runs, length } = table.scan(text);
  return Array.from(runs.subarray(0, length), table.textOf);
};

/** The numbers of a text; the array is reused by the next call. */
export interface TextNumbers {
  readonly numbers: Int32Array;
  readonly length: number;
}

/**
 * Maps the runs of a text to numbers (of terms, or of tokens). They are computed once per run, and kept one after the other in
 * one array, which keeps memory accesses local.
 */
export const numbersOfRuns = (
  make: (run: string) => readonly number[],
): ((text: string, maxNumbers?: number) => TextNumbers) => {
  let generation = table.generation;
  // Where the numbers of a run start, with their count before them; 0 for a run that was not seen yet.
  let starts = new Int32Array(1 << 12);
  let pool = new Int32Array(1 << 14);
  let used = 1;
  let numbers = new Int32Array(1 << 12);

  const add = (run: number): number => {
    const made = make(table.textOf(run));
    if (used + made.length + 1 > pool.length) pool = grown(pool, used + made.length + 1);
    const start = used;
    pool[used++] = made.length;
    for (const number of made) pool[used++] = number;
    if (run >= starts.length) starts = grown(starts, run + 1);
    starts[run] = start;
    return start;
  };

  return (text, maxNumbers = Number.POSITIVE_INFINITY) => {
    const { runs, length: count } = table.scan(text);
    if (generation !== table.generation) {
      generation = table.generation;
      starts.fill(0);
      used = 1;
    }
    let length = 0;
    for (let i = 0; i < count && length < maxNumbers; i++) {
      const run = runs[i] ?? 0;
      const known = starts[run] ?? 0;
      const start = known === 0 ? add(run) : known;
      const size = Math.min(pool[start] ?? 0, maxNumbers - length);
      if (length + size > numbers.length) numbers = grown(numbers, length + size);
      for (let j = 1; j <= size; j++) numbers[length++] = pool[start + j] ?? 0;
    }
    return { numbers, length };
  };
};
