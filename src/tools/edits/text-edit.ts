import { setImmediate as nextTurn } from "node:timers/promises";
import { LlmcError } from "../../base/error.ts";
import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import { createTextSearch } from "../../base/text-search.ts";
import { nearestMatch } from "./nearest-match.ts";
import type { Reveal } from "./reveal.ts";

export interface TextEdit {
  readonly oldText: string;
  readonly newText: string;
  /** How often the old text must occur; all occurrences are replaced. */
  readonly expectedReplacements: number;
}

export interface EditLimits {
  readonly maxChars: number;
  readonly signal?: AbortSignal | undefined;
  /** Who may not read the file is told no more than whether the edit fits. */
  readonly reveal: Reveal;
}

/** Positions listed when a text occurs more often than expected. */
const MAX_POSITIONS = 10;
/** Edits in a call; more are better written as a whole file. */
const MAX_EDITS = 1000;
/**
 * Characters that all edits of a call may go through together, however often they do. V8 takes 8 ns for one at the worst
 * (`aaa…` in search of `aaab`), so this is a second; in ordinary text it is a twentieth of that. One edit of the largest
 * file that can be edited still fits, with a second search for other line endings.
 */
const MAX_STEPS = 130 * 1024 ** 2;
/** What a replacement costs beside the search, in characters: some 100 ns. */
const STEPS_PER_REPLACEMENT = 16;
/** Other calls get their turn after each part of this many characters: 40 ms at the worst. */
const PART_CHARS = 256 * 1024;

/** Counts the work of a call as it is done. */
const createWork = ({ signal, reveal }: Pick<EditLimits, "signal" | "reveal">) => {
  let steps = 0;
  return {
    reveal,
    spend: (some: number): void => {
      steps += some;
      if (steps > MAX_STEPS) throw tooMuchWork();
    },
    /** Lets other calls have their turn, and notices a deadline. */
    pause: async (): Promise<void> => {
      await nextTurn();
      stopIfAborted(signal);
    },
  };
};

type Work = ReturnType<typeof createWork>;

/** The end of a part of the text, between positions: a time to pause. */
const PART_END = -1;

/** A large text may have tens of millions: they are not held. */
const positionsOf = function* (text: string, wanted: string, { spend }: Work): Generator<number> {
  const find = createTextSearch(wanted, spend);
  const partChars = Math.max(PART_CHARS, wanted.length);
  for (let from = 0; from + wanted.length <= text.length; ) {
    const part = text.slice(from, from + partChars + wanted.length - 1);
    let next = 0;
    for (let at = find(part); at >= 0; at = find(part, next)) {
      yield from + at;
      next = at + wanted.length;
    }
    from += Math.max(next, part.length - wanted.length + 1);
    yield PART_END;
  }
};

const NEWLINE = 10;

/** The numbers of the lines in which ascending positions are. */
const linesAt = async (text: string, positions: readonly number[], work: Work): Promise<number[]> => {
  const lines: number[] = [];
  let [line, at] = [1, 0];
  for (const position of positions) {
    for (; at < position; at++) {
      if (text.charCodeAt(at) === NEWLINE) line++;
      if (at % PART_CHARS === PART_CHARS - 1) await work.pause();
    }
    lines.push(line);
  }
  return lines;
};

const notFound = (text: string, wanted: string, label: string, reveal: Reveal): LlmcError => {
  const near = reveal(() => nearestMatch(text, wanted));
  return new LlmcError("text_not_found", `${label}old_text is not in the file; nothing was written.`, {
    hint:
      near === undefined
        ? "Read the file again and copy the text exactly, with its spaces."
        : `The most similar text, from line ${near.line}:\n${near.shown}`,
    ...(near === undefined ? {} : { details: { nearest_line: near.line } }),
  });
};

/** How often a text occurs, and in which of the first lines. */
interface Occurrences {
  readonly found: number;
  readonly lines: readonly number[];
}

const ambiguous = (occurs: Occurrences | undefined, expected: number, label: string): LlmcError => {
  const hint = "Add surrounding lines to old_text, or set expected_replacements.";
  if (occurs === undefined)
    return new LlmcError(
      "text_ambiguous",
      `${label}old_text does not occur ${expected} times; nothing was written.`,
      { hint },
    );
  const { found, lines } = occurs;
  const more = found > lines.length ? ", …" : "";
  return new LlmcError(
    "text_ambiguous",
    `${label}old_text occurs ${found} times (lines ${lines.join(", ")}${more}), expected ${expected}; nothing was written.`,
    { hint, details: { found } },
  );
};

const toCrlf = (text: string): string => text.replace(/\r?\n/g, "\r\n");

const outgrown = (label: string, maxChars: number): LlmcError =>
  new LlmcError(
    "file_too_large",
    `${label}The file would have over ${maxChars} characters, which is the limit for an edited file; nothing was written.`,
  );

const tooMuchWork = (): LlmcError =>
  new LlmcError(
    "file_too_large",
    "These are too many edits or replacements in a text of this size for one call; nothing was written.",
    { hint: "Send fewer edits at a time." },
  );

const grownBy = ({ oldText, newText, expectedReplacements }: TextEdit): number =>
  expectedReplacements * (newText.length - oldText.length);

/**
 * An edit succeeds with exactly the replacements it expects, so the length of every step is known before the first one
 * is made: a few bytes of arguments that double a text, and double it again, never get memory.
 */
const refuseOutgrowing = (
  text: string,
  edits: readonly TextEdit[],
  maxChars: number,
  labelOf: (at: number) => string,
): void => {
  if (edits.length > MAX_EDITS) {
    throw new LlmcError("invalid_args", `${edits.length} edits at once are over the limit of ${MAX_EDITS}.`, {
      hint: "Send fewer at a time, or write the whole file.",
      details: { field: "edits" },
    });
  }
  let length = text.length;
  let steps = 0;
  edits.forEach((edit, at) => {
    steps += length + STEPS_PER_REPLACEMENT * Math.min(edit.expectedReplacements, length);
    length = Math.max(0, length + grownBy(edit));
    if (length > maxChars) throw outgrown(labelOf(at), maxChars);
  });
  if (steps > MAX_STEPS) throw tooMuchWork();
};

/** Pieces that are joined at once; one string made of millions by `+` takes 30 bytes for each. */
const JOINED = 10_000;

/** The text with all occurrences replaced; undefined where there are none. */
const replaceExactly = async (
  text: string,
  { oldText, newText, expectedReplacements }: TextEdit,
  work: Work,
  label: string,
): Promise<string | undefined> => {
  const joined: string[] = [];
  let pieces: string[] = [];
  const first: number[] = [];
  let [count, from] = [0, 0];
  for (const at of positionsOf(text, oldText, work)) {
    if (at === PART_END) {
      await work.pause();
      continue;
    }
    work.spend(STEPS_PER_REPLACEMENT);
    if (++count <= MAX_POSITIONS) first.push(at);
    if (count > expectedReplacements) continue;
    pieces.push(text.slice(from, at), newText);
    from = at + oldText.length;
    if (pieces.length < JOINED) continue;
    joined.push(pieces.join(""));
    pieces = [];
  }
  if (count === 0) return undefined;
  if (count !== expectedReplacements) {
    const lines = await work.reveal(() => linesAt(text, first, work));
    throw ambiguous(lines && { found: count, lines }, expectedReplacements, label);
  }
  return joined.join("") + pieces.join("") + text.slice(from);
};

/** As its first line ends. */
const endsInCrlf = (text: string): boolean => text[text.indexOf("\n") - 1] === "\r";

/**
 * Models write `\n`; what is written into a file with `\r\n` has that as well. An old text with line ends says by which
 * of them it is found how the new text ends its lines, one without says nothing.
 */
const fitLineEnds = (text: string, edit: TextEdit): readonly TextEdit[] => {
  const { oldText, newText } = edit;
  const inCrlf = { ...edit, oldText: toCrlf(oldText), newText: toCrlf(newText) };
  if (inCrlf.oldText !== oldText) return [edit, inCrlf];
  return [oldText.includes("\n") || newText.includes("\r") || !endsInCrlf(text) ? edit : inCrlf];
};

const applyOne = async (
  text: string,
  asked: TextEdit,
  maxChars: number,
  work: Work,
  label: string,
): Promise<string> => {
  if (asked.oldText === "") {
    throw new LlmcError("invalid_args", `${label}old_text is empty.`, {
      hint: "Give the text to replace. To write a whole file, use linux_fs_write.",
    });
  }
  for (const edit of fitLineEnds(text, asked)) {
    if (text.length + grownBy(edit) > maxChars) throw outgrown(label, maxChars);
    const changed = await replaceExactly(text, edit, work, label);
    if (changed !== undefined) return changed;
  }
  throw notFound(text, asked.oldText, label, work.reveal);
};

/** Applies edits one after the other, each to the result of the one before; throws at the first that does not match. */
export const applyEdits = async (
  text: string,
  edits: readonly TextEdit[],
  { maxChars, ...limits }: EditLimits,
): Promise<string> => {
  const labelOf = (at: number): string => (edits.length === 1 ? "" : `Edit ${at + 1}: `);
  refuseOutgrowing(text, edits, maxChars, labelOf);
  const work = createWork(limits);
  let current = text;
  for (const [at, edit] of edits.entries())
    current = await applyOne(current, edit, maxChars, work, labelOf(at));
  return current;
};
