import { createTopScored, type Scored } from "../../retrieve/collections/top-scored.ts";
import { idfOf } from "../../retrieve/terms/chunk-groups.ts";
import { hashTerm } from "../../retrieve/terms/packed-terms.ts";
import { normalisationsOf, saturation } from "./build-arrays.ts";
import type { PassageArrays } from "./passage-arrays.ts";

/** The postings of a term, from one to before another. */
interface PostingRange {
  readonly from: number;
  readonly to: number;
}

/** A term of a question. */
interface QueryTerm extends PostingRange {
  readonly idf: number;
  /** The most that it adds to a score. */
  readonly bound: number;
}

/** BM25 by slot. */
export interface SlotScore {
  readonly slot: number;
  readonly score: number;
}

/** Arrays, and scores of a search by slot: those that are not 0 are in the first `count` ones of `touched`. */
interface Accumulator {
  readonly arrays: PassageArrays;
  /** Worked out once, not for each posting of a question. */
  readonly normalisations: Float64Array;
  readonly scores: Float64Array;
  readonly touched: Uint32Array;
  count: number;
}

/** A list that is this many times as long as the candidates is searched for each of them, and not read. */
const LONG_LIST = 16;

/** Fewer candidates per passage that is wanted are not looked through for those that can be dropped. */
const MANY_CANDIDATES = 8;

/** Where the value is in an ascending part of an array, or would be. */
const lowerBound = (array: Uint32Array, value: number, { from, to }: PostingRange): number => {
  let [low, high] = [from, to];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((array[middle] ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return low;
};

const rangeOf = (
  { hashes, starts }: PassageArrays,
  term: string,
): PostingRange & { readonly term: number } => {
  const hash = hashTerm(term);
  const at = lowerBound(hashes, hash, { from: 0, to: hashes.length });
  return hashes[at] === hash
    ? { term: at, from: starts[at] ?? 0, to: starts[at + 1] ?? 0 }
    : { term: at, from: 0, to: 0 };
};

/** Rare ones first. */
const termsOf = (arrays: PassageArrays, terms: ReadonlyMap<string, number>): readonly QueryTerm[] =>
  Array.from(terms, ([text, weight]) => {
    const { term, from, to } = rangeOf(arrays, text);
    const idf = weight * idfOf(arrays.ids.length, to - from);
    return { from, to, idf, bound: idf * (arrays.bounds[term] ?? 0) };
  })
    .filter(({ from, to }) => to > from)
    .sort((a, b) => a.to - a.from - (b.to - b.from) || a.from - b.from);

/** The posting of a slot in a list, or 0, which no posting is: a term that occurs has a count. */
const postingIn = ({ postings }: PassageArrays, slot: number, range: PostingRange): number => {
  const at = lowerBound(postings, slot * 256, range);
  const posting = at < range.to ? (postings[at] ?? 0) : 0;
  return posting >>> 8 === slot ? posting : 0;
};

const scoreOf = ({ normalisations }: Accumulator, posting: number, idf: number): number =>
  idf * saturation(posting & 0xff, normalisations[posting >>> 8] ?? 0);

const addAll = (state: Accumulator, { from, to, idf }: QueryTerm): void => {
  const { arrays, scores, touched } = state;
  for (let at = from; at < to; at++) {
    const posting = arrays.postings[at] ?? 0;
    const slot = posting >>> 8;
    if (scores[slot] === 0) touched[state.count++] = slot;
    scores[slot] = (scores[slot] ?? 0) + scoreOf(state, posting, idf);
  }
};

const addToCandidates = (state: Accumulator, term: QueryTerm): void => {
  const { arrays, scores, touched, count } = state;
  if (term.to - term.from < LONG_LIST * count) {
    for (let at = term.from; at < term.to; at++) {
      const posting = arrays.postings[at] ?? 0;
      const score = scores[posting >>> 8] ?? 0;
      if (score > 0) scores[posting >>> 8] = score + scoreOf(state, posting, term.idf);
    }
    return;
  }
  for (let at = 0; at < count; at++) {
    const slot = touched[at] ?? 0;
    const posting = postingIn(arrays, slot, term);
    if (posting !== 0) scores[slot] = (scores[slot] ?? 0) + scoreOf(state, posting, term.idf);
  }
};

const best = ({ scores, touched, count }: Accumulator, limit: number): readonly Scored[] => {
  const top = createTopScored(limit);
  let floor = top.floor();
  for (let at = 0; at < count; at++) {
    const slot = touched[at] ?? 0;
    const score = scores[slot] ?? 0;
    if (score < floor) continue;
    top.add(slot, score);
    floor = top.floor();
  }
  return top.sorted();
};

/** Drops the candidates that cannot reach the threshold with what the other terms add. */
const prune = (state: Accumulator, threshold: number, rest: number): void => {
  const { scores, touched, count } = state;
  state.count = 0;
  for (let at = 0; at < count; at++) {
    const slot = touched[at] ?? 0;
    if ((scores[slot] ?? 0) + rest >= threshold) touched[state.count++] = slot;
    else scores[slot] = 0;
  }
};

/**
 * Exact BM25, term by term. As soon as what the other terms can add is less than the score of the last passage that is
 * wanted, no passage without the terms so far can be wanted any more: the long lists of frequent terms are only searched
 * for the candidates.
 */
const search = (state: Accumulator, terms: readonly QueryTerm[], limit: number): readonly Scored[] => {
  let rest = terms.reduce((sum, { bound }) => sum + bound, 0);
  let [reached, isClosed] = [0, false];
  for (const term of terms) {
    // Rounding of sums: what is left is taken for a little more than it is.
    const open = rest * (1 + 1e-9);
    const isWorthIt = !isClosed || state.count > MANY_CANDIDATES * limit;
    if (state.count >= limit && open < reached && isWorthIt) {
      const threshold = best(state, limit).at(-1)?.score ?? 0;
      isClosed ||= open < threshold;
      if (isClosed) prune(state, threshold, open);
    }
    if (isClosed) addToCandidates(state, term);
    else addAll(state, term);
    rest -= term.bound;
    reached += term.bound;
  }
  const found = best(state, limit);
  for (let at = 0; at < state.count; at++) state.scores[state.touched[at] ?? 0] = 0;
  state.count = 0;
  return found;
};

export const createPostingsSearch = (arrays: PassageArrays) => {
  const size = arrays.ids.length;
  const state: Accumulator = {
    arrays,
    normalisations: normalisationsOf(arrays.lengths),
    scores: new Float64Array(size),
    touched: new Uint32Array(size),
    count: 0,
  };
  return {
    /** Bytes that it takes besides the arrays. */
    bytes: state.scores.byteLength + state.touched.byteLength + state.normalisations.byteLength,
    /** The best passages, best first, and after them those of `others` that are not among them. */
    search: (
      terms: ReadonlyMap<string, number>,
      limit: number,
      others: readonly number[],
    ): readonly SlotScore[] => {
      const lists = termsOf(arrays, terms);
      const found = search(state, lists, limit).map(({ id, score }) => ({ slot: id, score }));
      const seen = new Set(found.map(({ slot }) => slot));
      const added = [...new Set(others)].filter((slot) => !seen.has(slot));
      const lexical = (slot: number): number =>
        lists.reduce((sum, list) => {
          const posting = postingIn(arrays, slot, list);
          return posting === 0 ? sum : sum + scoreOf(state, posting, list.idf);
        }, 0);
      return [...found, ...added.map((slot) => ({ slot, score: lexical(slot) }))];
    },
    /** What the terms weigh together, and the share of it that each of these passages has. */
    coverage: (
      terms: Iterable<string>,
      slots: readonly number[],
    ): { readonly total: number; readonly shares: readonly number[] } => {
      const lists = Array.from(terms, (term) => {
        const range = rangeOf(arrays, term);
        return { ...range, weight: idfOf(size, range.to - range.from) };
      });
      const total = lists.reduce((sum, { weight }) => sum + weight, 0);
      const shareOf = (slot: number): number =>
        lists.reduce(
          (sum, list) => (postingIn(arrays, slot, list) === 0 ? sum : sum + list.weight / total),
          0,
        );
      return { total, shares: slots.map(shareOf) };
    },
  };
};
