import { LlmcError } from "./error.ts";

export interface JsonLimits {
  readonly maxDepth: number;
  readonly maxArrayLength: number;
}

/** The limits of the design documents (REQ-I6). */
const JSON_LIMITS: JsonLimits = { maxDepth: 32, maxArrayLength: 10_000 };

const refuse = (message: string, details: Record<string, string | number> = {}): never => {
  throw new LlmcError("invalid_args", message, { details });
};

const QUOTE = 34;
const BACKSLASH = 92;
const COMMA = 44;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;

/** Where the string ends that starts here; throws when it does not end. */
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

/** One open object (with its keys so far) or array, and its separators so far. */
type Open = { readonly keys: Set<string> | undefined; separators: number; expectsKey: boolean };

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's message quotes the input; ours must not (FAIL-D10).
    return refuse("Not valid JSON.");
  }
};

/**
 * Looks over the text before it is parsed: nesting and array bounds, and keys given twice, which two parsers may read
 * differently. JSON.parse alone would accept all three. Strings are skipped natively, so a long one costs little.
 */
const scan = (text: string, limits: JsonLimits): void => {
  const open: Open[] = [];
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i);
    const top = open.at(-1);
    if (char === QUOTE) {
      const end = endOfString(text, i);
      if (top?.keys !== undefined && top.expectsKey) {
        const quoted = text.slice(i, end + 1);
        const key = quoted.includes("\\") ? String(parse(quoted)) : quoted.slice(1, -1);
        if (top.keys.has(key)) refuse("A key appears twice in one object.");
        top.keys.add(key);
        top.expectsKey = false;
      }
      i = end;
    } else if (char === OPEN_BRACE || char === OPEN_BRACKET) {
      if (open.length >= limits.maxDepth)
        refuse(`Nested deeper than ${limits.maxDepth} levels.`, { max_depth: limits.maxDepth });
      const isObject = char === OPEN_BRACE;
      open.push({ keys: isObject ? new Set() : undefined, separators: 0, expectsKey: isObject });
    } else if (char === CLOSE_BRACE || char === CLOSE_BRACKET) {
      open.pop();
    } else if (char === COMMA && top !== undefined) {
      top.expectsKey = top.keys !== undefined;
      // Objects have the same bound: half a million keys in one of them take seconds to build.
      if (++top.separators >= limits.maxArrayLength) {
        refuse(`An array or object has more than ${limits.maxArrayLength} items.`, {
          max_items: limits.maxArrayLength,
        });
      }
    }
  }
};

/** What only shows after parsing: escapes that decode to broken text, numbers beyond double range, prototype keys. */
const checkValues = (root: unknown): void => {
  const pending: unknown[] = [root];
  while (pending.length > 0) {
    const value = pending.pop();
    if (typeof value === "string") {
      if (!value.isWellFormed()) refuse("A string holds half of a surrogate pair.");
    } else if (typeof value === "number") {
      if (!Number.isFinite(value)) refuse("A number is out of range.");
    } else if (Array.isArray(value)) {
      for (const item of value) pending.push(item);
    } else if (typeof value === "object" && value !== null) {
      for (const [key, item] of Object.entries(value)) {
        if (key === "__proto__") refuse('The key "__proto__" is not accepted.');
        if (!key.isWellFormed()) refuse("A key holds half of a surrogate pair.");
        pending.push(item);
      }
    }
  }
};

/** Parses untrusted JSON, or throws `invalid_args` with a short reason that never quotes the input. */
export const parseGuarded = (text: string, limits: JsonLimits = JSON_LIMITS): unknown => {
  scan(text, limits);
  const value = parse(text);
  checkValues(value);
  return value;
};

const utf8 = new TextDecoder("utf-8", { fatal: true });

export const parseGuardedBytes = (bytes: Uint8Array, limits: JsonLimits = JSON_LIMITS): unknown => {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    return refuse("Not valid UTF-8.");
  }
  return parseGuarded(text, limits);
};
