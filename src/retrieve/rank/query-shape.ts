import { runsOf } from "../terms/runs.ts";
import { splitWords } from "../terms/split-words.ts";
import { stem } from "../terms/stem.ts";
import { tokenize } from "../terms/tokenize.ts";
import { type Aside, asidesAskedFor } from "./asides.ts";

/** What a query asks for, worked out once. */
export interface QueryShape {
  /** Terms for the lexical index, with what each weighs. */
  readonly terms: ReadonlyMap<string, number>;
  /** Stems of the words that carry meaning. */
  readonly words: ReadonlySet<string>;
  /** Names it spells out: in one way of writing (`user_name` and `userName` are `username`), and as written. */
  readonly names: ReadonlyMap<string, string>;
  /** What stands before the last part of a dotted name, in one way of writing: `store` of `Store.open`; empty for a plain one. */
  readonly owner: string;
  /** It is a name and nothing else. */
  readonly isSymbol: boolean;
  /** Kinds of files that are otherwise held back. */
  readonly askedFor: ReadonlySet<Aside>;
}

/** Words of questions and of grammar: they are rare in code, so BM25 would take them for telling ones. */
const STOP_WORDS = new Set(
  `a an and any are as at be been but by can could did do does doing done for from had has have how i if in into is it its
  me my of on or our should so some such than that the their them then there these they this those to use used uses using
  via was we were what when where which while who why will with without work works would you your`.split(
    /\s+/,
  ),
);

/** A query longer than this is a pasted text: its beginning says what it is about. */
const MAX_QUERY_CHARS = 4000;

/** No English word looks like it: two words in one, an underscore, a digit. */
const isCompound = (run: string): boolean =>
  /[a-z][A-Z]|[A-Za-z0-9]_|_[A-Za-z]|[A-Za-z]\d|[A-Z]{2}[a-z]/.test(run);

/** `open`, `Store.open`, `std::fmt`, `Store#open`, `empty?`, `open()`. */
const SYMBOL =
  /^[@$#]?[\p{L}_][\p{L}\p{N}_$]*(?:(?:\.|::|->|#|\/|\\)[\p{L}_$][\p{L}\p{N}_$]*)*(?:\(\)|[!?])?$/u;

export const joinName = (name: string): string => splitWords(name).join("");

export const shapeOf = (query: string): QueryShape => {
  const text = query.slice(0, MAX_QUERY_CHARS).trim();
  const isSymbol = SYMBOL.test(text);
  const runs = runsOf(text);
  const spelled = isSymbol ? runs.slice(-1) : runs.filter(isCompound);
  const kept = runs.filter((run) => !STOP_WORDS.has(run.toLowerCase()));
  const telling = kept.length > 0 ? kept : runs;
  const words = new Set(telling.flatMap(splitWords).map(stem));
  return {
    terms: new Map(tokenize(telling.join(" ")).map((term) => [term, 1])),
    words,
    names: new Map(spelled.map((run) => [joinName(run), run] as const).filter(([name]) => name !== "")),
    owner: isSymbol ? joinName(runs.at(-2) ?? "") : "",
    isSymbol,
    askedFor: asidesAskedFor(words),
  };
};
