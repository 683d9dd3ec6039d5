export type CountTokens = (text: string) => number;

/** The pattern by which o200k_base splits a text before it merges bytes, from tiktoken's `openai_public.py`. */
const CONTRACTION = "(?:'(?:[sS]|[dD]|[mM]|[tT]|[lL][lL]|[vV][eE]|[rR][eE]))?";
const UPPER = String.raw`[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`;
const LOWER = String.raw`[\p{Ll}\p{Lm}\p{Lo}\p{M}]`;
const PIECE = new RegExp(
  [
    String.raw`[^\r\n\p{L}\p{N}]?${UPPER}*${LOWER}+${CONTRACTION}`,
    String.raw`[^\r\n\p{L}\p{N}]?${UPPER}+${LOWER}*${CONTRACTION}`,
    String.raw`\p{N}{1,3}`,
    String.raw` ?[^\s\p{L}\p{N}]+[\r\n/]*`,
    String.raw`\s*[\r\n]+`,
    String.raw`\s+(?!\S)`,
    String.raw`\s+`,
  ].join("|"),
  "gu",
);

/** Characters. */
const LONG_RUN = 256;

/** What the pattern takes for one piece, of a length that no word has. */
const LONG_RUNS = new RegExp(
  `([\\p{L}\\p{M}]{${LONG_RUN},}|[^\\s\\p{L}\\p{M}\\p{N}]{${LONG_RUN},}|\\s{${LONG_RUN},})`,
  "u",
);
const LONG_SPACE = new RegExp(`\\s{${LONG_RUN}}`);
const PARTS = new RegExp(`[^]{1,${LONG_RUN}}`, "gu");

/** Only white space continues over line ends: where lines are short, most of the search for long runs is saved. */
const mayHaveLongRuns = (text: string): boolean => {
  for (let from = 0; from < text.length; ) {
    const end = text.indexOf("\n", from);
    if ((end < 0 ? text.length : end) - from >= LONG_RUN) return true;
    from = end < 0 ? text.length : end + 1;
  }
  return LONG_SPACE.test(text);
};

/**
 * The time to merge a piece grows with the square of its length: a quarter of a megabyte of one letter would take minutes.
 * A long run is counted in parts instead, which may find a token or two more for each part.
 */
const withoutLongRuns =
  (count: CountTokens): CountTokens =>
  (text) => {
    if (text.length < LONG_RUN || !mayHaveLongRuns(text)) return count(text);
    // Every second part is a long run.
    const parts = text.split(LONG_RUNS);
    if (parts.length === 1) return count(text);
    return parts
      .flatMap((part, i) => (i % 2 === 0 ? [part] : (part.match(PARTS) ?? [])))
      .reduce((sum, part) => sum + count(part), 0);
  };

const NO_RANK = 0x7fffffff;
const LINE_END = 10;
const SPACE = 32;
const PADDING = 61;

const BASE64 = new Uint8Array(128);
for (const [value, letter] of [
  ..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
].entries())
  BASE64[letter.charCodeAt(0)] = value;

/** The rank of a byte sequence, or `NO_RANK` where it is not a token. */
type RankOf = (bytes: Uint8Array, start: number, end: number) => number;

/** There are 199,998 tokens. */
const MAX_TOKENS = 1 << 18;
const SLOTS = 1 << 19;

interface Tokens {
  /** The bytes of all tokens, one after the other, in the order of their ranks. */
  readonly bytes: Uint8Array;
  /** Where the token of each rank starts, and where the last one ends. */
  readonly starts: Uint32Array;
  readonly count: number;
}

/** Decodes in place, over the Base64 that was read already. */
const decodeTokens = (tiktoken: Uint8Array): Tokens => {
  const starts = new Uint32Array(MAX_TOKENS + 1);
  let count = 0;
  let length = 0;
  for (let at = 0; at < tiktoken.length && count < MAX_TOKENS; at++) {
    let bits = 0;
    let value = 0;
    for (; at < tiktoken.length; at++) {
      const code = tiktoken[at] ?? SPACE;
      if (code === SPACE) break;
      if (code === PADDING) continue;
      value = ((value << 6) | (BASE64[code] ?? 0)) & 0xffff;
      bits += 6;
      if (bits < 8) continue;
      bits -= 8;
      tiktoken[length++] = value >> bits;
    }
    // The lines are in the order of the ranks, so the rank itself need not be read.
    at = tiktoken.indexOf(LINE_END, at);
    starts[++count] = length;
    if (at < 0) break;
  }
  return { bytes: tiktoken.slice(0, length), starts, count };
};

/**
 * Tokens in typed arrays and a hash table by open addressing: 5 MB, where the package gpt-tokenizer, with a string and a
 * Map entry for each of the 200,000 tokens, makes the process 108 MB larger (Node 24).
 */
const createRankTable = (tiktoken: Uint8Array): RankOf => {
  const { bytes: known, starts, count } = decodeTokens(tiktoken);
  const slots = new Int32Array(SLOTS).fill(-1);

  const isToken = (rank: number, bytes: Uint8Array, from: number, end: number): boolean => {
    const start = starts[rank] ?? 0;
    if ((starts[rank + 1] ?? 0) - start !== end - from) return false;
    for (let i = 0; i < end - from; i++) if (known[start + i] !== bytes[from + i]) return false;
    return true;
  };

  const hashOf = (bytes: Uint8Array, from: number, end: number): number => {
    let hash = 0x811c9dc5;
    for (let i = from; i < end; i++) hash = Math.imul(hash ^ (bytes[i] ?? 0), 0x01000193);
    return (hash ^ (hash >>> 15)) & (SLOTS - 1);
  };

  for (let rank = 0; rank < count; rank++) {
    let slot = hashOf(known, starts[rank] ?? 0, starts[rank + 1] ?? 0);
    while (slots[slot] !== -1) slot = (slot + 1) & (SLOTS - 1);
    slots[slot] = rank;
  }

  return (bytes, from, end) => {
    for (let slot = hashOf(bytes, from, end); ; slot = (slot + 1) & (SLOTS - 1)) {
      const rank = slots[slot] ?? -1;
      if (rank === -1) return NO_RANK;
      if (isToken(rank, bytes, from, end)) return rank;
    }
  };
};

/** How many tokens byte pair encoding leaves of a piece: the pair of the lowest rank is merged until none has one. */
const countMerged = (bytes: Uint8Array, length: number, rankOf: RankOf): number => {
  if (rankOf(bytes, 0, length) !== NO_RANK) return 1;
  const starts = Array.from({ length: length + 1 }, (_, at) => at);
  const rankAt = (at: number): number =>
    at + 2 < starts.length ? rankOf(bytes, starts[at] ?? 0, starts[at + 2] ?? 0) : NO_RANK;
  const ranks = starts.map((_, at) => rankAt(at));
  for (;;) {
    let best = 0;
    for (let at = 1; at < ranks.length; at++) if ((ranks[at] ?? 0) < (ranks[best] ?? 0)) best = at;
    if (ranks[best] === NO_RANK) return starts.length - 1;
    starts.splice(best + 1, 1);
    ranks.splice(best + 1, 1);
    ranks[best] = rankAt(best);
    if (best > 0) ranks[best - 1] = rankAt(best - 1);
  }
};

/** About a megabyte: the pieces of a few hundred files. */
const MAX_KNOWN = 16_384;

/**
 * Counts tokens of o200k_base. `tiktoken` is the file of that name: one token per line, in Base64, with its rank; its
 * memory is reused. Special tokens such as "<|endoftext|>" are data in the text of a file, and are counted as ordinary text.
 */
export const createTokenCounter = (tiktoken: Uint8Array): CountTokens => {
  const rankOf = createRankTable(tiktoken);
  const encoder = new TextEncoder();
  let bytes = new Uint8Array(4096);
  // Texts are made of the same few thousand pieces: without this, counting takes twice the time.
  const known = new Map<string, number>();

  const countPiece = (piece: string): number => {
    const found = known.get(piece);
    if (found !== undefined) return found;
    if (piece.length * 3 > bytes.length) bytes = new Uint8Array(piece.length * 6);
    const count = countMerged(bytes, encoder.encodeInto(piece, bytes).written, rankOf);
    if (known.size >= MAX_KNOWN) known.clear();
    // A part of a string keeps the whole string alive: a copy does not.
    known.set(Buffer.from(piece, "utf16le").toString("utf16le"), count);
    return count;
  };

  return withoutLongRuns((text) => {
    let sum = 0;
    for (const piece of text.match(PIECE) ?? []) sum += countPiece(piece);
    return sum;
  });
};
