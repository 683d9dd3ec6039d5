import { BM25_B, BM25_K1 } from "./bm25.ts";
import { hashTerm } from "./packed-terms.ts";
import type { Postings } from "./postings.ts";

/** Where the postings of an index have its chunks: each in a slot, with its length. */
interface LexicalSlots {
  readonly postings: Pick<Postings, "find">;
  readonly slotOf: ReadonlyMap<number, number>;
  readonly lengths: Uint32Array;
  readonly slots: number;
}

/** How much a term says that so many of all chunks have. */
export const idfOf = (count: number, found: number): number =>
  Math.log(1 + (count - found + 0.5) / (found + 0.5));

export const rarityOf = (
  postings: Pick<Postings, "find">,
  count: number,
  terms: Iterable<string>,
): ReadonlyMap<string, number> =>
  new Map(Array.from(terms, (term) => [term, idfOf(count, postings.find(hashTerm(term)).length)]));

/** Terms without weights count the same. */
const weightsOf = (terms: Iterable<string> | ReadonlyMap<string, number>): ReadonlyMap<string, number> =>
  terms instanceof Map ? terms : new Map(Array.from(terms as Iterable<string>, (term) => [term, 1]));

/** The share of the terms, by their weights, that each of these chunks has; chunks without any are left out. */
export const coverageOf = (
  { postings, slotOf, slots }: LexicalSlots,
  terms: Iterable<string> | ReadonlyMap<string, number>,
  chunkIds: readonly number[],
): ReadonlyMap<number, number> => {
  const weights = weightsOf(terms);
  const total = [...weights.values()].reduce((sum, weight) => sum + weight, 0);
  const wanted = new Map(chunkIds.map((id) => [slotOf.get(id) ?? -1, id] as const));
  const isWanted = new Uint8Array(slots);
  for (const slot of wanted.keys()) if (slot >= 0) isWanted[slot] = 1;
  const found = new Map<number, number>();
  for (const [term, weight] of weights) {
    const { length, slots: holders } = postings.find(hashTerm(term));
    for (let i = 0; i < length; i++) {
      const slot = holders[i] ?? 0;
      if (isWanted[slot] !== 1) continue;
      const id = wanted.get(slot) ?? -1;
      found.set(id, (found.get(id) ?? 0) + weight / total);
    }
  }
  return found;
};

/** BM25 of groups of chunks, such as whole files. */
export const scoreGroups = (
  { postings, slotOf, lengths, slots }: LexicalSlots,
  queryTerms: ReadonlyMap<string, number>,
  groupOf: (chunkId: number) => number | undefined,
): Float64Array => {
  const groupAt = new Int32Array(slots).fill(-1);
  const groupLengths: number[] = [];
  let total = 0;
  for (const [id, slot] of slotOf) {
    const group = groupOf(id);
    if (group === undefined) continue;
    groupAt[slot] = group;
    groupLengths[group] = (groupLengths[group] ?? 0) + (lengths[slot] ?? 0);
    total += lengths[slot] ?? 0;
  }
  const averageLength = Math.max(1, total / Math.max(1, groupLengths.length));
  const found = new Float64Array(groupLengths.length);
  const frequencies = new Float64Array(groupLengths.length);
  for (const [term, weight] of queryTerms) {
    const { length, slots: holders, counts } = postings.find(hashTerm(term));
    const touched: number[] = [];
    for (let i = 0; i < length; i++) {
      const group = groupAt[holders[i] ?? 0] ?? -1;
      if (group < 0) continue;
      if (frequencies[group] === 0) touched.push(group);
      frequencies[group] = (frequencies[group] ?? 0) + (counts[i] ?? 0);
    }
    const idf = weight * idfOf(groupLengths.length, touched.length);
    for (const group of touched) {
      const frequency = frequencies[group] ?? 0;
      const normalisation = BM25_K1 * (1 - BM25_B + (BM25_B * (groupLengths[group] ?? 0)) / averageLength);
      found[group] = (found[group] ?? 0) + (idf * frequency * (BM25_K1 + 1)) / (frequency + normalisation);
      frequencies[group] = 0;
    }
  }
  return found;
};
