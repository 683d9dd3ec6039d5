/** Above this many characters the estimate is made from evenly spaced pieces. */
const MAX_SCANNED = 262_144;
const PIECES = 16;

const UPPER = 1;
const LOWER = 2;
const DIGIT = 3;
const SPACE = 4;
const BREAK = 5;
const MARK = 6;
const OTHER = 7;

const CLASS_OF = Uint8Array.from({ length: 128 }, (_, code) => {
  if (code >= 97 && code <= 122) return LOWER;
  if (code >= 65 && code <= 90) return UPPER;
  if (code >= 48 && code <= 57) return DIGIT;
  if (code === 32 || code === 9) return SPACE;
  if (code === 10 || code === 13) return BREAK;
  return MARK;
});

// Fitted against o200k_base on source code, prose, logs, listings and diffs; see the test.
const LETTERS_PER_TOKEN = 6.4;
const CAPITALS_PER_TOKEN = 2.6;
const MARKS_PER_TOKEN = 1.75;
const OTHERS_PER_TOKEN = 1.6;

const costOf = (kind: number, length: number, before: number): number => {
  switch (kind) {
    case LOWER:
      // A word includes its leading space and capital; long words are split.
      return (before === UPPER ? 0.35 : 1) + Math.max(0, length - 7) / LETTERS_PER_TOKEN;
    case UPPER:
      return length === 1 ? 0.55 : Math.ceil(length / CAPITALS_PER_TOKEN);
    case DIGIT:
      // Unlike a word, a number leaves its blank alone.
      return Math.ceil(length / 3) + (before === SPACE ? 1 : 0);
    case SPACE:
      return length === 1 ? 0 : 1;
    case BREAK:
      return before === MARK ? 0.45 : 1;
    case MARK:
      return Math.max(1, length / MARKS_PER_TOKEN) * 0.85;
    default:
      return length / OTHERS_PER_TOKEN;
  }
};

const scan = (text: string): number => {
  let tokens = 0;
  let kind = 0;
  let before = 0;
  let length = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    const next = code < 128 ? (CLASS_OF[code] ?? OTHER) : OTHER;
    if (next === kind) {
      length++;
      continue;
    }
    if (length > 0) tokens += costOf(kind, length, before);
    before = kind;
    kind = next;
    length = 1;
  }
  return length > 0 ? tokens + costOf(kind, length, before) : tokens;
};

/** About how many tokens (o200k_base) a text costs: without the tokenizer's table, and quick however long the text is. */
export const estimateTokens = (text: string): number => {
  if (text.length <= MAX_SCANNED) return Math.ceil(scan(text));
  const size = MAX_SCANNED / PIECES;
  const step = (text.length - size) / (PIECES - 1);
  let tokens = 0;
  for (let piece = 0; piece < PIECES; piece++) {
    const from = Math.floor(piece * step);
    tokens += scan(text.slice(from, from + size));
  }
  return Math.ceil((tokens * text.length) / MAX_SCANNED);
};
