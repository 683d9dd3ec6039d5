type CountTokens = (text: string) => number;

let loaded: Promise<CountTokens> | undefined;

/** Loads the o200k_base tokenizer on first use: it costs about 130 ms and 30 MB, so nothing on the start path asks for it. */
export const tokenCounter = (): Promise<CountTokens> => {
  // Text of a file may well contain "<|endoftext|>": it is data, and is counted as ordinary text.
  loaded ??= import("gpt-tokenizer/encoding/o200k_base").then(
    ({ countTokens }) =>
      (text) =>
        countTokens(text, { disallowedSpecial: new Set() }),
  );
  return loaded;
};
