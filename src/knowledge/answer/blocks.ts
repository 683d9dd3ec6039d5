/** Part of a text: where it begins, and the position after its end. */
export interface BlockSpan {
  readonly start: number;
  readonly end: number;
}

/** How a line can be part of a block. Of each, one look tells: no line is read twice for it. */
const FENCE = /^[ \t]*(`{3,}|~{3,})/;
const ROW = /^[ \t]*\|/;
const STEP = /^ {0,3}\d{1,3}[.)][ \t]/;
const INDENTED = /^[ \t]+\S/;

const isBlank = (line: string | undefined): boolean => line !== undefined && /^[ \t]*$/.test(line);

/** The line after a fence that begins at this one: after the line that closes it, or the last one. */
const endOfFence = (lines: readonly string[], from: number): number => {
  const mark = FENCE.exec(lines[from] ?? "")?.[1];
  // One without anything after it is a line like others.
  if (mark === undefined || from + 1 >= lines.length) return from;
  for (let at = from + 1; at < lines.length; at++) {
    const line = (lines[at] ?? "").trim();
    if (line.startsWith(mark) && /^[`~]*$/.test(line.slice(mark.length))) return at + 1;
  }
  return lines.length;
};

/** The line after the rows of a table, of which there are two or more. */
const endOfRows = (lines: readonly string[], from: number): number => {
  let at = from;
  while (ROW.test(lines[at] ?? "")) at++;
  return at - from < 2 ? from : at;
};

/** Whether a line goes on with a step: it is indented, or blank before one that is, or before the next step. */
const goesOn = (lines: readonly string[], at: number): boolean => {
  const [line = "", next = ""] = [lines[at], lines[at + 1]];
  return INDENTED.test(line) || (isBlank(lines[at]) && (INDENTED.test(next) || STEP.test(next)));
};

/** The line after the steps of a list: two or more, each with the lines that go on below it. */
const endOfSteps = (
  lines: readonly string[],
  from: number,
): { readonly end: number; readonly steps: number } => {
  if (!STEP.test(lines[from] ?? "")) return { end: from, steps: 0 };
  let [at, steps] = [from, 0];
  for (; at < lines.length; at++) {
    if (STEP.test(lines[at] ?? "")) steps++;
    else if (!goesOn(lines, at)) break;
  }
  return { end: at, steps };
};

const MIN_STEPS = 2;

/**
 * What means nothing in pieces: fenced code, to its end or that of the text, rows of a table, and the steps of a list. Read
 * line by line, in time that grows with the text: a document may be anybody's.
 */
export const blocksOf = (text: string): readonly BlockSpan[] => {
  const lines = text.split("\n");
  const starts: number[] = [];
  let length = 0;
  for (const line of lines) {
    starts.push(length);
    length += line.length + 1;
  }
  const positionOf = (line: number): number => Math.min(starts[line] ?? text.length, text.length);
  const blocks: BlockSpan[] = [];
  /** No steps were found before this line: looking again would find none. */
  let noStepsUntil = 0;
  for (let at = 0; at < lines.length; ) {
    let end = Math.max(endOfFence(lines, at), endOfRows(lines, at));
    if (end === at && at >= noStepsUntil) {
      const found = endOfSteps(lines, at);
      if (found.steps >= MIN_STEPS) end = found.end;
      else noStepsUntil = found.end;
    }
    if (end > at) blocks.push({ start: positionOf(at), end: positionOf(end) });
    at = Math.max(end, at + 1);
  }
  return blocks;
};
