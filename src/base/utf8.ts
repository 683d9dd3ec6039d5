export const NEWLINE = 0x0a;

export const countNewlines = (utf8: Buffer): number => {
  let count = 0;
  for (let at = utf8.indexOf(NEWLINE); at >= 0; at = utf8.indexOf(NEWLINE, at + 1)) count++;
  return count;
};

/** A final newline does not start another line. */
export const countLines = (utf8: Buffer): number =>
  countNewlines(utf8) + (utf8.length > 0 && utf8.at(-1) !== NEWLINE ? 1 : 0);

/** Where the first character at or after a byte starts. */
export const nextCharacter = (utf8: Buffer, at: number): number => {
  let start = at;
  while (start < utf8.length && ((utf8[start] ?? 0) & 0xc0) === 0x80) start++;
  return start;
};

/** As many whole characters as fit. */
export const firstBytes = (text: string, maxBytes: number): string => {
  const bytes = Buffer.from(text.slice(0, maxBytes));
  let end = Math.min(maxBytes, bytes.length);
  while (end > 0 && nextCharacter(bytes, end) !== end) end--;
  return bytes.toString("utf8", 0, end);
};
