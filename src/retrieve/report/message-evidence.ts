import { tokenize } from "../terms/tokenize.ts";
import type { Evidence } from "./evidence.ts";

/** A piece of source that may have a message. */
export interface SourceLines {
  readonly path: string;
  readonly startLine: number;
  readonly lines: readonly string[];
}

/** The values in a message are made when it is raised; what is left must still be a phrase. */
const MIN_RUN = 3;
/** So many terms in a row are no accident. */
const SURE_RUN = 8;
const MAX_TOKENS = 40;
const MAX_SOURCE_TOKENS = 4000;

const TOKEN = /[\p{L}\p{N}_]+/gu;

const tokensOf = (text: string): readonly string[] => text.match(TOKEN) ?? [];

/** Terms to look for a message by; nothing for one that is too short to be found as a phrase. */
export const messageTerms = (message: string): ReadonlyMap<string, number> => {
  const tokens = tokensOf(message).slice(0, MAX_TOKENS);
  return tokens.length < MIN_RUN ? new Map() : new Map(tokens.flatMap(tokenize).map((term) => [term, 1]));
};

/** The longest run of the message's tokens in the source: its length, and the line where it ends. */
const longestRun = (
  message: readonly string[],
  { startLine, lines }: SourceLines,
): { readonly length: number; readonly line: number } => {
  let best = { length: 0, line: 0 };
  let before = new Uint16Array(message.length + 1);
  let tokens = 0;
  for (const [at, line] of lines.entries())
    for (const token of tokensOf(line)) {
      if (++tokens > MAX_SOURCE_TOKENS) return best;
      const runs = new Uint16Array(message.length + 1);
      for (const [i, wanted] of message.entries()) {
        if (wanted !== token) continue;
        const length = (before[i] ?? 0) + 1;
        runs[i + 1] = length;
        if (length > best.length) best = { length, line: startLine + at };
      }
      before = runs;
    }
  return best;
};

/** Whether the source says what the message says, word by word; what is filled in at run time may interrupt it. */
export const messageEvidence = (message: string, source: SourceLines): Evidence | undefined => {
  const tokens = tokensOf(message).slice(0, MAX_TOKENS);
  const { length, line } = longestRun(tokens, source);
  if (length < MIN_RUN) return undefined;
  return {
    kind: "message",
    path: source.path,
    line,
    strength: Math.min(1, length / Math.min(tokens.length, SURE_RUN)),
    reason: "has the message",
  };
};
