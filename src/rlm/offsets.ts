import { createPace } from "../llm/pace.ts";
import type { Context, Span } from "./context.ts";
import type { GuestLanguage } from "./guest-languages.ts";

/** Positions in the context, as a program counts them and as we do. */
export interface Offsets {
  toGuest<T extends Span>(span: T): T;
  fromGuest<T extends Span>(span: T): T;
}

const SAME: Offsets = { toGuest: (span) => span, fromGuest: (span) => span };

/** What is counted again for each position. */
const BLOCK_UNITS = 1024;

export const isLowSurrogate = (code: number): boolean => code >= 0xdc00 && code <= 0xdfff;

/** Characters that begin in a range of units. */
const countCharacters = (text: string, from: number, to: number): number => {
  let count = 0;
  for (let at = from; at < to; at++) if (!isLowSurrogate(text.charCodeAt(at))) count++;
  return count;
};

/** The last block that begins at this character or before. */
const blockOf = (before: readonly number[], character: number): number => {
  let [low, high] = [0, before.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((before[middle] ?? 0) <= character) low = middle;
    else high = middle - 1;
  }
  return low;
};

const compile = async (text: string, signal: AbortSignal | undefined): Promise<Offsets> => {
  const pace = createPace(signal);
  /** Characters before each block. */
  const before = [0];
  for (let at = 0; at + BLOCK_UNITS < text.length; at += BLOCK_UNITS) {
    before.push((before.at(-1) ?? 0) + countCharacters(text, at, at + BLOCK_UNITS));
    await pace();
  }
  const toCharacter = (unit: number): number => {
    const block = Math.min(before.length - 1, Math.floor(unit / BLOCK_UNITS));
    return (before[block] ?? 0) + countCharacters(text, block * BLOCK_UNITS, Math.min(text.length, unit));
  };
  const toUnit = (character: number): number => {
    const block = blockOf(before, character);
    let left = character - (before[block] ?? 0);
    let at = block * BLOCK_UNITS;
    for (; at < text.length && (left > 0 || isLowSurrogate(text.charCodeAt(at))); at++)
      if (!isLowSurrogate(text.charCodeAt(at))) left--;
    // A position past the end stays one.
    return at + Math.max(0, left);
  };
  return {
    toGuest: (span) => ({ ...span, start: toCharacter(span.start), end: toCharacter(span.end) }),
    fromGuest: (span) => ({ ...span, start: toUnit(span.start), end: toUnit(span.end) }),
  };
};

/** Analyses of the same context share them. */
const compiled = new WeakMap<Context, Offsets>();

/** JavaScript counts UTF-16 units like us, Python characters; they differ where a character has two units. */
export const offsetsOf = async (
  context: Context,
  language: GuestLanguage,
  signal?: AbortSignal,
): Promise<Offsets> => {
  if (language !== "python" || !context.hasPairs) return SAME;
  const offsets = compiled.get(context) ?? (await compile(context.text, signal));
  compiled.set(context, offsets);
  return offsets;
};
