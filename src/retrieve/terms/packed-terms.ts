/**
 * How often each term occurs in a chunk, as it is stored and sent between threads: first the hashes (four bytes each, little
 * endian, ascending), then the counts (one byte each). A hash of 32 bits stands for the term: in a vocabulary of 300,000
 * terms, one in 14,000 shares its hash with another, which costs at most a wrong result among the weak ones.
 */
export type PackedTerms = Uint8Array;

export const BYTES_PER_TERM = 5;

/** More occurrences than this say nothing more; BM25 saturates long before. */
export const MAX_COUNT = 255;

/** FNV-1a over UTF-16 units, with the final mix of MurmurHash3: the low bits serve as a table index. */
export const hashTerm = (term: string): number => {
  let hash = 0x811c9dc5;
  for (let at = 0; at < term.length; at++) hash = Math.imul(hash ^ term.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
};

/** The hashes must be distinct and ascending, the counts at most `MAX_COUNT`. */
export const packTerms = (
  size: number,
  hashAt: (at: number) => number,
  countAt: (at: number) => number,
): PackedTerms => {
  const packed = new Uint8Array(size * BYTES_PER_TERM);
  for (let at = 0; at < size; at++) {
    const hash = hashAt(at);
    packed[at * 4] = hash;
    packed[at * 4 + 1] = hash >>> 8;
    packed[at * 4 + 2] = hash >>> 16;
    packed[at * 4 + 3] = hash >>> 24;
    packed[size * 4 + at] = countAt(at);
  }
  return packed;
};
