const NEWLINE = 10;
const RETURN = 13;
const TAB = 9;
const SPACE = 32;
const TAB_WIDTH = 4;

/** A text by its lines. Rows are counted from 0 and end at `\n` only, as tree-sitter and the file tools count. */
export const toLines = (text: string) => {
  const starts: number[] = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  if (starts.at(-1) === text.length && starts.length > 1) starts.pop();
  const count = text === "" ? 0 : starts.length;
  const start = (row: number): number => (row < count ? (starts[row] ?? 0) : text.length);
  const indents = new Int32Array(count);
  for (let row = 0; row < count; row++) {
    const end = start(row + 1);
    let at = start(row);
    let width = 0;
    for (; at < end; at++) {
      const code = text.charCodeAt(at);
      if (code === SPACE) width += 1;
      else if (code === TAB) width += TAB_WIDTH;
      else break;
    }
    const code = at < end ? text.charCodeAt(at) : NEWLINE;
    const plain = code > SPACE && code < 127;
    indents[row] = plain || text.slice(at, end).trim() !== "" ? width : -1;
  }

  return {
    text,
    count,
    /** Characters of the rows with their line ends. */
    chars: (from: number, to: number): number => start(to + 1) - start(from),
    /** The rows as they stand in the file, without the last line end. */
    slice: (from: number, to: number): string => {
      let end = start(to + 1);
      if (end > start(from) && text.charCodeAt(end - 1) === NEWLINE) {
        end--;
        if (end > start(from) && text.charCodeAt(end - 1) === RETURN) end--;
      }
      return text.slice(start(from), end);
    },
    blank: (row: number): boolean => (indents[row] ?? -1) < 0,
    /** Characters of white space at the start; a tab counts as 4. */
    indent: (row: number): number => Math.max(0, indents[row] ?? 0),
    /** First character that is not white space; empty on a blank row. */
    first: (row: number): string => {
      for (let at = start(row); at < start(row + 1); at++) {
        const code = text.charCodeAt(at);
        if (code > SPACE) return text[at] ?? "";
      }
      return "";
    },
  };
};

export type Lines = ReturnType<typeof toLines>;
