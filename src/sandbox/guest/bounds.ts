/** Bounds of what a guest sends. An honest guest keeps to them; the server ends one that does not. */
export const MAX_FILES = 100;
export const MAX_FILE_NAME_CHARS = 200;
/** Far longer than the name of any tool. */
export const MAX_TOOL_NAME_CHARS = 200;
/** That wait at once in one program. */
export const MAX_TIMERS = 1000;
/** Of arrays and objects in a result: what reads it calls itself for each level. */
export const MAX_RESULT_DEPTH = 200;

const QUOTE = 34;
const BACKSLASH = 92;
const OPENING = new Set([91, 123]);
const CLOSING = new Set([93, 125]);

/** Of everything in a result: each takes some twenty times its text where it is read, in a process with a small heap. */
export const MAX_RESULT_VALUES = 200_000;

const COMMA = 44;

/** Whether valid JSON is nested deeper than a result may be, or has more values. */
export const isTooComplex = (json: string): boolean => {
  let depth = 0;
  let values = 1;
  let isInString = false;
  for (let i = 0; i < json.length; i++) {
    const code = json.charCodeAt(i);
    if (code === QUOTE) isInString = !isInString;
    else if (isInString) {
      if (code === BACKSLASH) i++;
    } else if (code === COMMA) values++;
    else if (OPENING.has(code)) {
      depth++;
      values++;
      if (depth > MAX_RESULT_DEPTH) return true;
    } else if (CLOSING.has(code)) depth--;
  }
  return values > MAX_RESULT_VALUES;
};
