import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { openPostgres, PGLITE_START_MS, type TestPostgres } from "../../../test/postgres.ts";
import { createPostgresRateLimiter } from "../../host/net/postgres-rate-limiter.ts";
import { createRedisRateLimiter } from "../../host/net/redis-rate-limiter.ts";
import { createMemoryRateLimiter, type RateLimit, type RateLimiter } from "./rate-limiter.ts";

const { LLMC_TEST_REDIS_URL: redisUrl, LLMC_TEST_POSTGRES_URL: postgresUrl } = process.env;
const now = () => performance.now();
/** A busy machine is not what these tests are about. */
const ANSWER_MS = 10_000;

let pglite: TestPostgres;
beforeAll(async () => {
  pglite = await openPostgres();
}, PGLITE_START_MS);
afterAll(() => pglite.close());

/** Each machine's way to one and the same store. */
type Open = () => readonly [RateLimiter, RateLimiter];

const twice = (open: () => RateLimiter): readonly [RateLimiter, RateLimiter] => [open(), open()];

const STORES: readonly (readonly [name: string, open: Open])[] = [
  [
    "memory",
    () => {
      const one = createMemoryRateLimiter(now);
      return [one, one];
    },
  ],
  [
    "PostgreSQL in this process",
    () => twice(() => createPostgresRateLimiter(pglite.url, () => {}, ANSWER_MS)),
  ],
  ...(redisUrl === undefined
    ? []
    : [["Redis", () => twice(() => createRedisRateLimiter(redisUrl, () => {}))] as const]),
  ...(postgresUrl === undefined
    ? []
    : [
        [
          "PostgreSQL",
          () => twice(() => createPostgresRateLimiter(postgresUrl, () => {}, ANSWER_MS)),
        ] as const,
      ]),
];

const unique = (): string => `test-${process.pid}-${performance.now()}`;
const SLOW: RateLimit = { perSecond: 1, burst: 3 };

describe.each(STORES)("REQ-H3: a store of buckets: %s", (_name, open) => {
  const openBoth = async (): Promise<readonly [RateLimiter, RateLimiter]> => {
    const both = open();
    onTestFinished(async () => {
      for (const store of new Set(both)) await store.close();
    });
    for (const store of both) await expect.poll(() => attempt(store), { timeout: 10_000 }).toBe(true);
    return both;
  };
  const attempt = async (store: RateLimiter): Promise<boolean> => {
    try {
      return (await store.consume(unique(), SLOW)).allowed;
    } catch {
      return false;
    }
  };

  test("gives the burst once, tells how long to wait, and refills", async () => {
    const [store] = await openBoth();
    const key = unique();
    const limit = { perSecond: 20, burst: 5 };
    const startMs = now();
    const answers = await Promise.all(Array.from({ length: 12 }, () => store.consume(key, limit)));
    const refilled = Math.ceil(((now() - startMs) * limit.perSecond) / 1000);
    const allowed = answers.filter((one) => one.allowed).length;
    expect(allowed).toBeGreaterThanOrEqual(5);
    expect(allowed).toBeLessThanOrEqual(5 + refilled);
    let refused = await store.consume(key, limit);
    for (let i = 0; i < 20 && refused.allowed; i++) refused = await store.consume(key, limit);
    expect(refused.allowed).toBe(false);
    expect(refused.retryAfterMs).toBeGreaterThan(0);
    expect(refused.retryAfterMs).toBeLessThanOrEqual(50);
    await sleep(refused.retryAfterMs + 5);
    expect(await store.consume(key, limit)).toEqual({ allowed: true, retryAfterMs: 0 });
    expect((await store.consume(unique(), limit)).allowed).toBe(true);
  });

  test("two machines that ask at the same moment get one burst together", async () => {
    const both = await openBoth();
    const key = unique();
    const limit = { perSecond: 1, burst: 20 };
    const startMs = now();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => both.map((store) => store.consume(key, limit))).flat(),
    );
    const refilled = Math.ceil((now() - startMs) / 1000);
    const allowed = answers.filter((one) => one.allowed).length;
    expect(allowed).toBeGreaterThanOrEqual(20);
    expect(allowed).toBeLessThanOrEqual(20 + refilled);
    for (const { retryAfterMs } of answers.filter((one) => !one.allowed)) {
      expect(retryAfterMs).toBeGreaterThan(0);
      expect(retryAfterMs).toBeLessThanOrEqual(1000);
    }
  });

  test("a refused request takes nothing", async () => {
    const [first, second] = await openBoth();
    const key = unique();
    const limit = { perSecond: 1, burst: 1 };
    await first.consume(key, limit);
    for (let i = 0; i < 10; i++) await second.consume(key, limit);
    expect((await first.consume(key, limit)).retryAfterMs).toBeLessThanOrEqual(1000);
  });

  test("any text is a key of its own", async () => {
    const [store, other] = await openBoth();
    const limit = { perSecond: 0.001, burst: 1 };
    const start = unique();
    const keys = [
      "",
      "'",
      '"',
      "\\",
      "\\x00",
      "a\nb",
      "a\r\n",
      "\0",
      "%s",
      "'; DROP TABLE x; --",
      "ü",
      "u\u0308",
      "A",
      "a",
    ];
    for (const tail of [...keys, "k".repeat(100_000), `${"k".repeat(100_000)}!`]) {
      const key = `${start}${tail}`;
      expect((await store.consume(key, limit)).allowed, JSON.stringify(tail.slice(0, 20))).toBe(true);
      expect((await other.consume(key, limit)).allowed).toBe(false);
    }
  });
});
