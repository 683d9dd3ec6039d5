/**
 * All that a search of a generation needs, and nothing else: no texts, and no object per passage or term. A passage has
 * a slot; those of prose come before those of code, so the slot says which row of which table its vector is.
 */
export interface PassageArrays {
  /** Hashes of the terms, ascending. */
  readonly hashes: Uint32Array<ArrayBuffer>;
  /** The postings of term `i` are those from `starts[i]` to `starts[i + 1]`. */
  readonly starts: Uint32Array<ArrayBuffer>;
  /** Per term, the most that it adds to a passage's BM25, without its rarity. */
  readonly bounds: Float32Array<ArrayBuffer>;
  /** Slot in the upper 24 bits, count in the lower 8; ascending within a term. */
  readonly postings: Uint32Array<ArrayBuffer>;
  /** Per slot: its length in terms, its number in the store, and the number of its document, from 0. */
  readonly lengths: Uint32Array<ArrayBuffer>;
  readonly ids: Float64Array<ArrayBuffer>;
  readonly documents: Uint32Array<ArrayBuffer>;
  /** Vectors, row by row, one array per table: the native search reads a buffer from its start. */
  readonly prose: Int8Array<ArrayBuffer>;
  readonly code: Int8Array<ArrayBuffer>;
}

export type SectionName = keyof PassageArrays;

const ARRAY_TYPES = {
  hashes: Uint32Array,
  starts: Uint32Array,
  bounds: Float32Array,
  postings: Uint32Array,
  lengths: Uint32Array,
  ids: Float64Array,
  documents: Uint32Array,
  prose: Int8Array,
  code: Int8Array,
} as const;

export const SECTIONS = Object.keys(ARRAY_TYPES) as readonly SectionName[];

/** A slot has 24 bits. */
export const MAX_PASSAGES = 2 ** 24;

export const bytesOfArrays = (arrays: PassageArrays): number =>
  SECTIONS.reduce((sum, name) => sum + arrays[name].byteLength, 0);

/** The arrays over buffers that were read; undefined where their sizes contradict each other. */
export const arraysOver = (
  buffers: Readonly<Record<SectionName, ArrayBuffer>>,
  passages: number,
  dimensions: number,
): PassageArrays | undefined => {
  const isWhole = SECTIONS.every(
    (name) => buffers[name].byteLength % ARRAY_TYPES[name].BYTES_PER_ELEMENT === 0,
  );
  if (!isWhole) return undefined;
  const arrays = Object.fromEntries(
    SECTIONS.map((name) => [name, new ARRAY_TYPES[name](buffers[name])]),
  ) as unknown as PassageArrays;
  const { hashes, starts, bounds, postings, lengths, ids, documents, prose, code } = arrays;
  const doesFit =
    [lengths, ids, documents].every(({ length }) => length === passages) &&
    prose.length % dimensions === 0 &&
    prose.length + code.length === passages * dimensions &&
    starts.length === hashes.length + 1 &&
    bounds.length === hashes.length &&
    starts.at(-1) === postings.length;
  return doesFit ? arrays : undefined;
};
