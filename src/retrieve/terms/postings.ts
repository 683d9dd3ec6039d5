import { BYTES_PER_TERM, type PackedTerms } from "./packed-terms.ts";
import { createTermTable, type TermTable } from "./term-table.ts";

/** The chunks that contain one term. The arrays are reused by the next call. */
export interface PostingList {
  readonly slots: Uint32Array;
  readonly counts: Uint8Array;
  readonly length: number;
}

export interface Postings {
  /** Returns the length of the chunk: the sum of its counts. */
  add(slot: number, terms: PackedTerms): number;
  /** Marks the postings of a slot as dead; they are dropped by the next compaction. */
  remove(slot: number): void;
  find(hash: number): PostingList;
  /** So many postings are new or dead that a compaction pays. */
  needsCompaction(): boolean;
  /** Sorts the postings by term; `moved` holds the new number of each slot, -1 for a dead one. */
  compact(moved: Int32Array): void;
}

/** An edit of a few files stays in the tail; a tail this small costs a search nothing. */
const MIN_TAIL = 65_536;

/** The share of new or dead postings above which a compaction pays: its cost per posting is then constant. */
const MAX_LOOSE_SHARE = 0.25;

const TAIL_CAPACITY = 4096;
const NO_ENTRY = 0xffffffff;

/** Sorted by term: the postings of a term are those from `start[term]` to `start[term + 1]`. */
interface Base {
  readonly start: Uint32Array;
  readonly slot: Uint32Array;
  readonly count: Uint8Array;
}

/** In the order of insertion, linked by term: `head` of a term is its last posting, `previous` the one before. */
interface Tail {
  length: number;
  /** How many of them are linked. */
  linked: number;
  term: Uint32Array<ArrayBuffer>;
  slot: Uint32Array<ArrayBuffer>;
  count: Uint8Array<ArrayBuffer>;
  previous: Uint32Array<ArrayBuffer>;
  head: Uint32Array<ArrayBuffer>;
}

interface Index {
  readonly terms: TermTable;
  base: Base;
  readonly tail: Tail;
  isDead: Uint8Array<ArrayBuffer>;
  readonly sizeOfSlot: Map<number, number>;
  deadPostings: number;
}

const growArray = (array: Uint32Array<ArrayBuffer>, size: number, fill = 0): Uint32Array<ArrayBuffer> => {
  const larger = new Uint32Array(size);
  if (fill !== 0) larger.fill(fill);
  larger.set(array);
  return larger;
};

const growBytes = (array: Uint8Array<ArrayBuffer>, size: number): Uint8Array<ArrayBuffer> => {
  const larger = new Uint8Array(size);
  larger.set(array);
  return larger;
};

const emptyTail = (): Tail => ({
  length: 0,
  linked: 0,
  term: new Uint32Array(TAIL_CAPACITY),
  slot: new Uint32Array(TAIL_CAPACITY),
  count: new Uint8Array(TAIL_CAPACITY),
  previous: new Uint32Array(TAIL_CAPACITY),
  head: new Uint32Array(TAIL_CAPACITY).fill(NO_ENTRY),
});

const reserve = ({ tail }: Index, more: number): void => {
  let capacity = tail.slot.length;
  while (tail.length + more > capacity) capacity *= 2;
  if (capacity === tail.slot.length) return;
  tail.term = growArray(tail.term, capacity);
  tail.slot = growArray(tail.slot, capacity);
  tail.previous = growArray(tail.previous, capacity);
  tail.count = growBytes(tail.count, capacity);
};

/** Only when something is searched: a tail that is compacted before needs no links. */
const linkTail = ({ terms, tail }: Index): void => {
  if (terms.size > tail.head.length) tail.head = growArray(tail.head, terms.size * 2, NO_ENTRY);
  const { term: termOf, previous, head } = tail;
  for (; tail.linked < tail.length; tail.linked++) {
    const term = termOf[tail.linked] ?? 0;
    previous[tail.linked] = head[term] ?? NO_ENTRY;
    head[term] = tail.linked;
  }
};

const addPostings = (index: Index, slot: number, packed: PackedTerms): number => {
  const { terms, tail, sizeOfSlot } = index;
  const size = Math.floor(packed.byteLength / BYTES_PER_TERM);
  reserve(index, size);
  while (slot >= index.isDead.length) index.isDead = growBytes(index.isDead, index.isDead.length * 2);
  sizeOfSlot.set(slot, size);
  let length = 0;
  for (let i = 0; i < size; i++) {
    const at = i * 4;
    const hash =
      ((packed[at] ?? 0) |
        ((packed[at + 1] ?? 0) << 8) |
        ((packed[at + 2] ?? 0) << 16) |
        ((packed[at + 3] ?? 0) << 24)) >>>
      0;
    const count = packed[size * 4 + i] ?? 0;
    tail.term[tail.length] = terms.idOf(hash);
    tail.slot[tail.length] = slot;
    tail.count[tail.length] = count;
    tail.length++;
    length += count;
  }
  return length;
};

/** Collects the live postings of a term, from the base and the tail. */
const createFinder = (index: Index): Postings["find"] => {
  let slots = new Uint32Array(1024);
  let counts = new Uint8Array(1024);
  let length = 0;
  const push = (slot: number, count: number): void => {
    if (index.isDead[slot] === 1) return;
    if (length === slots.length) {
      slots = growArray(slots, length * 2);
      counts = growBytes(counts, length * 2);
    }
    slots[length] = slot;
    counts[length++] = count;
  };
  return (hash) => {
    linkTail(index);
    const { base, tail } = index;
    const term = index.terms.find(hash);
    length = 0;
    if (term >= 0) {
      const end = base.start[term + 1] ?? 0;
      for (let i = base.start[term] ?? end; i < end; i++) push(base.slot[i] ?? 0, base.count[i] ?? 0);
      for (let i = tail.head[term] ?? NO_ENTRY; i !== NO_ENTRY; i = tail.previous[i] ?? NO_ENTRY)
        push(tail.slot[i] ?? 0, tail.count[i] ?? 0);
    }
    return { slots, counts, length };
  };
};

const eachLive = (
  { base, tail }: Index,
  moved: Int32Array,
  visit: (term: number, slot: number, count: number) => void,
): void => {
  for (let term = 0; term + 1 < base.start.length; term++)
    for (let i = base.start[term] ?? 0; i < (base.start[term + 1] ?? 0); i++) {
      const to = moved[base.slot[i] ?? 0] ?? -1;
      if (to >= 0) visit(term, to, base.count[i] ?? 0);
    }
  for (let i = 0; i < tail.length; i++) {
    const to = moved[tail.slot[i] ?? 0] ?? -1;
    if (to >= 0) visit(tail.term[i] ?? 0, to, tail.count[i] ?? 0);
  }
};

/** A counting sort of all live postings by term. */
const sortedBase = (index: Index, moved: Int32Array): Base => {
  const { size } = index.terms;
  const start = new Uint32Array(size + 1);
  let live = 0;
  eachLive(index, moved, (term) => {
    start[term + 1] = (start[term + 1] ?? 0) + 1;
    live++;
  });
  for (let term = 0; term < size; term++) start[term + 1] = (start[term + 1] ?? 0) + (start[term] ?? 0);
  const slot = new Uint32Array(live);
  const count = new Uint8Array(live);
  const next = start.slice();
  eachLive(index, moved, (term, to, occurrences) => {
    const at = next[term] ?? 0;
    next[term] = at + 1;
    slot[at] = to;
    count[at] = occurrences;
  });
  return { start, slot, count };
};

const compact = (index: Index, moved: Int32Array): void => {
  index.base = sortedBase(index, moved);
  Object.assign(index.tail, emptyTail());
  const sizes = [...index.sizeOfSlot];
  index.sizeOfSlot.clear();
  for (const [slot, size] of sizes) index.sizeOfSlot.set(moved[slot] ?? -1, size);
  index.isDead.fill(0);
  index.deadPostings = 0;
};

/**
 * Postings in two parts: a base sorted by term, and a tail in the order of insertion. Six to thirteen bytes per posting, and
 * no object per term.
 */
export const createPostings = (): Postings => {
  const index: Index = {
    terms: createTermTable(),
    base: { start: new Uint32Array(1), slot: new Uint32Array(0), count: new Uint8Array(0) },
    tail: emptyTail(),
    isDead: new Uint8Array(1024),
    sizeOfSlot: new Map(),
    deadPostings: 0,
  };
  return {
    add: (slot, packed) => addPostings(index, slot, packed),
    remove: (slot) => {
      index.isDead[slot] = 1;
      index.deadPostings += index.sizeOfSlot.get(slot) ?? 0;
      index.sizeOfSlot.delete(slot);
    },
    find: createFinder(index),
    needsCompaction: () => {
      const { base, tail, deadPostings } = index;
      const limit = Math.max(MIN_TAIL, MAX_LOOSE_SHARE * (base.slot.length + tail.length));
      return tail.length + deadPostings > limit;
    },
    compact: (moved) => compact(index, moved),
  };
};
