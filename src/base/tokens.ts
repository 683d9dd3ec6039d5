type CountTokens = (text: string) => number;

let loaded: Promise<CountTokens> | undefined;

/** Characters. */
const LONG_RUN = 256;

/** What the tokenizer takes for one word, of a length that no word has. */
const LONG_RUNS = new RegExp(
  `([\\p{L}\\p{M}]{${LONG_RUN},}|[^\\s\\p{L}\\p{M}\\p{N}]{${LONG_RUN},}|\\s{${LONG_RUN},})`,
  "u",
);
const LONG_SPACE = new RegExp(`\\s{${LONG_RUN}}`);
const PIECES = new RegExp(`[^]{1,${LONG_RUN}}`, "gu");

/** Only space goes on over line ends: where lines are short, most of the look for long runs is saved. */
const mayHaveLongRuns = (text: string): boolean => {
  for (let from = 0; from < text.length; ) {
    const end = text.indexOf("\n", from);
    if ((end < 0 ? text.length : end) - from >= LONG_RUN) return true;
    from = end < 0 ? text.length : end + 1;
  }
  return LONG_SPACE.test(text);
};

/**
 * The tokenizer's time grows with the square of a word's length: a quarter of a megabyte of one letter takes a minute.
 * A run of that kind is counted in pieces, which may find a token or two more for each piece.
 */
const withoutLongRuns =
  (count: CountTokens): CountTokens =>
  (text) => {
    if (text.length < LONG_RUN || !mayHaveLongRuns(text)) return count(text);
    // Every second part is a run.
    const parts = text.split(LONG_RUNS);
    if (parts.length === 1) return count(text);
    return parts
      .flatMap((part, i) => (i % 2 === 0 ? [part] : (part.match(PIECES) ?? [])))
      .reduce((sum, part) => sum + count(part), 0);
  };

/** Some megabyte: the words of a few hundred files. */
const MAX_KNOWN = 16_384;

/**
 * Tokens never reach over the pieces that the tokenizer first splits a text into, and texts are made of the same few
 * thousand pieces. Its own table has two hundred thousand, and a look into that is most of the time of counting.
 */
const byPiece = (split: RegExp, count: CountTokens): CountTokens => {
  const known = new Map<string, number>();
  return (text) => {
    let sum = 0;
    for (const piece of text.match(split) ?? []) {
      let tokens = known.get(piece);
      if (tokens === undefined) {
        tokens = count(piece);
        if (known.size >= MAX_KNOWN) known.clear();
        // A part of a string keeps the whole string alive: a copy does not.
        known.set(Buffer.from(piece, "utf16le").toString("utf16le"), tokens);
      }
      sum += tokens;
    }
    return sum;
  };
};

const load = async (): Promise<CountTokens> => {
  const [{ countTokens }, { O200K_TOKEN_SPLIT_REGEX }] = await Promise.all([
    import("gpt-tokenizer/encoding/o200k_base"),
    import("gpt-tokenizer/encodingParams/constants"),
  ]);
  // Text of a file may well contain "<|endoftext|>": it is data, and is counted as ordinary text.
  const options = { disallowedSpecial: new Set<string>() };
  return withoutLongRuns(byPiece(O200K_TOKEN_SPLIT_REGEX, (piece) => countTokens(piece, options)));
};

/** Loads the o200k_base tokenizer on first use: it costs about 130 ms and 30 MB, so nothing on the start path asks for it. */
export const tokenCounter = (): Promise<CountTokens> => {
  loaded ??= load();
  return loaded;
};
