/** Cuts at a code point, never inside one, and says that it cut. */
export const ellipsize = (text: string, maxChars: number): string => {
  if (text.length <= maxChars) return text;
  const end = /[\uD800-\uDBFF]$/.test(text.slice(0, maxChars)) ? maxChars - 1 : maxChars;
  return `${text.slice(0, end)}…`;
};

/** For showing a caller's own words back to them: short, on one line, without control characters. */
export const quoteForMessage = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: removing them is the point.
  `"${ellipsize(text.replace(/[\u0000-\u001f\u007f-\u009f]/g, "?"), 120)}"`;

const MAX_NAME_CHARS = 100;

/** A name that a client gave itself goes into logs, the environment of commands and terminals: printable, and short. */
export const cleanName = (name: string): string =>
  name.replace(/[^\x20-\x7e]/g, "?").slice(0, MAX_NAME_CHARS);

const distance = (a: string, b: string): number => {
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

/** The candidate that was most likely meant, or nothing when none is close. */
export const nearest = (word: string, candidates: Iterable<string>): string | undefined => {
  const wanted = word.slice(0, 120);
  let best: string | undefined;
  let bestDistance = Math.min(wanted.length - 1, Math.max(2, Math.ceil(wanted.length / 3)));
  for (const candidate of candidates) {
    const d = distance(wanted.toLowerCase(), candidate.toLowerCase());
    if (d < bestDistance || (d === bestDistance && best === undefined)) {
      best = candidate;
      bestDistance = d;
    }
  }
  return best;
};
