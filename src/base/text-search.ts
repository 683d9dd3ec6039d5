/**
 * V8 looks for a text of this length in linear time; for longer ones it may compare every character with every other,
 * seconds for a few hundred kilobytes of `aaaa` and a text that almost occurs in it. Measured: 12 ms per megabyte at
 * most, up to 250 characters.
 */
const NATIVE_CHARS = 128;

/** For each beginning of the text, the length of the longest shorter beginning that it also ends with (Knuth, Morris, Pratt). */
const bordersOf = (text: string): Int32Array => {
  const borders = new Int32Array(text.length);
  let length = 0;
  for (let at = 1; at < text.length; at++) {
    const char = text.charCodeAt(at);
    while (length > 0 && char !== text.charCodeAt(length)) length = borders[length - 1] ?? 0;
    if (char === text.charCodeAt(length)) length++;
    borders[at] = length;
  }
  return borders;
};

/**
 * `indexOf` for one text that is looked for, in linear time whatever both texts are. `onSteps` is called after each
 * search how many characters were gone through; what is compared here and not by V8 counts double, because it takes
 * twice as long.
 */
export const createTextSearch = (
  wanted: string,
  onSteps: (steps: number) => void = () => {},
): ((text: string, from?: number) => number) => {
  const searchNatively = (looked: string, text: string, from: number): number => {
    const found = text.indexOf(looked, from);
    onSteps(found < 0 ? Math.max(0, text.length - from) : found + looked.length - from);
    return found;
  };
  if (wanted.length <= NATIVE_CHARS) return (text, from = 0) => searchNatively(wanted, text, from);
  const beginning = wanted.slice(0, NATIVE_CHARS);
  let borders: Int32Array | undefined;
  return (text, from = 0) => {
    /** How much of the wanted text ends before `at`. */
    let matched = 0;
    let at = from;
    let steps = 0;
    while (matched < wanted.length) {
      if (matched === 0) {
        const start = searchNatively(beginning, text, at);
        if (start < 0) {
          at = -1;
          break;
        }
        at = start + NATIVE_CHARS;
        matched = NATIVE_CHARS;
        continue;
      }
      steps += 2;
      if (at >= text.length) {
        at = -1;
        break;
      }
      if (text.charCodeAt(at) === wanted.charCodeAt(matched)) {
        at++;
        matched++;
      } else {
        if (borders === undefined) {
          borders = bordersOf(wanted);
          steps += 2 * wanted.length;
        }
        matched = borders[matched - 1] ?? 0;
      }
    }
    onSteps(steps);
    return at < 0 ? -1 : at - matched;
  };
};
