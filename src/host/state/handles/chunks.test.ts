import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CHUNK_BYTES, type Chunk, createChunker } from "./chunks.ts";

/** Stores as a caller does: adds, and makes room whenever there is none. */
const cut = (pieces: readonly string[], room = 2): Chunk[] => {
  const chunker = createChunker(room);
  const stored: Chunk[] = [];
  const flush = (isAtEnd: boolean): void => {
    const chunks = chunker.chunks(isAtEnd);
    stored.push(...chunks.map((chunk) => ({ ...chunk, bytes: Buffer.from(chunk.bytes) })));
    chunker.drop(chunks);
  };
  for (const piece of pieces) {
    for (let rest = chunker.add(piece); rest !== ""; rest = chunker.add(rest)) flush(false);
    if (chunker.isFull()) flush(false);
  }
  flush(true);
  expect(chunker.size()).toBe(stored.reduce((sum, { bytes }) => sum + bytes.length, 0));
  return stored;
};

describe("chunks", () => {
  it("together are the whole text, each on its own is valid, and none drifts from its place", () => {
    const piece = fc
      .tuple(fc.string({ unit: "binary", maxLength: 20 }), fc.integer({ min: 1, max: 12_000 }))
      .map(([text, times]) => text.repeat(times));
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), fc.integer({ min: 1, max: 4 }), (pieces, room) => {
        const text = pieces.map((one) => one.toWellFormed()).join("");
        const chunks = cut(pieces, room);
        expect(chunks.map(({ bytes }) => bytes.toString()).join("")).toBe(text);
        let start = 0;
        for (const [i, { n, bytes, newlines, newlinesBefore, startsBefore }] of chunks.entries()) {
          const before = Buffer.from(text).subarray(0, start);
          expect(n).toBe(i);
          expect(start - n * CHUNK_BYTES).toBeLessThan(4);
          expect(start - n * CHUNK_BYTES).toBeGreaterThanOrEqual(0);
          expect(newlinesBefore).toBe(before.toString().split("\n").length - 1);
          expect(startsBefore - newlinesBefore).toBe(start === 0 || before.at(-1) === 0x0a ? 0 : 1);
          expect(newlines).toBe(bytes.toString().split("\n").length - 1);
          start += bytes.length;
        }
      }),
      { numRuns: 60 },
    );
  });

  it("give a character at the border to the chunk it starts in", () => {
    const text = `${"a".repeat(CHUNK_BYTES - 1)}€b`;
    expect(cut([text]).map(({ bytes }) => bytes.length)).toEqual([CHUNK_BYTES + 2, 1]);
    const even = "a".repeat(2 * CHUNK_BYTES);
    expect(cut([even]).map(({ bytes }) => bytes.length)).toEqual([CHUNK_BYTES, CHUNK_BYTES]);
    expect(cut([])).toEqual([]);
  });
});
