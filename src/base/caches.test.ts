import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createCaches } from "./caches.ts";

const open = (maxBytes = 1000) => {
  const clock = { ms: 0 };
  const limit = { bytes: maxBytes };
  return { clock, limit, caches: createCaches({ maxBytes: () => limit.bytes, now: () => clock.ms }) };
};

describe("REQ-I8: caches", () => {
  it("a value is made once, until its time is over or it is cleared", () => {
    const { clock, caches } = open();
    const cache = caches.open<number>("permissions", 900_000);
    let made = 0;
    const get = () => cache.get("a", () => ++made);
    expect([get(), get()]).toEqual([1, 1]);
    clock.ms += 900_000;
    expect(get()).toBe(2);
    cache.clear();
    expect(get()).toBe(3);
    expect(caches.stats()).toMatchObject({ hits: 1, misses: 3 });
  });

  it("one cache does not see the keys of another, nor is it cleared with it", () => {
    const { caches } = open();
    const one = caches.open<string>("one", 1000);
    const two = caches.open<string>("two", 1000);
    one.get("k", () => "1");
    expect(two.get("k", () => "2")).toBe("2");
    two.clear();
    expect(one.get("k", () => "again")).toBe("1");
  });

  it("what was used least recently goes first, and what does not fit at all is not kept", () => {
    const { caches } = open(60);
    const cache = caches.open<string>("c", 1000);
    cache.get("a", () => "x".repeat(20));
    cache.get("b", () => "x".repeat(20));
    cache.get("a", () => "not made");
    cache.get("c", () => "x".repeat(20));
    expect(cache.get("a", () => "again")).toBe("x".repeat(20));
    expect(cache.get("b", () => "again")).toBe("again");
    expect(cache.get("big", () => "x".repeat(100))).toHaveLength(100);
    expect(cache.get("big", () => "made anew")).toBe("made anew");
  });

  it("never holds more than its bound, which may shrink", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string(), fc.string(), fc.nat(300))), (steps) => {
        const { caches, limit } = open(200);
        const cache = caches.open<string>("c", 1000);
        for (const [key, value, bound] of steps) {
          limit.bytes = bound;
          cache.get(key, () => value);
          expect(caches.stats().bytes).toBeLessThanOrEqual(bound);
          expect(caches.stats().bytes).toBeGreaterThanOrEqual(0);
        }
      }),
    );
  });
});
