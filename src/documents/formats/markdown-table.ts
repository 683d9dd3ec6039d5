import type { StateBlock } from "markdown-it";

export const TABLE_TOKEN = "whole_table";

const DELIMITERS = /^\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;
/** Beyond this many characters, a line is no row that anybody wrote. */
const MAX_ROW_CHARS = 100_000;

const lineAt = (state: StateBlock, line: number): string =>
  state.src.slice(
    (state.bMarks[line] ?? 0) + (state.tShift[line] ?? 0),
    Math.min(state.eMarks[line] ?? 0, (state.bMarks[line] ?? 0) + MAX_ROW_CHARS),
  );

/** Cells of a row; the bars at its ends separate nothing, and an escaped one is text. */
const countCells = (row: string): number =>
  row.trim().replace(/^\|/, "").replace(/\|$/, "").replaceAll("\\|", "").split("|").length;

const isTableStart = (state: StateBlock, start: number, end: number): boolean => {
  if (start + 1 >= end || (state.sCount[start + 1] ?? 0) < state.blkIndent) return false;
  const [header, delimiters] = [lineAt(state, start), lineAt(state, start + 1)];
  if (!header.includes("|") || !DELIMITERS.test(delimiters)) return false;
  return countCells(header) === countCells(delimiters);
};

/**
 * A table as one token. The rule of the library makes a few tokens of each cell, which for a table of a million cells are
 * half a gigabyte; here only its lines are asked for.
 */
export const tableRule = (state: StateBlock, start: number, end: number, silent: boolean): boolean => {
  if ((state.sCount[start] ?? 0) - state.blkIndent >= 4 || !isTableStart(state, start, end)) return false;
  if (silent) return true;
  const terminators = state.md.block.ruler.getRules("blockquote");
  let next = start + 2;
  for (; next < end; next++) {
    if ((state.sCount[next] ?? 0) < state.blkIndent || state.isEmpty(next)) break;
    if (terminators.some((rule) => rule(state, next, end, true))) break;
  }
  const token = state.push(TABLE_TOKEN, "", 0);
  token.map = [start, next];
  state.line = next;
  return true;
};
