import { LlmcError } from "../../base/error.ts";
import { memoize } from "../collections/memoize.ts";

/** The parts of `tokenizer.json` that are used; padding, truncation and decoding are not. */
interface TokenizerFile {
  readonly normalizer?: {
    readonly type?: unknown;
    readonly clean_text?: unknown;
    readonly handle_chinese_chars?: unknown;
    readonly strip_accents?: unknown;
    readonly lowercase?: unknown;
  };
  readonly pre_tokenizer?: { readonly type?: unknown };
  readonly model?: {
    readonly type?: unknown;
    readonly unk_token?: unknown;
    readonly continuing_subword_prefix?: unknown;
    readonly max_input_chars_per_word?: unknown;
    readonly vocab?: Readonly<Record<string, number>>;
  };
}

/** A longer text has more tokens than these models take, unless it is mostly white space. */
const MAX_CHARS_PER_TOKEN = 32;
const MAX_CACHED_TOKENS = 50_000;
const MAX_WORD_CHARS = 100;

// Control, unassigned and surrogate characters, except for white space.
const UNPRINTABLE = /(?![\t\n\r])[\p{C}\uFFFD]/gu;
const ACCENTS = /\p{Mn}/gu;
const IDEOGRAPH =
  "\\u4E00-\\u9FFF\\u3400-\\u4DBF\\u{20000}-\\u{2A6DF}\\u{2A700}-\\u{2B73F}\\u{2B740}-\\u{2B81F}\\u{2B820}-\\u{2CEAF}\\uF900-\\uFAFF\\u{2F800}-\\u{2FA1F}";
// All ASCII punctuation counts, also what Unicode calls symbols ($ + < = > ^ ` | ~).
const PUNCTUATION = "!-\\/:-@\\[-`\\{-~\\p{P}";
const IDEOGRAPHS = new RegExp(`[${IDEOGRAPH}]`, "gu");
const TOKEN_PATTERN = new RegExp(`[${PUNCTUATION}]|[^\\p{White_Space}${PUNCTUATION}]+`, "gu");

const unusable = (reason: string): LlmcError =>
  new LlmcError("unavailable", `The tokenizer of the embedding model cannot be used: ${reason}.`, {
    hint: 'mcp.rag.embedder_model needs a BERT model with a WordPiece tokenizer.json; mcp.rag.embedder = "static" needs none.',
    retryable: false,
  });

const parse = (json: string): TokenizerFile => {
  try {
    return JSON.parse(json) as TokenizerFile;
  } catch (error) {
    throw Object.assign(unusable("tokenizer.json is not JSON"), { cause: error });
  }
};

const createNormalizer = (rules: NonNullable<TokenizerFile["normalizer"]>): ((text: string) => string) => {
  const isLower = rules.lowercase === true;
  const isPlain = typeof rules.strip_accents === "boolean" ? rules.strip_accents : isLower;
  return (text) => {
    let made = rules.clean_text === false ? text : text.replace(UNPRINTABLE, "");
    if (rules.handle_chinese_chars !== false) made = made.replace(IDEOGRAPHS, " $& ");
    if (isPlain) made = made.normalize("NFD").replace(ACCENTS, "");
    return isLower ? made.toLowerCase() : made;
  };
};

/**
 * Converts text to the token ids of a BERT model, as its `tokenizer.json` says. Special tokens such as `[SEP]` within a text
 * are plain text: the content of a file must not act as one.
 */
export const createBertTokenizer = (json: string) => {
  const { normalizer, pre_tokenizer, model } = parse(json);
  const vocab = model?.vocab;
  if (model?.type !== "WordPiece" || typeof vocab !== "object" || vocab === null)
    throw unusable("it is not WordPiece");
  if (normalizer?.type !== "BertNormalizer" || pre_tokenizer?.type !== "BertPreTokenizer")
    throw unusable("it does not split words as BERT does");
  const numbers = new Map(Object.entries(vocab));
  const special = (token: string): number => {
    const number = numbers.get(token);
    if (number === undefined) throw unusable(`${token} is not in its vocabulary`);
    return number;
  };
  const [begin, end] = [special("[CLS]"), special("[SEP]")];
  const unknown = special(typeof model.unk_token === "string" ? model.unk_token : "[UNK]");
  const prefix = typeof model.continuing_subword_prefix === "string" ? model.continuing_subword_prefix : "##";
  const maxWordChars =
    typeof model.max_input_chars_per_word === "number" ? model.max_input_chars_per_word : MAX_WORD_CHARS;

  const piecesOf = (word: string): readonly number[] => {
    const letters = Array.from(word);
    if (letters.length > maxWordChars) return [unknown];
    const pieces: number[] = [];
    for (let from = 0; from < letters.length; ) {
      let to = letters.length;
      let number: number | undefined;
      for (; to > from && number === undefined; to--)
        number = numbers.get((from === 0 ? "" : prefix) + letters.slice(from, to).join(""));
      if (number === undefined) return [unknown];
      pieces.push(number);
      from = to + 1;
    }
    return pieces;
  };

  const numbersOf = memoize(piecesOf, MAX_CACHED_TOKENS);
  const normalize = createNormalizer(normalizer);
  return {
    /** With the special tokens at both ends, which count towards `maxTokens`. */
    encode: (text: string, maxTokens: number): readonly number[] => {
      const tokens = [begin];
      const limit = Math.max(1, maxTokens - 1);
      for (const [word] of normalize(text.slice(0, maxTokens * MAX_CHARS_PER_TOKEN)).matchAll(
        TOKEN_PATTERN,
      )) {
        if (tokens.length >= limit) break;
        tokens.push(...numbersOf(word));
      }
      tokens.length = Math.min(tokens.length, limit);
      tokens.push(end);
      return tokens;
    },
  };
};
