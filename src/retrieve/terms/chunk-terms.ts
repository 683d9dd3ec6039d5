import type { Chunk } from "../chunk/chunk.ts";
import { hashTerm, MAX_COUNT, type PackedTerms, packTerms } from "./packed-terms.ts";
import { numbersOfRuns } from "./runs.ts";
import { createTermTable } from "./term-table.ts";
import { termsOfRun } from "./tokenize.ts";

/** A term in the path says what the whole file is about, so it weighs as much as several in the body. */
const PATH_WEIGHT = 3;

/** The names that a chunk defines say what it is about. */
const NAME_WEIGHT = 2;

/** Longer chunks are data; only their first part is indexed. */
const MAX_BODY_CHARS = 200_000;

/** Changes whenever the terms of a text would: part of what an index is valid for. */
export const TERMS_VERSION = 3;

/** With more terms the counter is replaced, so that memory stays bounded. */
const MAX_TERMS = 500_000;

/** A hash and a count are combined in one number: sorting these sorts the hashes and keeps the counts with them. */
const COUNTS = MAX_COUNT + 1;

const createCounter = () => {
  const terms = createTermTable();
  const termsOf = numbersOfRuns((run) => termsOfRun(run).map((term) => terms.idOf(hashTerm(term))));
  let counts = new Uint32Array(1 << 16);
  let counted = new Int32Array(4096);
  let distinct = 0;

  return {
    isFull: () => terms.size > MAX_TERMS,
    add: (text: string, weight: number): void => {
      const { numbers, length } = termsOf(text);
      if (terms.size > counts.length) {
        const larger = new Uint32Array(terms.size * 2);
        larger.set(counts);
        counts = larger;
      }
      if (distinct + length > counted.length) {
        const larger = new Int32Array((distinct + length) * 2);
        larger.set(counted);
        counted = larger;
      }
      for (let i = 0; i < length; i++) {
        const term = numbers[i] ?? 0;
        const before = counts[term] ?? 0;
        if (before === 0) counted[distinct++] = term;
        counts[term] = before + weight;
      }
    },
    take: (): PackedTerms => {
      const keys = new Float64Array(distinct);
      for (let i = 0; i < distinct; i++) {
        const term = counted[i] ?? 0;
        keys[i] = terms.hashOf(term) * COUNTS + Math.min(MAX_COUNT, counts[term] ?? 0);
        counts[term] = 0;
      }
      distinct = 0;
      keys.sort();
      return packTerms(
        keys.length,
        (at) => Math.floor((keys[at] ?? 0) / COUNTS),
        (at) => (keys[at] ?? 0) % COUNTS,
      );
    },
  };
};

let counter = createCounter();

/**
 * How often each term counts in a chunk, with the weights of path, names and body folded in; a chunk without text has no
 * terms (chunk/listing.ts).
 */
export const chunkTerms = (path: string, chunk: Pick<Chunk, "text" | "name" | "defines">): PackedTerms => {
  if (counter.isFull()) counter = createCounter();
  if (chunk.text === "") return counter.take();
  counter.add(path, 1);
  // Numbers in paths are dates, ids and versions: they can be searched, but do not say what the file is about.
  counter.add(path.replace(/\d+/g, " "), PATH_WEIGHT - 1);
  counter.add(chunk.name, NAME_WEIGHT);
  for (const name of chunk.defines) counter.add(name, NAME_WEIGHT);
  counter.add(chunk.text.slice(0, MAX_BODY_CHARS), 1);
  return counter.take();
};
