import { createTopScored, type Scored } from "../collections/top-scored.ts";
import { BM25_B, BM25_K1 } from "./bm25.ts";
import { coverageOf, idfOf, rarityOf, scoreGroups } from "./chunk-groups.ts";
import { hashTerm, type PackedTerms } from "./packed-terms.ts";
import { createPostings } from "./postings.ts";

export interface LexicalIndex {
  readonly size: number;
  /** Replaces a chunk of the same id. Ids are whole numbers. */
  add(chunkId: number, terms: PackedTerms): void;
  remove(chunkId: number): void;
  /** The best chunks, best first, ties by id. A query term weighs as often as it is given, or what its value in the map says. */
  search(
    queryTerms: readonly string[] | ReadonlyMap<string, number>,
    limit: number,
    isWanted?: (chunkId: number) => boolean,
  ): readonly Scored[];
  /** The same best chunks, and after them those of `others` that are not among them; the score of a chunk without any of the terms is 0. */
  searchWith(
    queryTerms: readonly string[] | ReadonlyMap<string, number>,
    limit: number,
    others: readonly number[],
    isWanted?: (chunkId: number) => boolean,
  ): readonly Scored[];
  /** The share of the terms, by their weights, that each of these chunks has; chunks without any are left out. */
  coverage(
    terms: Iterable<string> | ReadonlyMap<string, number>,
    chunkIds: readonly number[],
  ): ReadonlyMap<number, number>;
  /** How rare each of these terms is, as BM25 counts it; a term that no chunk has is the rarest. */
  rarity(terms: Iterable<string>): ReadonlyMap<string, number>;
  /**
   * BM25 of groups of chunks, such as whole files, at the index that `groupOf` gives their chunks: 0, 1, 2 … without gaps.
   * Chunks without a group are left out.
   */
  scoreGroups(
    queryTerms: ReadonlyMap<string, number>,
    groupOf: (chunkId: number) => number | undefined,
  ): Float64Array;
}

const countTerms = (terms: readonly string[] | ReadonlyMap<string, number>): ReadonlyMap<string, number> => {
  if (!Array.isArray(terms)) return terms as ReadonlyMap<string, number>;
  const counts = new Map<string, number>();
  for (const term of terms as readonly string[]) counts.set(term, (counts.get(term) ?? 0) + 1);
  return counts;
};

/** Exact BM25 in memory. Answers depend on the chunks in it, never on the order in which they were added or removed. */
export const createLexicalIndex = (): LexicalIndex => {
  const postings = createPostings();
  const slotOf = new Map<number, number>();
  let idOf = new Float64Array(1024);
  let lengths = new Uint32Array(1024);
  let slots = 0;
  let totalLength = 0;
  let scores = new Float64Array(0);

  const grow = (): void => {
    const [ids, longer] = [new Float64Array(idOf.length * 2), new Uint32Array(lengths.length * 2)];
    ids.set(idOf);
    longer.set(lengths);
    idOf = ids;
    lengths = longer;
  };

  const remove = (chunkId: number): void => {
    const slot = slotOf.get(chunkId);
    if (slot === undefined) return;
    slotOf.delete(chunkId);
    totalLength -= lengths[slot] ?? 0;
    postings.remove(slot);
  };

  /** Slots of removed chunks are reused only here, when no posting refers to them any more. */
  const compact = (): void => {
    const moved = new Int32Array(slots).fill(-1);
    const kept = [...slotOf].sort(([, a], [, b]) => a - b);
    kept.forEach(([id, slot], to) => {
      moved[slot] = to;
      idOf[to] = id;
      lengths[to] = lengths[slot] ?? 0;
      slotOf.set(id, to);
    });
    slots = kept.length;
    postings.compact(moved);
  };

  const scoreAll = (queryTerms: readonly string[] | ReadonlyMap<string, number>): number[] => {
    if (postings.needsCompaction()) compact();
    if (scores.length < slots) scores = new Float64Array(Math.max(slots, 1024) * 2);
    const averageLength = Math.max(1, totalLength / Math.max(1, slotOf.size));
    const touched: number[] = [];
    for (const [term, weight] of countTerms(queryTerms)) {
      const found = postings.find(hashTerm(term));
      const idf = weight * idfOf(slotOf.size, found.length);
      for (let i = 0; i < found.length; i++) {
        const slot = found.slots[i] ?? 0;
        const frequency = found.counts[i] ?? 0;
        const normalisation = BM25_K1 * (1 - BM25_B + (BM25_B * (lengths[slot] ?? 0)) / averageLength);
        if (scores[slot] === 0) touched.push(slot);
        scores[slot] = (scores[slot] ?? 0) + (idf * frequency * (BM25_K1 + 1)) / (frequency + normalisation);
      }
    }
    return touched;
  };

  const searchWith: LexicalIndex["searchWith"] = (queryTerms, limit, others, isWanted) => {
    const touched = scoreAll(queryTerms);
    const top = createTopScored(limit);
    for (const slot of touched) {
      const id = idOf[slot] ?? 0;
      const score = scores[slot] ?? 0;
      if (top.accepts(id, score) && (isWanted === undefined || isWanted(id))) top.add(id, score);
    }
    const found = [...top.sorted()];
    const ids = new Set(found.map(({ id }) => id));
    for (const id of others) {
      if (ids.has(id)) continue;
      ids.add(id);
      found.push({ id, score: scores[slotOf.get(id) ?? -1] ?? 0 });
    }
    for (const slot of touched) scores[slot] = 0;
    return found;
  };

  return {
    get size() {
      return slotOf.size;
    },
    rarity: (terms) => rarityOf(postings, slotOf.size, terms),
    coverage: (terms, chunkIds) => coverageOf({ postings, slotOf, lengths, slots }, terms, chunkIds),
    scoreGroups: (terms, groupOf) => scoreGroups({ postings, slotOf, lengths, slots }, terms, groupOf),
    add: (chunkId, terms) => {
      remove(chunkId);
      if (slots === idOf.length) grow();
      const slot = slots++;
      slotOf.set(chunkId, slot);
      idOf[slot] = chunkId;
      const length = postings.add(slot, terms);
      lengths[slot] = length;
      totalLength += length;
    },
    remove,
    search: (queryTerms, limit, isWanted) => searchWith(queryTerms, limit, [], isWanted),
    searchWith,
  };
};
