import { describe, expect, test } from "vitest";
import { createTextSearch } from "./text-search.ts";

describe("FAIL-D2 a search for a text", () => {
  test("finds what indexOf finds, in texts of a few letters", () => {
    let seed = 7;
    const random = (below: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return Math.floor(seed / 65_536) % below;
    };
    const letters = (length: number): string =>
      Array.from({ length }, () => "ab"[random(40) === 0 ? 1 : 0]).join("");
    let found = 0;
    for (let round = 0; round < 400; round++) {
      const text = letters(1500);
      const start = random(1200);
      const copied = text.slice(start, start + 130 + random(150));
      const wanted = random(2) === 0 ? copied : `${copied.slice(0, -1)}b`;
      const search = createTextSearch(wanted);
      for (const from of [0, start, start + 1]) expect(search(text, from)).toBe(text.indexOf(wanted, from));
      if (text.includes(wanted)) found++;
    }
    expect(found).toBeGreaterThan(100);
    expect(found).toBeLessThan(400);
  });

  test("takes linear time where the text almost occurs everywhere", () => {
    const half = "a".repeat(100_000);
    const startedAt = process.cpuUsage();
    expect(createTextSearch(`${half}b${half}`)("a".repeat(2_000_000))).toBe(-1);
    const { user } = process.cpuUsage(startedAt);
    // Microseconds; V8's own search takes half a minute.
    expect(user).toBeLessThan(2_000_000);
  });
});
