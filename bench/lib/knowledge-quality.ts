import { mean, ndcgAt, recallAt, reciprocalRank } from "../../src/knowledge/evaluate/metrics.ts";
import { createArraysBuilder } from "../../src/knowledge/search/build-arrays.ts";
import type { PassageArrays } from "../../src/knowledge/search/passage-arrays.ts";
import { shapeOf } from "../../src/retrieve/rank/query-shape.ts";
import { idfOf } from "../../src/retrieve/terms/chunk-groups.ts";
import { hashTerm } from "../../src/retrieve/terms/packed-terms.ts";
import type { OpenBase } from "./knowledge-base.ts";
import type { Asked } from "./knowledge-sets.ts";
import { round } from "./stats.ts";

const ASKED = 50;

export interface Quality {
  readonly ndcg: number;
  readonly mrr: number;
  readonly recall: number;
}

type Answers = (query: string) => readonly string[] | Promise<readonly string[]>;

export const generationOf = async ({ engine }: OpenBase) => {
  const [generation] = (await engine.catalogue.find("set")).generations;
  if (generation === undefined) throw new Error("nothing was ingested");
  return generation;
};

const qualityOf = async (questions: readonly Asked[], documentsFor: Answers): Promise<Quality> => {
  const judged: { readonly found: readonly boolean[]; readonly wanted: number }[] = [];
  for (const { query, gold } of questions) {
    const ids = [...new Set(await documentsFor(query))];
    judged.push({ found: ids.map((id) => gold.has(id)), wanted: gold.size });
  }
  return {
    ndcg: round(mean(judged.map(({ found, wanted }) => ndcgAt(found, wanted, 10))), 4),
    mrr: round(mean(judged.map(({ found }) => reciprocalRank(found))), 4),
    recall: round(mean(judged.map(({ found, wanted }) => recallAt(found, wanted, 10))), 4),
  };
};

export const hybridQuality = async (base: OpenBase, questions: readonly Asked[]): Promise<Quality> => {
  const generation = await generationOf(base);
  return qualityOf(questions, async (query) => {
    const { evidence } = await base.engine.search(generation, query, ASKED);
    return evidence.map(({ passage }) => passage.document.uri);
  });
};

interface Bm25 {
  readonly k1: number;
  readonly b: number;
}

const GRID: readonly Bm25[] = [0.6, 0.9, 1.2, 1.6, 2].flatMap((k1) =>
  [0.2, 0.4, 0.6, 0.75, 0.9].map((b) => ({ k1, b })),
);

/** Plain BM25 over all postings: what the product's own way is compared with. */
const bm25In = (arrays: PassageArrays, uriOf: readonly string[], { k1, b }: Bm25): Answers => {
  const { hashes, starts, postings, lengths } = arrays;
  const average = mean([...lengths]);
  const rankOf = new Map([...hashes].map((hash, rank) => [hash, rank]));
  return (query) => {
    const scores = new Map<number, number>();
    for (const term of shapeOf(query).terms.keys()) {
      const rank = rankOf.get(hashTerm(term));
      if (rank === undefined) continue;
      const [from, to] = [starts[rank] ?? 0, starts[rank + 1] ?? 0];
      for (const posting of postings.subarray(from, to)) {
        const [slot, count] = [posting >>> 8, posting & 0xff];
        const norm = k1 * (1 - b + (b * (lengths[slot] ?? 0)) / average);
        const score = (idfOf(lengths.length, to - from) * count * (k1 + 1)) / (count + norm);
        scores.set(slot, (scores.get(slot) ?? 0) + score);
      }
    }
    return [...scores]
      .sort(([one, a], [other, c]) => c - a || one - other)
      .slice(0, ASKED)
      .map(([slot]) => uriOf[slot] ?? "");
  };
};

/** BM25 over the same passages and terms: with the usual constants, and with those that are best on these very questions. */
export const bm25Quality = async (
  base: OpenBase,
  questions: readonly Asked[],
): Promise<{ readonly usual: Quality; readonly tuned: Quality & Bm25 }> => {
  const { id, chunks } = await generationOf(base);
  const { dimensions } = base.engine.embedder;
  const builder = createArraysBuilder(chunks, dimensions);
  const uris = new Map<number, string>();
  for await (const batch of base.engine.store.passages(id))
    for (const passage of batch) {
      builder.add(passage);
      uris.set(passage.id, passage.uri);
    }
  const arrays = builder.finish();
  const uriOf = Array.from(arrays.ids, (passage) => uris.get(passage) ?? "");
  let tuned: (Quality & Bm25) | undefined;
  for (const constants of GRID) {
    const quality = await qualityOf(questions, bm25In(arrays, uriOf, constants));
    if (quality.ndcg > (tuned?.ndcg ?? -1)) tuned = { ...quality, ...constants };
  }
  const usual = await qualityOf(questions, bm25In(arrays, uriOf, { k1: 1.2, b: 0.75 }));
  return { usual, tuned: tuned ?? { ...usual, k1: 1.2, b: 0.75 } };
};
