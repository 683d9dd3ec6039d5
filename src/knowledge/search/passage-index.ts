import type { NearestRows } from "../../retrieve/embed/nearest-rows.ts";
import { cosineIn, lengthIn, searchRows, type VectorRows } from "../../retrieve/embed/search-rows.ts";
import { shapeOf } from "../../retrieve/rank/query-shape.ts";
import { BM25_K1 } from "../../retrieve/terms/bm25.ts";
import { bytesOfArrays, type PassageArrays } from "./passage-arrays.ts";
import type { PassageEmbedder, QueryVectors } from "./passage-embedder.ts";
import { createPostingsSearch } from "./search-postings.ts";

export interface RankedPassage {
  readonly id: number;
  /** 0 to 1, comparable within one answer. */
  readonly score: number;
  /** Cosine to the question. */
  readonly similarity: number;
  /** The share of the question's terms that it has, rare ones counting more. */
  readonly coverage: number;
  /** BM25, as a share of the most that the question's terms could reach. */
  readonly lexical: number;
  readonly table: keyof QueryVectors;
}

/** What the second chunk of a document keeps of its score, so that an answer does not come from one document alone. */
const SIBLING = 0.9;

/** How many of the nearest and of the best-matching passages are candidates. */
const CANDIDATES = 200;

interface Found {
  readonly slot: number;
  readonly lexical: number;
  readonly similarity: number;
  readonly fused: number;
}

/** Cosines by slot, and which of them counts as 0: the last of the nearest ones. */
const similaritiesIn = (
  vectors: VectorRows,
  firstSlot: number,
  query: Int8Array,
  native: NearestRows | undefined,
) => {
  const near = searchRows(vectors, native, query, CANDIDATES);
  const known = new Map(near.map(({ id, score }) => [id, score]));
  const [best, least] = [near[0]?.score ?? 0, near.at(-1)?.score ?? 0];
  const queryLength = lengthIn(query, 0, query.length);
  return {
    slots: [...known.keys()],
    of: (slot: number): number => known.get(slot) ?? cosineIn(vectors, query, queryLength, slot - firstSlot),
    /** 0 to 1 within this table. */
    scaled: (score: number): number => (best > least ? Math.max(0, (score - least) / (best - least)) : 0),
  };
};

/** Later passages of a document count less and less. */
const spread = (found: readonly Found[], documents: Uint32Array): Found[] => {
  const seen = new Map<number, number>();
  return found
    .toSorted((a, b) => b.fused - a.fused || a.slot - b.slot)
    .map((one) => {
      const document = documents[one.slot] ?? 0;
      const before = seen.get(document) ?? 0;
      seen.set(document, before + 1);
      return { ...one, fused: one.fused * SIBLING ** before };
    })
    .sort((a, b) => b.fused - a.fused || a.slot - b.slot);
};

const rowsOf = (rows: Int8Array, firstSlot: number, dimensions: number): VectorRows => ({
  rows,
  size: rows.length / dimensions,
  dimensions,
  idOf: (row) => firstSlot + row,
  // Asked of candidates only: a length per passage in memory would not pay.
  lengthOf: (row) => lengthIn(rows, row, dimensions),
});

/** All passages of one generation in memory: terms, vectors of both tables, and the ranking over them. */
export const createPassageIndex = (arrays: PassageArrays, dimensions: number, nearestRows?: NearestRows) => {
  const { ids, documents } = arrays;
  const postings = createPostingsSearch(arrays);
  const firstCode = arrays.prose.length / dimensions;
  const vectors = {
    prose: rowsOf(arrays.prose, 0, dimensions),
    code: rowsOf(arrays.code, firstCode, dimensions),
  };
  const tableAt = (slot: number): keyof QueryVectors => (slot < firstCode ? "prose" : "code");

  const search = (
    query: string,
    queryVectors: QueryVectors,
    limit: number,
    shares: PassageEmbedder["share"],
  ): readonly RankedPassage[] => {
    const { terms } = shapeOf(query);
    const near = {
      prose: similaritiesIn(vectors.prose, 0, queryVectors.prose, nearestRows),
      code: similaritiesIn(vectors.code, firstCode, queryVectors.code, nearestRows),
    };
    const matching = postings.search(terms, CANDIDATES, [...near.prose.slots, ...near.code.slots]);
    const maxLexical = matching.reduce((max, { score }) => Math.max(max, score), 0);
    const found = matching.map(({ slot, score }): Found => {
      const table = tableAt(slot);
      const similarity = near[table].of(slot);
      const share = shares[table];
      const fused =
        share * near[table].scaled(similarity) + (1 - share) * (maxLexical > 0 ? score / maxLexical : 0);
      return { slot, lexical: score, similarity, fused };
    });
    const best = spread(found, documents).slice(0, limit);
    const covered = postings.coverage(
      terms.keys(),
      best.map(({ slot }) => slot),
    );
    const top = best[0]?.fused ?? 0;
    return best.map(({ slot, lexical, similarity, fused }, at) => ({
      id: ids[slot] ?? 0,
      score: top > 0 ? fused / top : 0,
      similarity,
      coverage: covered.shares[at] ?? 0,
      lexical: covered.total > 0 ? lexical / (covered.total * (BM25_K1 + 1)) : 0,
      table: tableAt(slot),
    }));
  };

  return {
    size: ids.length,
    /** Of memory. */
    bytes: bytesOfArrays(arrays) + postings.bytes,
    search,
  };
};

export type PassageIndex = ReturnType<typeof createPassageIndex>;
