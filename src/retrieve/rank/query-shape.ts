import { runsOf } from "../terms/runs.ts";
import { stem } from "../terms/stem.ts";
import { splitSubtokens } from "../terms/subtokens.ts";
import { tokenize } from "../terms/tokenize.ts";
import { categoriesAskedFor, type FileCategory } from "./file-category.ts";

/** What a query asks for, computed once. */
export interface QueryShape {
  /** Terms for the lexical index, with their weights. */
  readonly terms: ReadonlyMap<string, number>;
  /** Stems of the terms that are not stop words. */
  readonly stems: ReadonlySet<string>;
  /** Identifiers in the query: normalised (`user_name` and `userName` are `username`), and as written. */
  readonly names: ReadonlyMap<string, string>;
  /** What precedes the last part of a dotted name, normalised: `store` of `Store.open`; empty for a plain name. */
  readonly owner: string;
  /** The query is an identifier and nothing else. */
  readonly isSymbol: boolean;
  /** It asks what to do or what something is (`how do I …`, `what is …`), rather than how or where the code does it. */
  readonly asksForGuidance: boolean;
  /** Categories of files that would otherwise rank lower. */
  readonly wantedCategories: ReadonlySet<FileCategory>;
}

/** They are rare in code, so BM25 would give them a high weight. */
const STOP_WORDS = new Set(
  `a an and any are as at be been but by can could did do does doing done for from had has have how i if in into is it its
  me my of on or our should so some such than that the their them then there these they this those to use used uses using
  via was we were what when where which while who why will with without work works would you your`.split(
    /\s+/,
  ),
);

/** A longer query is a pasted text, of which the beginning is used unless the caller reads more. */
const MAX_QUERY_CHARS = 4000;

/** Camel case, an underscore or a digit: an identifier, not an English word. */
const isCompound = (run: string): boolean =>
  /[a-z][A-Z]|[A-Za-z0-9]_|_[A-Za-z]|[A-Za-z]\d|[A-Z]{2}[a-z]/.test(run);

/** `open`, `Store.open`, `std::fmt`, `Store#open`, `empty?`, `open()`. */
const SYMBOL =
  /^[@$#]?[\p{L}_][\p{L}\p{N}_$]*(?:(?:\.|::|->|#|\/|\\)[\p{L}_$][\p{L}\p{N}_$]*)*(?:\(\)|[!?])?$/u;

const GUIDANCE = /^(?:how (?:to|do|can|could|should|would) |(?:what|which|who|why|can|may|is there) )/i;

export const joinName = (name: string): string => splitSubtokens(name).join("");

export const shapeOf = (query: string, maxChars = MAX_QUERY_CHARS): QueryShape => {
  const text = query.slice(0, maxChars).trim();
  const isSymbol = SYMBOL.test(text);
  const runs = runsOf(text);
  const spelled = isSymbol ? runs.slice(-1) : runs.filter(isCompound);
  const kept = runs.filter((run) => !STOP_WORDS.has(run.toLowerCase()));
  const significant = kept.length > 0 ? kept : runs;
  const stems = new Set(significant.flatMap(splitSubtokens).map(stem));
  return {
    terms: new Map(tokenize(significant.join(" ")).map((term) => [term, 1])),
    stems,
    names: new Map(spelled.map((run) => [joinName(run), run] as const).filter(([name]) => name !== "")),
    owner: isSymbol ? joinName(runs.at(-2) ?? "") : "",
    isSymbol,
    asksForGuidance: GUIDANCE.test(text),
    wantedCategories: categoriesAskedFor(stems),
  };
};
