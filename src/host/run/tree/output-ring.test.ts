import { expect, test } from "vitest";
import { createOutputRing } from "./output-ring.ts";

test("FAIL-C5: keeps the last bytes, whatever the pieces, and positions stay true", () => {
  const ring = createOutputRing(65_536);
  const all: Buffer[] = [];
  let written = 0;
  for (let round = 0; round < 400; round++) {
    const piece = Buffer.alloc((round * 7919) % 3000, round % 251);
    all.push(piece);
    ring.push(piece);
    written += piece.length;
    expect(ring.end).toBe(written);
    expect(ring.end - ring.begin).toBeLessThanOrEqual(65_536);
  }
  const whole = Buffer.concat(all);
  expect(ring.end - ring.begin).toBeGreaterThan(65_536 - 16_384 - 1);
  expect(ring.from(0).equals(whole.subarray(ring.begin))).toBe(true);
  expect(ring.from(ring.end - 10).equals(whole.subarray(-10))).toBe(true);
  expect(ring.from(ring.end + 5).length).toBe(0);
});

test("a piece larger than the ring", () => {
  const ring = createOutputRing(32_768);
  ring.push(Buffer.alloc(1_000_000, "x"));
  expect(ring.end).toBe(1_000_000);
  expect(ring.from(0).length).toBe(ring.end - ring.begin);
});
