import { createServer, type Server } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { createRedisRates } from "../host/redis-rates.ts";
import { createMemoryRates, type RateStore } from "./rate.ts";
import { createSharedRates } from "./shared-rates.ts";

const { LLMC_TEST_REDIS_URL: redisUrl } = process.env;
const now = () => performance.now();

const STORES: readonly (readonly [name: string, open: () => RateStore])[] = [
  ["memory", () => createMemoryRates(now)],
  ...(redisUrl === undefined ? [] : [["redis", () => createRedisRates(redisUrl, () => {})] as const]),
];

const unique = (): string => `test-${process.pid}-${performance.now()}`;

describe.each(STORES)("REQ-H3: a store of buckets: %s", (name, open) => {
  test("gives the burst once, tells how long to wait, and refills", async () => {
    const store = open();
    onTestFinished(() => store.close());
    if (name === "redis") await sleep(200);
    const key = unique();
    const limit = { perSecond: 20, burst: 5 };
    const answers = await Promise.all(Array.from({ length: 12 }, () => store.take(key, limit)));
    const allowed = answers.filter((one) => one.allowed).length;
    expect(allowed).toBeGreaterThanOrEqual(5);
    expect(allowed).toBeLessThanOrEqual(6);
    const refused = await store.take(key, limit);
    expect(refused.allowed).toBe(false);
    expect(refused.retryAfterMs).toBeGreaterThan(0);
    expect(refused.retryAfterMs).toBeLessThanOrEqual(50);
    await sleep(refused.retryAfterMs + 5);
    expect(await store.take(key, limit)).toEqual({ allowed: true, retryAfterMs: 0 });
    expect((await store.take(unique(), limit)).allowed).toBe(true);
  });
});

/** A server that answers every command in the same way, or not at all. */
const fakeRedis = async (answer: string | undefined): Promise<{ url: string; asked: () => number }> => {
  let asked = 0;
  const server: Server = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      // Several commands may come together; each wants its answer.
      for (const [, command = ""] of String(bytes).matchAll(/\*\d+\r\n\$\d+\r\n(\w+)\r\n/g)) {
        if (command === "info") socket.write("$9\r\nloading:0\r\n");
        else if (command !== "eval") socket.write("+OK\r\n");
        else {
          asked++;
          if (answer !== undefined) socket.write(answer);
        }
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  return { url: `redis://127.0.0.1:${typeof address === "object" ? address?.port : 0}`, asked: () => asked };
};

const LIMIT = { perSecond: 1, burst: 2 };

const openShared = (url: string) => {
  const troubles: unknown[] = [];
  const redis = createRedisRates(url, () => {});
  const store = createSharedRates(redis, createMemoryRates(now), now, (error) => troubles.push(error));
  onTestFinished(() => store.close());
  return { store, redis, troubles };
};

describe("REQ-H3: buckets that several machines share", () => {
  test("the shared store's word counts", async () => {
    const { url, asked } = await fakeRedis("$7\r\n123.456\r\n");
    const { store, redis } = openShared(url);
    await expect.poll(() => redis.take("a", LIMIT).catch(() => undefined)).toBeDefined();
    expect(await store.take("a", LIMIT)).toEqual({ allowed: false, retryAfterMs: 123.456 });
    expect(asked()).toBeGreaterThan(0);
  });

  test.each([
    ["is not there", async () => ({ url: "redis://127.0.0.1:1", asked: () => 0 })],
    ["never answers", () => fakeRedis(undefined)],
    ["answers nonsense", () => fakeRedis("$5\r\nhello\r\n")],
    ["answers with an error", () => fakeRedis("-ERR unknown command\r\n")],
  ])("while it %s, this machine limits by itself, and asks again only after a rest", async (_name, open) => {
    const { url, asked } = await open();
    const { store, troubles } = openShared(url);
    const answers = [];
    for (let i = 0; i < 4; i++) answers.push((await store.take("a", LIMIT)).allowed);
    expect(answers).toEqual([true, true, false, false]);
    expect(troubles).toHaveLength(1);
    expect(asked()).toBeLessThanOrEqual(1);
  });
});
