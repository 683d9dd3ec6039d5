import { expect, test } from "vitest";
import type { Finish, Model } from "./contract.ts";
import { ResponseCache } from "./response-cache.ts";

const requestOf = (text: string, more: object = {}) => ({
  messages: [{ role: "user", text }] as const,
  maxOutputTokens: 10,
  timeoutMs: 1000,
  ...more,
});

const modelOf = (answer: (at: number) => { readonly text: string; readonly finish?: Finish }) => {
  let asked = 0;
  const model: Model = {
    name: "openai/m",
    worstCostUsd: async () => 1,
    generate: async () => ({
      finish: "stop",
      usage: { inputTokens: 5, outputTokens: 5 },
      costUsd: 1,
      ...answer(++asked),
    }),
  };
  return { model, asked: () => asked };
};

test("REQ-L4: an answer is kept for its time, for its owner, and for exactly the same request", async () => {
  let now = 0;
  const { model, asked } = modelOf(() => ({ text: "yes" }));
  let maxAgeMs = 1000;
  const cache = new ResponseCache(
    () => now,
    () => maxAgeMs,
  );
  const ann = cache.wrap(model, "ann");
  expect(await ann.generate(requestOf("q"))).toMatchObject({ text: "yes", costUsd: 1 });
  now = 1000;
  expect(await ann.generate(requestOf("q"))).toMatchObject({ text: "yes", costUsd: 0, isCached: true });
  expect(asked()).toBe(1);
  await ann.generate(requestOf("other"));
  await ann.generate(requestOf("q", { maxOutputTokens: 11 }));
  await ann.generate(requestOf("q", { temperature: 0 }));
  await cache.wrap({ ...model, name: "openai/n" }, "ann").generate(requestOf("q"));
  await cache.wrap(model, "bob").generate(requestOf("q"));
  expect(asked()).toBe(6);
  now = 1001;
  expect(await ann.generate(requestOf("q"))).not.toHaveProperty("isCached");
  now = 2001;
  cache.wrap(model, "bob");
  expect(cache.chars, "of the one that was asked again").toBe("yes".length);
  maxAgeMs = 0;
  expect(cache.wrap(model, "ann")).toBe(model);
  expect(cache.chars).toBe(0);
});

test("REQ-L4: what was cut off is not kept, and the oldest answers go when there are too many or too long ones", async () => {
  const cut = modelOf((at) => (at === 1 ? { text: "half", finish: "length" } : { text: "whole" }));
  const cache = new ResponseCache(
    () => 0,
    () => 1000,
  );
  const model = cache.wrap(cut.model, "ann");
  await model.generate(requestOf("q"));
  expect(await model.generate(requestOf("q"))).toMatchObject({ text: "whole" });
  expect(cut.asked()).toBe(2);
  for (let at = 0; at < 2000; at++) await model.generate(requestOf(`q ${at}`));
  expect(cut.asked()).toBe(2002);
  await model.generate(requestOf("q"));
  expect(cut.asked()).toBe(2003);
  await model.generate(requestOf("q 1999"));
  expect(cut.asked()).toBe(2003);
  const long = modelOf(() => ({ text: "x".repeat(9 * 1024 * 1024) }));
  const large = cache.wrap(long.model, "ann");
  for (const text of ["long 1", "long 2", "long 2", "long 1"]) await large.generate(requestOf(text));
  expect(long.asked()).toBe(3);
});

test("REQ-L4 REQ-L7: an answer that is too old is forgotten though nobody asks again", async () => {
  let now = 0;
  const { model } = modelOf(() => ({ text: "secret" }));
  const cache = new ResponseCache(
    () => now,
    () => 1000,
    1,
  );
  await cache.wrap(model, "ann").generate(requestOf("q"));
  expect(cache.chars).toBe("secret".length);
  now = 1001;
  await expect.poll(() => cache.chars).toBe(0);
});
