import { posix } from "node:path";
import { LlmcError } from "../base/error.ts";
import { quoteForMessage } from "../base/text.ts";

/** Whether a path relative to the searched folder is meant. */
export type GlobMatch = (relativePath: string) => boolean;

/** Stands for any number of characters, or of directories. */
const STAR = Symbol("star");

/** How many characters of the subject it matches at an index; 0 if it does not match there. */
type Step<S> = typeof STAR | ((subject: S, at: number) => number);

// The number of alternatives multiplies with each brace.
const MAX_ALTERNATIVES = 256;

const badGlob = (glob: string, why: string): LlmcError =>
  new LlmcError("invalid_args", `The glob ${quoteForMessage(glob)} has ${why}.`, {
    hint: "Put a backslash before a character that stands for itself.",
  });

/**
 * Going back to the last star is enough, so time is bounded by the product of both lengths. Patterns and names are
 * untrusted: a regular expression made from `*a*a*a*a*b` takes minutes on a long enough name.
 */
const fits = <S extends { readonly length: number }>(steps: readonly Step<S>[], subject: S): boolean => {
  let step = 0;
  let at = 0;
  let starStep = -1;
  let starAt = 0;
  while (at < subject.length) {
    const current = steps[step];
    if (current === STAR) {
      starStep = step++;
      starAt = at;
      continue;
    }
    const taken = current === undefined ? 0 : current(subject, at);
    if (taken > 0) {
      at += taken;
      step++;
    } else if (starStep >= 0) {
      step = starStep + 1;
      at = ++starAt;
    } else return false;
  }
  while (steps[step] === STAR) step++;
  return step >= steps.length;
};

const lengthAt = (text: string, at: number): number => ((text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1);
const anyLetter: Step<string> = lengthAt;
const literal =
  (letter: string): Step<string> =>
  (text, at) =>
    text.startsWith(letter, at) ? letter.length : 0;

const letterClass = (inside: string): Step<string> => {
  const isNegated = /^[!^]/.test(inside);
  const letters = [...inside.slice(isNegated ? 1 : 0)];
  const ranges: (readonly [number, number])[] = [];
  for (let i = 0; i < letters.length; i++) {
    const low = letters[i]?.codePointAt(0) ?? 0;
    const isRange = letters[i + 1] === "-" && letters[i + 2] !== undefined;
    ranges.push([low, isRange ? (letters[i + 2]?.codePointAt(0) ?? low) : low]);
    if (isRange) i += 2;
  }
  return (text, at) => {
    const letter = text.codePointAt(at) ?? 0;
    const isIn = ranges.some(([low, high]) => low <= letter && letter <= high);
    return isIn === isNegated ? 0 : lengthAt(text, at);
  };
};

/** One name of a path: `*`, `?`, `[…]`, and a backslash before what stands for itself. */
export const parseName = (name: string, glob: string): ((text: string) => boolean) => {
  const steps: Step<string>[] = [];
  const letters = [...name];
  for (let i = 0; i < letters.length; i++) {
    const letter = letters[i] ?? "";
    if (letter === "*") steps.push(STAR);
    else if (letter === "?") steps.push(anyLetter);
    else if (letter === "[") {
      // A closing bracket that comes first in a class is a literal character.
      const end = letters.indexOf("]", i + (/[!^]/.test(letters[i + 1] ?? "") ? 3 : 2));
      if (end < 0) throw badGlob(glob, "an unclosed [");
      steps.push(letterClass(letters.slice(i + 1, end).join("")));
      i = end;
    } else steps.push(literal(letter === "\\" ? (letters[++i] ?? letter) : letter));
  }
  const isPlainSuffix = /^\*[^*?[\\]+$/.test(name);
  return isPlainSuffix ? (text) => text.endsWith(name.slice(1)) : (text) => fits(steps, text);
};

/** The first unescaped brace, with its alternatives and the rest of the pattern. */
const splitBraces = (glob: string): { before: string; parts: string[]; after: string } | undefined => {
  let start = -1;
  let depth = 0;
  let from = 0;
  const parts: string[] = [];
  for (let i = 0; i < glob.length; i++) {
    const letter = glob[i];
    if (letter === "\\") i++;
    else if (letter === "{") {
      if (depth++ === 0) {
        start = i;
        from = i + 1;
      }
    } else if (letter === "," && depth === 1) {
      parts.push(glob.slice(from, i));
      from = i + 1;
    } else if (letter === "}" && depth > 0 && --depth === 0) {
      parts.push(glob.slice(from, i));
      return { before: glob.slice(0, start), parts, after: glob.slice(i + 1) };
    }
  }
  if (depth > 0) throw badGlob(glob, "an unclosed {");
  return undefined;
};

export const expandBraces = (glob: string): string[] => {
  const done: string[] = [];
  const waiting = [glob];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const split = splitBraces(next);
    if (split === undefined) done.push(next);
    else for (const part of split.parts) waiting.push(`${split.before}${part}${split.after}`);
    if (done.length + waiting.length > MAX_ALTERNATIVES) throw badGlob(glob, "too many alternatives");
  }
  return done;
};

export const parsePath = (path: string, glob: string): ((parts: readonly string[]) => boolean) => {
  const steps = path.split("/").map((name): Step<readonly string[]> => {
    if (name === "**") return STAR;
    const matches = parseName(name, glob);
    return (parts, at) => (matches(parts[at] ?? "") ? 1 : 0);
  });
  return (parts) => fits(steps, parts);
};

/** `docs/` means everything in any directory of that name, `a/docs/` in that one. */
const spellOut = (glob: string): string => {
  const bare = glob.replace(/^\.?\//, "");
  if (!bare.endsWith("/")) return bare;
  return bare.indexOf("/") === bare.length - 1 && bare === glob ? `**/${bare}**` : `${bare}**`;
};

export interface GlobOptions {
  readonly ignoreCase?: boolean;
}

/**
 * `*`, `?`, `[a-z]`, `[!a-z]`, `{a,b}`, and `**` for any directories. A glob without a slash matches names at any
 * depth, one with a slash matches the path; hidden names are not special.
 */
export const compileGlob = (glob: string, { ignoreCase = false }: GlobOptions = {}): GlobMatch => {
  const adapt = (text: string): string => (ignoreCase ? text.toLowerCase() : text);
  const alternatives = expandBraces(adapt(spellOut(glob)));
  if (!glob.includes("/")) {
    const names = alternatives.map((name) => parseName(name, glob));
    return (path) => {
      const name = adapt(posix.basename(path));
      return names.some((matches) => matches(name));
    };
  }
  const paths = alternatives.map((path) => parsePath(path, glob));
  return (path) => {
    const parts = adapt(path).split("/");
    return paths.some((matches) => matches(parts));
  };
};

/** Characters that make a pattern a glob. */
export const isGlob = (pattern: string): boolean => /[*?[\]{}]/.test(pattern);
