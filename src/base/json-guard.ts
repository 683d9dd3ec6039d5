import { LlmcError } from "./error.ts";

/** The limits of the design documents (REQ-I6). */
const MAX_DEPTH = 32;
const MAX_ARRAY_LENGTH = 10_000;
/**
 * Commas and opening brackets of a whole text, of which there are about as many as values: what is parsed takes up to 21
 * times the memory of its text, where that is `{}` after `{}`.
 */
const MAX_MARKS = 200_000;
/** What one of them comes to in memory, at most: there are two to an object with a key that no other has. */
const MARK_BYTES = 64;

const refuse = (message: string, details: Record<string, string | number> = {}): never => {
  throw new LlmcError("invalid_args", message, { details });
};

const QUOTE = 34;
const BACKSLASH = 92;
const COMMA = 44;
const COLON = 58;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;

/** The position of the closing quote; throws if there is none. */
export const endOfString = (text: string, start: number): number => {
  let end = text.indexOf('"', start + 1);
  while (end !== -1) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return end;
    end = text.indexOf('"', end + 1);
  }
  return refuse("Not valid JSON: a string is not closed.");
};

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's message quotes the input; ours must not (FAIL-D10).
    return refuse("Not valid JSON.");
  }
};

interface Scanned {
  /** Outside of strings: in valid JSON, the number of keys. */
  readonly colons: number;
  /** Commas and opening brackets. */
  readonly marks: number;
}

/**
 * Checks the nesting, the sizes of arrays and objects and about how many values there are before the text is parsed, because JSON.parse
 * has no limits. Strings are skipped by `indexOf`, so long ones cost little.
 */
const scan = (text: string): Scanned => {
  /** Separators so far in each array and object that is open. */
  const open: number[] = [];
  let colons = 0;
  let marks = 0;
  const count = (): void => {
    marks++;
    if (marks > MAX_MARKS)
      refuse(`More than ${MAX_MARKS} commas and opening brackets in all.`, { max_marks: MAX_MARKS });
  };
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case QUOTE:
        i = endOfString(text, i);
        break;
      case COLON:
        colons++;
        break;
      case OPEN_BRACE:
      case OPEN_BRACKET:
        if (open.length >= MAX_DEPTH)
          refuse(`Nested deeper than ${MAX_DEPTH} levels.`, { max_depth: MAX_DEPTH });
        open.push(0);
        count();
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        open.pop();
        break;
      case COMMA: {
        const separators = (open.pop() ?? 0) + 1;
        // Objects have the same limit: one with half a million keys takes seconds to build.
        if (separators >= MAX_ARRAY_LENGTH) {
          refuse(`An array or object has more than ${MAX_ARRAY_LENGTH} items.`, {
            max_items: MAX_ARRAY_LENGTH,
          });
        }
        open.push(separators);
        count();
        break;
      }
    }
  }
  return { colons, marks };
};

/**
 * What only shows after parsing: escapes that decode to broken text, numbers beyond double range, prototype keys. Returns
 * the keys of all objects. It calls itself for each level, of which the scan has let few through.
 */
const checkValue = (value: unknown): number => {
  if (typeof value === "string") {
    if (!value.isWellFormed()) refuse("A string holds half of a surrogate pair.");
  } else if (typeof value === "number") {
    if (!Number.isFinite(value)) refuse("A number is out of range.");
  } else if (Array.isArray(value)) {
    return value.reduce((keys: number, item) => keys + checkValue(item), 0);
  } else if (typeof value === "object" && value !== null) {
    const own = Object.keys(value);
    let keys = own.length;
    for (const key of own) {
      if (key === "__proto__") refuse('The key "__proto__" is not accepted.');
      if (!key.isWellFormed()) refuse("A key holds half of a surrogate pair.");
      keys += checkValue((value as Readonly<Record<string, unknown>>)[key]);
    }
    return keys;
  }
  return 0;
};

export interface Measured {
  readonly value: unknown;
  /** About how much memory it takes besides its text. */
  readonly extraBytes: number;
}

const parseMeasured = (text: string): Measured => {
  const { colons, marks } = scan(text);
  const value = parse(text);
  // JSON.parse keeps the last of two equal keys; another parser may use the first.
  if (checkValue(value) !== colons) refuse("A key appears twice in one object.");
  return { value, extraBytes: marks * MARK_BYTES };
};

/** Parses untrusted JSON, or throws `invalid_args` with a short reason that never quotes the input. */
export const parseGuarded = (text: string): unknown => parseMeasured(text).value;

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** The same for bytes, where what many of them come to has to be bounded, too. */
export const parseMeasuredBytes = (bytes: Uint8Array): Measured => {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    return refuse("Not valid UTF-8.");
  }
  return parseMeasured(text);
};

export const parseGuardedBytes = (bytes: Uint8Array): unknown => parseMeasuredBytes(bytes).value;
