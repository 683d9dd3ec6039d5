import fc from "fast-check";
import { expect, test } from "vitest";
import { createByteCollector } from "./byte-collector.ts";

test("REQ-I6 pieces come back as one, and what was taken is not changed by what comes after it", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 3000 }), { maxLength: 20 }), (pieces) => {
      const collected = createByteCollector();
      const all = Buffer.concat(pieces);
      for (const piece of pieces) collected.add(piece);
      expect(collected.size()).toBe(all.length);
      const taken = collected.take();
      collected.add(Buffer.alloc(100, "x"));
      expect(taken.equals(all)).toBe(true);
      expect(collected.take().toString()).toBe("x".repeat(100));
    }),
    { numRuns: 100 },
  );
});

test("REQ-I6 FAIL-D2 a hundred thousand pieces of one byte take the memory of their bytes", () => {
  const collected = createByteCollector();
  const piece = Buffer.from("x");
  for (let i = 0; i < 100_000; i++) collected.add(piece);
  expect(collected.take().buffer.byteLength).toBeLessThan(300_000);
});
