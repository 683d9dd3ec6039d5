import { BYTES_PER_TERM, type PackedTerms } from "./packed-terms.ts";
import { createTermTable } from "./term-table.ts";

/** The chunks that hold one term. The arrays are reused by the next call. */
export interface Found {
  readonly slots: Uint32Array;
  readonly counts: Uint8Array;
  readonly length: number;
}

export interface Postings {
  /** Returns the length of the chunk: the sum of its counts. */
  add(slot: number, terms: PackedTerms): number;
  /** The slot's postings are dead from now on. */
  bury(slot: number): void;
  find(hash: number): Found;
  /** Enough of it is new or dead that putting it in order pays. */
  isUntidy(): boolean;
  /** Puts postings in the order of terms; `moved` says where each slot went, -1 for a dead one. */
  compact(moved: Int32Array): void;
}

/** An edit of a few files stays in the tail; a tail this small costs a search nothing. */
const MIN_TAIL = 65_536;

/** The share of the whole above which new or dead postings are worth a compaction: it then costs each posting a constant. */
const MAX_UNTIDY = 0.25;

const NONE = 0xffffffff;

const grown = (array: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> => {
  const larger = new Uint32Array(array.length * 2);
  larger.set(array);
  return larger;
};

/**
 * Postings in two parts: a base ordered by term, and a tail in the order it came, chained by term. Six to thirteen bytes
 * a posting, and no object for a term.
 */
export const createPostings = (): Postings => {
  const terms = createTermTable();
  let baseStart = new Uint32Array(1);
  let baseSlot = new Uint32Array(0);
  let baseCount = new Uint8Array(0);
  let tailTerm = new Uint32Array(4096);
  let tailSlot = new Uint32Array(4096);
  let tailPrevious = new Uint32Array(4096);
  let tailCount = new Uint8Array(4096);
  let tailHead = new Uint32Array(4096).fill(NONE);
  let tailLength = 0;
  let chained = 0;
  let isDead = new Uint8Array(1024);
  const sizeOfSlot = new Map<number, number>();
  let deadPostings = 0;
  let foundSlots = new Uint32Array(1024);
  let foundCounts = new Uint8Array(1024);

  const makeRoom = (wanted: number): void => {
    while (tailLength + wanted > tailSlot.length) {
      tailTerm = grown(tailTerm);
      tailSlot = grown(tailSlot);
      tailPrevious = grown(tailPrevious);
      const counts = new Uint8Array(tailCount.length * 2);
      counts.set(tailCount);
      tailCount = counts;
    }
  };

  /** Only when something is looked for: a tail that is compacted first needs no chains. */
  const chain = (): void => {
    if (terms.size > tailHead.length) {
      const larger = new Uint32Array(terms.size * 2).fill(NONE);
      larger.set(tailHead);
      tailHead = larger;
    }
    for (; chained < tailLength; chained++) {
      const term = tailTerm[chained] ?? 0;
      tailPrevious[chained] = tailHead[term] ?? NONE;
      tailHead[term] = chained;
    }
  };

  const slotRoom = (slot: number): void => {
    while (slot >= isDead.length) {
      const larger = new Uint8Array(isDead.length * 2);
      larger.set(isDead);
      isDead = larger;
    }
  };

  return {
    add: (slot, packed) => {
      const size = Math.floor(packed.byteLength / BYTES_PER_TERM);
      makeRoom(size);
      slotRoom(slot);
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
        const term = terms.idOf(hash);
        const count = packed[size * 4 + i] ?? 0;
        tailTerm[tailLength] = term;
        tailSlot[tailLength] = slot;
        tailCount[tailLength] = count;
        tailLength++;
        length += count;
      }
      return length;
    },

    bury: (slot) => {
      isDead[slot] = 1;
      deadPostings += sizeOfSlot.get(slot) ?? 0;
      sizeOfSlot.delete(slot);
    },

    find: (hash) => {
      chain();
      const term = terms.find(hash);
      let length = 0;
      if (term < 0) return { slots: foundSlots, counts: foundCounts, length };
      const room = (): void => {
        if (length < foundSlots.length) return;
        foundSlots = grown(foundSlots);
        const counts = new Uint8Array(foundCounts.length * 2);
        counts.set(foundCounts);
        foundCounts = counts;
      };
      const end = baseStart[term + 1] ?? 0;
      for (let i = baseStart[term] ?? end; i < end; i++) {
        const slot = baseSlot[i] ?? 0;
        if (isDead[slot] === 1) continue;
        room();
        foundSlots[length] = slot;
        foundCounts[length++] = baseCount[i] ?? 0;
      }
      for (let i = tailHead[term] ?? NONE; i !== NONE; i = tailPrevious[i] ?? NONE) {
        const slot = tailSlot[i] ?? 0;
        if (isDead[slot] === 1) continue;
        room();
        foundSlots[length] = slot;
        foundCounts[length++] = tailCount[i] ?? 0;
      }
      return { slots: foundSlots, counts: foundCounts, length };
    },

    isUntidy: () =>
      tailLength + deadPostings > Math.max(MIN_TAIL, MAX_UNTIDY * (baseSlot.length + tailLength)),

    compact: (moved) => {
      const start = new Uint32Array(terms.size + 1);
      const oldTerms = baseStart.length - 1;
      const eachLive = (visit: (term: number, slot: number, count: number) => void): void => {
        for (let term = 0; term < oldTerms; term++)
          for (let i = baseStart[term] ?? 0; i < (baseStart[term + 1] ?? 0); i++) {
            const to = moved[baseSlot[i] ?? 0] ?? -1;
            if (to >= 0) visit(term, to, baseCount[i] ?? 0);
          }
        for (let i = 0; i < tailLength; i++) {
          const to = moved[tailSlot[i] ?? 0] ?? -1;
          if (to >= 0) visit(tailTerm[i] ?? 0, to, tailCount[i] ?? 0);
        }
      };
      let live = 0;
      eachLive((term) => {
        start[term + 1] = (start[term + 1] ?? 0) + 1;
        live++;
      });
      for (let term = 0; term < terms.size; term++)
        start[term + 1] = (start[term + 1] ?? 0) + (start[term] ?? 0);
      const slots = new Uint32Array(live);
      const counts = new Uint8Array(live);
      const next = start.slice();
      eachLive((term, slot, count) => {
        const at = next[term] ?? 0;
        next[term] = at + 1;
        slots[at] = slot;
        counts[at] = count;
      });
      const sizes = [...sizeOfSlot];
      sizeOfSlot.clear();
      for (const [slot, size] of sizes) sizeOfSlot.set(moved[slot] ?? -1, size);
      baseStart = start;
      baseSlot = slots;
      baseCount = counts;
      tailTerm = new Uint32Array(4096);
      tailSlot = new Uint32Array(4096);
      tailPrevious = new Uint32Array(4096);
      tailCount = new Uint8Array(4096);
      tailHead.fill(NONE);
      tailLength = 0;
      chained = 0;
      isDead.fill(0);
      deadPostings = 0;
    },
  };
};
