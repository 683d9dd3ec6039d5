import { endOfString } from "../base/json-guard.ts";
import { MAX_RESULT_DEPTH } from "./guest/bounds.ts";
import type { ProgramError } from "./guest/messages.ts";

const QUOTE = 34;
const OPENING = new Set([91, 123]);
const CLOSING = new Set([93, 125]);

/** A value takes some twenty times its text once it is parsed, in a process with a small heap. */
export const MAX_RESULT_VALUES = 200_000;

const COMMA = 44;

interface JsonBounds {
  readonly maxDepth: number;
  readonly maxValues: number;
}

const RESULT_BOUNDS: JsonBounds = { maxDepth: MAX_RESULT_DEPTH, maxValues: MAX_RESULT_VALUES };

/**
 * Whether JSON is nested too deeply, or has too many values, for those who parse it later. Only counts, and builds nothing.
 * Throws if a string is not terminated.
 */
export const isTooComplex = (json: string, { maxDepth, maxValues } = RESULT_BOUNDS): boolean => {
  let depth = 0;
  let values = 1;
  for (let i = 0; i < json.length; i++) {
    const code = json.charCodeAt(i);
    if (code === QUOTE) i = endOfString(json, i);
    else if (code === COMMA) values++;
    else if (OPENING.has(code)) {
      depth++;
      values++;
      if (depth > maxDepth) return true;
    } else if (CLOSING.has(code)) depth--;
    if (values > maxValues) return true;
  }
  return false;
};

/** The error of a program whose result nobody could read; its interpreter and its variables are kept. */
export const TOO_COMPLEX: ProgramError = {
  name: "RangeError",
  message: `The result is nested deeper than ${MAX_RESULT_DEPTH} levels, or has more than ${MAX_RESULT_VALUES} values: return less, or write it to a file of the ephemeral workspace.`,
};
