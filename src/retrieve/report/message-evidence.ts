import { tokenize } from "../terms/tokenize.ts";
import type { Evidence } from "./evidence.ts";
import { BREAK } from "./literal-lines.ts";

/** A piece of source, with what its string literals say (literal-lines.ts). */
export interface SourceLiterals {
  readonly path: string;
  readonly startLine: number;
  readonly lines: readonly string[];
}

/** The values in a message are made when it is raised; what is left must still be a phrase. */
const MIN_RUN = 3;
/** So many tokens in a row are certainly the message. */
const SURE_RUN = 8;
const MAX_TOKENS = 40;
const MAX_SOURCE_TOKENS = 4000;

const TOKEN = /[\p{L}\p{N}_]+/gu;
const TOKEN_OR_BREAK = new RegExp(`${TOKEN.source}|${BREAK}`, "gu");

const tokensOf = (text: string): readonly string[] => text.match(TOKEN) ?? [];

/** Terms to look for a message by; nothing for one that is too short to be found as a phrase. */
export const messageTerms = (message: string): ReadonlyMap<string, number> => {
  const tokens = tokensOf(message).slice(0, MAX_TOKENS);
  return tokens.length < MIN_RUN ? new Map() : new Map(tokens.flatMap(tokenize).map((term) => [term, 1]));
};

/** The longest run of the message's tokens in the literals: its length, and the line where it ends. */
const longestRun = (
  message: readonly string[],
  { startLine, lines }: SourceLiterals,
): { readonly length: number; readonly line: number } => {
  let best = { length: 0, line: 0 };
  let before = new Uint16Array(message.length + 1);
  let tokens = 0;
  for (const [at, line] of lines.entries())
    for (const token of line.match(TOKEN_OR_BREAK) ?? []) {
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

/** Whether a literal says what the message says, word by word; what is filled in at run time may interrupt it. */
export const messageEvidence = (
  message: string,
  source: SourceLiterals,
  reason: string,
): Evidence | undefined => {
  const tokens = tokensOf(message).slice(0, MAX_TOKENS);
  const { length, line } = longestRun(tokens, source);
  if (length < MIN_RUN) return undefined;
  const strength = Math.min(1, length / Math.min(tokens.length, SURE_RUN));
  return { kind: "message", path: source.path, line, strength, reason };
};

/** With or without dashes, as a flag or as a key: `--no-cache-dir`, `no_cache_dir`. */
const optionPattern = (option: string): RegExp => {
  const parts = option.split(/[-_]+/).filter((part) => part !== "");
  return new RegExp(`(?<![\\w-])-{0,2}${parts.join("[-_]")}(?![\\w-])`);
};

/** Files with a literal that has an option. Each gets less, the more of them there are. */
export const optionEvidence = (option: string, sources: readonly SourceLiterals[]): readonly Evidence[] => {
  const pattern = optionPattern(option);
  const found = new Map<string, number>();
  for (const { path, startLine, lines } of sources) {
    const at = lines.findIndex((line) => pattern.test(line));
    if (at >= 0 && !found.has(path)) found.set(path, startLine + at);
  }
  return [...found].map(
    ([path, line]): Evidence => ({
      kind: "option",
      path,
      line,
      strength: 1 / found.size,
      reason: `has the option ${option}`,
    }),
  );
};
