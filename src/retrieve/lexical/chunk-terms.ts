import type { Chunk } from "../contract.ts";
import { hashTerm, type PackedTerms, packTerms } from "./packed-terms.ts";
import { perRun, scanRuns } from "./runs.ts";
import { createTermTable } from "./term-table.ts";
import { termsOfRun } from "./tokenize.ts";

/** A word of the path says what the whole file is about: one there weighs as much as several in the body. */
const PATH_WEIGHT = 3;

/** What a chunk defines is what it is about. */
const NAME_WEIGHT = 2;

/** Chunks longer than this are data; their first part stands for them. */
const MAX_BODY_CHARS = 200_000;

/** Changes whenever the terms of a text would: part of what an index is valid for. */
export const TERMS_VERSION = 3;

/** Then the numbers of terms start anew, so that memory stays bounded. */
const MAX_TERMS = 500_000;

const createCounter = () => {
  const terms = createTermTable();
  const termsOf = perRun((run) => Int32Array.from(termsOfRun(run), (term) => terms.idOf(hashTerm(term))));
  let counts = new Uint32Array(1 << 16);
  let counted = new Int32Array(4096);
  let distinct = 0;

  const count = (term: number, weight: number): void => {
    if (term >= counts.length) {
      const larger = new Uint32Array(Math.max(terms.size, counts.length) * 2);
      larger.set(counts);
      counts = larger;
    }
    if (counts[term] === 0) {
      if (distinct === counted.length) {
        const larger = new Int32Array(distinct * 2);
        larger.set(counted);
        counted = larger;
      }
      counted[distinct++] = term;
    }
    counts[term] = (counts[term] ?? 0) + weight;
  };

  return {
    isFull: () => terms.size > MAX_TERMS,
    add: (text: string, weight: number): void => {
      const { runs, length } = scanRuns(text);
      for (let i = 0; i < length; i++) {
        const found = termsOf(runs[i] ?? 0);
        for (let j = 0; j < found.length; j++) count(found[j] ?? 0, weight);
      }
    },
    take: (): PackedTerms => {
      const hashes = new Uint32Array(distinct);
      for (let i = 0; i < distinct; i++) hashes[i] = terms.hashOf(counted[i] ?? 0);
      hashes.sort();
      const packed = packTerms(hashes, (hash) => counts[terms.find(hash)] ?? 0);
      for (let i = 0; i < distinct; i++) counts[counted[i] ?? 0] = 0;
      distinct = 0;
      return packed;
    },
  };
};

let counter = createCounter();

/** How often each term counts in a chunk, with the weights of path, names and body folded in. */
export const chunkTerms = (path: string, chunk: Pick<Chunk, "text" | "name" | "defines">): PackedTerms => {
  if (counter.isFull()) counter = createCounter();
  counter.add(path, 1);
  // Numbers in paths are dates, ids and versions: found by, but not what the file is about.
  counter.add(path.replace(/\d+/g, " "), PATH_WEIGHT - 1);
  counter.add(chunk.name, NAME_WEIGHT);
  for (const name of chunk.defines) counter.add(name, NAME_WEIGHT);
  counter.add(chunk.text.slice(0, MAX_BODY_CHARS), 1);
  return counter.take();
};
