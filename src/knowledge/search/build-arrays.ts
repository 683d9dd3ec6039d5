import { LlmcError } from "../../base/error.ts";
import { BM25_B, BM25_K1 } from "../../retrieve/terms/bm25.ts";
import { BYTES_PER_TERM, type PackedTerms } from "../../retrieve/terms/packed-terms.ts";
import { createTermTable } from "../../retrieve/terms/term-table.ts";
import type { IndexedPassage } from "../store/contract.ts";
import { MAX_PASSAGES, type PassageArrays } from "./passage-arrays.ts";
import { tableOf } from "./passage-embedder.ts";

/** Postings in the order in which they come, in pieces: an array that grows would be copied, and be twice as large meanwhile. */
const PIECE = 1 << 20;

const createPieces = () => {
  const terms: Uint32Array[] = [];
  const counts: Uint8Array[] = [];
  let size = 0;
  return {
    get size(): number {
      return size;
    },
    push: (term: number, count: number): void => {
      const at = size++ % PIECE;
      if (at === 0) {
        terms.push(new Uint32Array(PIECE));
        counts.push(new Uint8Array(PIECE));
      }
      (terms.at(-1) ?? new Uint32Array(0))[at] = term;
      (counts.at(-1) ?? new Uint8Array(0))[at] = count;
    },
    termAt: (at: number): number => terms[Math.floor(at / PIECE)]?.[at % PIECE] ?? 0,
    countAt: (at: number): number => counts[Math.floor(at / PIECE)]?.[at % PIECE] ?? 0,
  };
};

type Pieces = ReturnType<typeof createPieces>;

const hashAt = (packed: PackedTerms, at: number): number =>
  ((packed[at] ?? 0) |
    ((packed[at + 1] ?? 0) << 8) |
    ((packed[at + 2] ?? 0) << 16) |
    ((packed[at + 3] ?? 0) << 24)) >>>
  0;

interface Sorted {
  readonly starts: Uint32Array<ArrayBuffer>;
  readonly postings: Uint32Array<ArrayBuffer>;
}

/** A counting sort by term, slot by slot; `rankOf` is the place of a term among the sorted hashes. */
const sortPostings = (
  pieces: Pieces,
  { from, to: end }: { readonly from: Float64Array; readonly to: Float64Array },
  rankOf: Uint32Array,
): Sorted => {
  const starts = new Uint32Array(rankOf.length + 1);
  for (let at = 0; at < pieces.size; at++) {
    const rank = rankOf[pieces.termAt(at)] ?? 0;
    starts[rank + 1] = (starts[rank + 1] ?? 0) + 1;
  }
  for (let rank = 0; rank < rankOf.length; rank++)
    starts[rank + 1] = (starts[rank + 1] ?? 0) + (starts[rank] ?? 0);
  const postings = new Uint32Array(pieces.size);
  const next = starts.slice();
  for (let slot = 0; slot < from.length; slot++)
    for (let at = from[slot] ?? 0; at < (end[slot] ?? 0); at++) {
      const rank = rankOf[pieces.termAt(at)] ?? 0;
      const to = next[rank] ?? 0;
      next[rank] = to + 1;
      postings[to] = slot * 256 + pieces.countAt(at);
    }
  return { starts, postings };
};

/** What a term adds to a passage's BM25, without its rarity. */
export const saturation = (count: number, normalisation: number): number =>
  (count * (BM25_K1 + 1)) / (count + normalisation);

/** BM25's normalisation by length, per slot. */
export const normalisationsOf = (lengths: Uint32Array): Float64Array => {
  let total = 0;
  for (const length of lengths) total += length;
  const averageLength = Math.max(1, total / Math.max(1, lengths.length));
  return Float64Array.from(lengths, (length) => BM25_K1 * (1 - BM25_B + (BM25_B * length) / averageLength));
};

/** Rounded up, since a bound that is too small would lose a passage. */
const boundsOf = ({ starts, postings }: Sorted, lengths: Uint32Array): Float32Array<ArrayBuffer> => {
  const normalisations = normalisationsOf(lengths);
  const bounds = new Float32Array(starts.length - 1);
  for (let term = 0; term < bounds.length; term++) {
    let largest = 0;
    for (let at = starts[term] ?? 0; at < (starts[term + 1] ?? 0); at++) {
      const posting = postings[at] ?? 0;
      largest = Math.max(largest, saturation(posting & 0xff, normalisations[posting >>> 8] ?? 0));
    }
    bounds[term] = largest * (1 + 1e-6);
  }
  return bounds;
};

const tooMany = (): LlmcError =>
  new LlmcError("unavailable", `A version of a knowledge base has at most ${MAX_PASSAGES} passages.`, {
    hint: "Divide its documents into several collections.",
  });

/** Builds the arrays of a generation, whose number of passages is known before. */
export const createArraysBuilder = (passages: number, dimensions: number) => {
  if (passages > MAX_PASSAGES) throw tooMany();
  const table = createTermTable();
  const pieces = createPieces();
  const lengths = new Uint32Array(passages);
  const ids = new Float64Array(passages);
  const documents = new Uint32Array(passages);
  const vectors = new Int8Array(passages * dimensions);
  /** Which part of the pieces a slot has. */
  const part = { from: new Float64Array(passages), to: new Float64Array(passages) };
  let [proseCount, codeCount, documentCount] = [0, 0, 0];
  let document: number | undefined;

  const addTerms = (slot: number, packed: PackedTerms): void => {
    const size = Math.floor(packed.byteLength / BYTES_PER_TERM);
    part.from[slot] = pieces.size;
    let length = 0;
    for (let at = 0; at < size; at++) {
      const count = packed[size * 4 + at] ?? 0;
      pieces.push(table.idOf(hashAt(packed, at * 4)), count);
      length += count;
    }
    part.to[slot] = pieces.size;
    lengths[slot] = length;
  };

  return {
    get size(): number {
      return proseCount + codeCount;
    },
    /** Passages of a document come one after the other. */
    add: (passage: IndexedPassage): void => {
      // More than were counted: the generation is being changed, which its reader notices by the size.
      if (proseCount + codeCount === passages) return;
      const slot = tableOf(passage.kind) === "code" ? passages - ++codeCount : proseCount++;
      if (document !== passage.document) documentCount++;
      document = passage.document;
      ids[slot] = passage.id;
      documents[slot] = documentCount - 1;
      vectors.set(passage.vector.subarray(0, dimensions), slot * dimensions);
      addTerms(slot, passage.terms);
    },
    finish: (): PassageArrays => {
      // Code was put in from the end, since nobody knew how many passages of prose there would be.
      for (const array of [lengths, ids, documents, part.from, part.to]) array.subarray(proseCount).reverse();
      const order = Uint32Array.from({ length: table.size }, (_, at) => at).sort(
        (a, b) => table.hashOf(a) - table.hashOf(b),
      );
      const hashes = Uint32Array.from(order, table.hashOf);
      const rankOf = new Uint32Array(table.size);
      order.forEach((term, rank) => {
        rankOf[term] = rank;
      });
      const sorted = sortPostings(pieces, part, rankOf);
      const code = new Int8Array(codeCount * dimensions);
      for (let row = 0; row < codeCount; row++) {
        const from = (passages - 1 - row) * dimensions;
        code.set(vectors.subarray(from, from + dimensions), row * dimensions);
      }
      return {
        hashes,
        ...sorted,
        bounds: boundsOf(sorted, lengths),
        lengths,
        ids,
        documents,
        prose: codeCount === 0 ? vectors : vectors.slice(0, proseCount * dimensions),
        code,
      };
    },
  };
};
