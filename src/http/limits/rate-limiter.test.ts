import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createTokenBuckets } from "./rate-limiter.ts";

const clock = () => {
  let ms = 1000;
  return { now: () => ms, wait: (by: number) => (ms += by) };
};

const LIMIT = { perSecond: 10, burst: 20 };

describe("REQ-H3: a token bucket", () => {
  test("gives its burst at once, then its rate, and says how long to wait", () => {
    const { now, wait } = clock();
    const { consume } = createTokenBuckets(now);
    const answers = Array.from({ length: 21 }, () => consume("a", LIMIT));
    expect(answers.filter(({ allowed }) => allowed)).toHaveLength(20);
    expect(answers.at(-1)).toEqual({ allowed: false, retryAfterMs: expect.closeTo(100, 6) });
    wait(99);
    expect(consume("a", LIMIT)).toMatchObject({ allowed: false });
    wait(1);
    expect(consume("a", LIMIT)).toMatchObject({ allowed: true });
    expect(consume("a", LIMIT)).toMatchObject({ allowed: false });
    expect(consume("b", LIMIT)).toMatchObject({ allowed: true });
  });

  test("is full again after its time, and never fuller", () => {
    const { now, wait } = clock();
    const { consume } = createTokenBuckets(now);
    for (let i = 0; i < 20; i++) consume("a", LIMIT);
    wait(60_000);
    expect(
      Array.from({ length: 30 }, () => consume("a", LIMIT)).filter(({ allowed }) => allowed),
    ).toHaveLength(20);
  });

  test("a steady sender at the rate is never refused", () => {
    const { now, wait } = clock();
    const { consume } = createTokenBuckets(now);
    for (let i = 0; i < 600; i++) {
      expect(consume("a", LIMIT).allowed).toBe(true);
      wait(100);
    }
  });

  test("never allows more than burst + rate x time, however requests come", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 500 }), { maxLength: 200 }),
        fc.integer({ min: 1, max: 50 }),
        fc.integer({ min: 1, max: 50 }),
        (waits, perSecond, burst) => {
          const { now, wait } = clock();
          const { consume } = createTokenBuckets(now);
          const start = now();
          let allowed = 0;
          for (const by of waits) {
            wait(by);
            if (consume("a", { perSecond, burst }).allowed) allowed++;
          }
          expect(allowed).toBeLessThanOrEqual(burst + ((now() - start) * perSecond) / 1000 + 1e-6);
        },
      ),
    );
  });

  test("FAIL-E1: a flood of keys does not grow without bound", () => {
    const { now } = clock();
    const buckets = createTokenBuckets(now, 100);
    for (let i = 0; i < 1000; i++) buckets.consume(`k${i}`, LIMIT);
    expect(buckets.count()).toBeLessThanOrEqual(100);
  });
});
