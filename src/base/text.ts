/** Shortens the text at a code point and appends an ellipsis. */
export const ellipsize = (text: string, maxChars: number): string => {
  if (text.length <= maxChars) return text;
  const end = /[\uD800-\uDBFF]$/.test(text.slice(0, maxChars)) ? maxChars - 1 : maxChars;
  return `${text.slice(0, end)}…`;
};

/** The beginning, in whole lines where a line ends in its second half. */
export const takeBeginning = (text: string, maxChars: number): string => {
  if (text.length <= maxChars) return text;
  const cut = text.slice(0, maxChars);
  const lineEnd = cut.lastIndexOf("\n") + 1;
  return lineEnd > maxChars / 2 ? cut.slice(0, lineEnd) : cut.replace(/[\uD800-\uDBFF]$/, "");
};

/** Quotes a caller's text in a message: short, on one line, without control characters. */
export const quoteForMessage = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: removing them is the point.
  `"${ellipsize(text.replace(/[\u0000-\u001f\u007f-\u009f]/g, "?"), 120)}"`;

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
const COLOURS = /\u001b\[[0-9;:]{0,64}m/g;
// All of C0, DEL and C1, except tabs and the ends of lines; and what turns the direction of the text after it.
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]|\r(?!\n)/g;

const pictureOf = (control: string): string => {
  const code = control.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  if (code === 0x7f) return "\u2421";
  return code < 0x100 ? `\\x${code.toString(16)}` : `\\u${code.toString(16)}`;
};

/**
 * Makes control characters in the text of a command or a file visible (ESC becomes ␛), so that none of them moves a
 * cursor, sets a title or hides other text. Colours are removed.
 */
export const showControls = (text: string): string =>
  text.search(CONTROLS) < 0 ? text : text.replace(COLOURS, "").replace(CONTROLS, pictureOf);

/** `3 files`, `1 file`. */
export const plural = (count: number, noun: string, nouns = `${noun}s`): string =>
  `${count} ${count === 1 ? noun : nouns}`;

const MAX_NAME_CHARS = 100;

/** A client's name for itself appears in logs, terminals and the environment of commands, so it is made printable and short. */
export const cleanName = (name: string): string =>
  name.replace(/[^\x20-\x7e]/g, "?").slice(0, MAX_NAME_CHARS);

/** The number of edits between two texts. */
export const editDistance = (a: string, b: string): number => {
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      current.push(Math.min(substitution, (previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[b.length] ?? a.length;
};

/** The most similar candidate by edit distance; undefined if none is close. */
export const nearest = (text: string, candidates: Iterable<string>): string | undefined => {
  const wanted = text.slice(0, 120);
  let best: string | undefined;
  let bestDistance = Math.min(wanted.length - 1, Math.max(2, Math.ceil(wanted.length / 3)));
  for (const candidate of candidates) {
    // No two texts are closer than their lengths.
    if (Math.abs(wanted.length - candidate.length) > bestDistance) continue;
    const d = editDistance(wanted.toLowerCase(), candidate.toLowerCase());
    if (d < bestDistance || (d === bestDistance && best === undefined)) {
      best = candidate;
      bestDistance = d;
    }
  }
  return best;
};

/** A cell of CSV. Names come from clients: what a spreadsheet would run as a formula, or a terminal obey, is made harmless. */
export const csvCell = (value: string): string => {
  const shown = showControls(value);
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${shown}` : shown;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

const HTML_SIGNS: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** For pages with texts of documents, models or strangers: nothing of them acts as markup. */
export const escapeHtml = (value: unknown): string =>
  String(value ?? "").replace(/[&<>"']/g, (sign) => HTML_SIGNS[sign] ?? "");
