import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anthropicAnswer, openaiAnswer, openModelServer, sendJson } from "../../test/model-server.ts";
import { createCircuitBreaker } from "../base/circuit-breaker.ts";
import { LlmcError } from "../base/error.ts";
import { Budget, type BudgetLimits } from "./budget.ts";
import type { Generation, Model } from "./contract.ts";
import { boundInputTokens, createMeter } from "./metered.ts";
import { createModels } from "./models.ts";
import { worstPriceOf } from "./prices.ts";

const LIMITS: BudgetLimits = { usd: 1, tokens: 1_000_000, calls: 1000, parallel: 8 };
const NEVER = new AbortController().signal;
const generation = (costUsd: number | undefined, tokens: number | null = 1): Generation => ({
  text: "ok",
  finish: "stop",
  usage: { inputTokens: tokens ?? undefined, outputTokens: tokens ?? undefined },
  costUsd,
});
const worst = (costUsd: number) => ({ costUsd, inputTokens: 10, outputTokens: 10 });

describe("the budget of a session", () => {
  test("REQ-L4: a call reserves its worst case, and what it did not take is free again", async () => {
    const budget = new Budget({ ...LIMITS, usd: 0.1 });
    const first = await budget.reserve(worst(0.08), 0, NEVER);
    expect(budget.spending()).toMatchObject({ reservedUsd: 0.08, costUsd: 0, calls: 1 });
    first.settle(generation(0.01));
    first.settle(generation(0.01));
    expect(budget.spending()).toMatchObject({ reservedUsd: 0, costUsd: 0.01 });
    await expect(budget.reserve(worst(0.0900001), 0, NEVER)).rejects.toMatchObject({
      code: "budget_exceeded",
      details: { limit: "budget_usd" },
    });
    (await budget.reserve(worst(0.09), 1, NEVER)).fail();
    expect(budget.spending()).toMatchObject({
      costUsd: 0.1,
      failedCalls: 1,
      byDepth: [
        { calls: 1, costUsd: 0.01 },
        { calls: 1, costUsd: 0.09 },
      ],
    });
  });

  test("REQ-L4: a call that fits only if others take less than they reserved waits for them, in order", async () => {
    const budget = new Budget({ ...LIMITS, usd: 0.1 });
    const first = await budget.reserve(worst(0.08), 0, NEVER);
    const order: string[] = [];
    const second = budget.reserve(worst(0.05), 0, NEVER).then((one) => {
      order.push("second");
      return one;
    });
    const third = budget.reserve(worst(0.001), 0, NEVER).then(() => order.push("third"));
    await new Promise(setImmediate);
    expect(order).toEqual([]);
    first.settle(generation(0.02));
    await third;
    expect(order).toEqual(["second", "third"]);
    (await second).release();
    expect(budget.spending()).toMatchObject({ costUsd: 0.02, failedCalls: 1 });
  });

  test("REQ-L4: tokens, calls and parallel calls are bounded, and one that was cancelled waits no longer", async () => {
    const tokens = new Budget({ ...LIMITS, tokens: 25 });
    (await tokens.reserve(worst(0), 0, NEVER)).settle(generation(0, null));
    await expect(tokens.reserve(worst(0), 0, NEVER)).rejects.toMatchObject({
      details: { limit: "max_tokens" },
    });
    const calls = new Budget({ ...LIMITS, calls: 1 });
    (await calls.reserve(worst(0), 0, NEVER)).release();
    await expect(calls.reserve(worst(0), 0, NEVER)).rejects.toMatchObject({
      details: { limit: "max_calls" },
    });
    const parallel = new Budget({ ...LIMITS, parallel: 1 });
    const one = await parallel.reserve(worst(0), 0, NEVER);
    const controller = new AbortController();
    const waiting = parallel.reserve(worst(0), 0, controller.signal);
    const next = parallel.reserve(worst(0), 0, NEVER);
    controller.abort(new LlmcError("cancelled", "gone"));
    await expect(waiting).rejects.toMatchObject({ code: "cancelled" });
    one.settle(generation(0));
    (await next).settle(generation(0));
    expect(parallel.spending().calls).toBe(2);
  });

  test("REQ-L4: a provider that does not say what a call took is taken to have taken all of it", async () => {
    const budget = new Budget(LIMITS);
    (await budget.reserve(worst(0.5), 0, NEVER)).settle(generation(undefined, null));
    expect(budget.spending()).toMatchObject({ costUsd: 0.5, inputTokens: 10, outputTokens: 10 });
  });

  test("REQ-L4: what the provider's cache saved is counted", async () => {
    const budget = new Budget(LIMITS);
    (await budget.reserve(worst(0.5), 0, NEVER)).settle({
      usage: { inputTokens: 10, outputTokens: 1, cacheReadTokens: 8 },
      costUsd: 0.1,
      uncachedUsd: 0.3,
    });
    const spending = budget.spending();
    expect(spending).toMatchObject({ costUsd: 0.1, cacheReadTokens: 8 });
    expect(spending.cacheSavedUsd).toBeCloseTo(0.2, 9);
  });

  test("REQ-L4: what writing to the provider's cache cost is in the cost, and is never a negative saving", async () => {
    const budget = new Budget(LIMITS);
    const settle = async (costUsd: number, uncachedUsd: number) =>
      (await budget.reserve(worst(0.4), 0, NEVER)).settle({
        usage: { inputTokens: 10, outputTokens: 1 },
        costUsd,
        uncachedUsd,
      });
    await settle(0.25, 0.2);
    expect(budget.spending()).toMatchObject({ costUsd: 0.25, cacheSavedUsd: 0 });
    await settle(0.1, 0.2);
    expect(budget.spending().cacheSavedUsd).toBeCloseTo(0.05, 9);
  });

  test("REQ-L4: a call that never ends counts as its worst case, once", async () => {
    const budget = new Budget(LIMITS);
    const open = await budget.reserve(worst(0.5), 0, NEVER);
    budget.failOpen();
    open.settle(generation(0.1));
    expect(budget.spending()).toMatchObject({ costUsd: 0.5, failedCalls: 1, reservedUsd: 0 });
  });
});

/** A small generator of its own (mulberry32), so that a seed says everything about a run. */
const chanceOf = (seed: number) => {
  let state = seed;
  return (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
};

const steps = async (count: number): Promise<void> => {
  for (let i = 0; i < count; i++) await Promise.resolve();
};

/** A provider that bills what it says, takes any time, and fails in every way. */
const erratic = (seed: number) => {
  const chance = chanceOf(seed);
  let billed = 0;
  let calls = 0;
  const price = (tokens: number): number => tokens * 1.5e-6;
  const model: Model = {
    name: "openai/erratic",
    worstCostUsd: async (input, output) => price(input + output),
    generate: async ({ messages, maxOutputTokens }) => {
      calls++;
      const input = Buffer.byteLength(messages[0]?.text ?? "");
      await steps(Math.floor(chance() * 40));
      const how = chance();
      const output = Math.floor(chance() * (maxOutputTokens + 1));
      const cost = price(input + output);
      if (how < 0.1) throw new LlmcError("egress_denied", "not sent");
      billed += cost;
      if (how < 0.3) throw new LlmcError("provider_error", "cut off");
      if (how < 0.4)
        return { ...generation(undefined), usage: { inputTokens: undefined, outputTokens: output } };
      return { ...generation(cost), usage: { inputTokens: input, outputTokens: output } };
    },
  };
  return { model, chance, billed: () => billed, calls: () => calls };
};

describe("the race for the last cents", () => {
  test("REQ-L4 FAIL-G4: 50 calls at once under random latencies and failures: never over the cap, for 1,000 seeds", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer(), async (seed) => {
        const { model, chance, billed, calls } = erratic(seed);
        const usd = 0.001 + chance() * 0.02;
        const budget = new Budget({
          usd,
          tokens: 50_000,
          calls: 40,
          parallel: 1 + Math.floor(chance() * 20),
        });
        const meter = createMeter({ budget, countTokens: (text) => text.length, allowUnknownPrice: false });
        const ends = await Promise.allSettled(
          Array.from({ length: 50 }, async (_, at) => {
            await steps(Math.floor(chance() * 100));
            return meter(model, {
              messages: [{ role: "user", text: "x".repeat(Math.floor(chance() * 500)) }],
              maxOutputTokens: 1 + Math.floor(chance() * 1000),
              timeoutMs: 1000,
              depth: at % 3,
              signal: NEVER,
            });
          }),
        );
        const { costUsd, reservedUsd, calls: made, inputTokens, outputTokens, byDepth } = budget.spending();
        expect(billed()).toBeLessThanOrEqual(usd);
        expect(costUsd).toBeLessThanOrEqual(usd);
        expect(costUsd).toBeGreaterThanOrEqual(billed() - 1e-12);
        expect(reservedUsd).toBe(0);
        expect(made).toBe(calls());
        expect(made).toBeLessThanOrEqual(40);
        expect(inputTokens + outputTokens).toBeLessThanOrEqual(50_000);
        expect(byDepth.reduce((sum, one) => sum + (one?.costUsd ?? 0), 0)).toBeCloseTo(costUsd, 11);
        expect(ends).toHaveLength(50);
      }),
      { numRuns: 1000 },
    );
  });

  test("REQ-L4 FAIL-G4: the same over HTTP: the provider's own bill stays below the cap", async () => {
    let billed = 0;
    const server = await openModelServer(async (response, { body }) => {
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 20));
      const output = Math.floor(Math.random() * Number(body["max_tokens"]));
      billed += (100 + output) * 1e-5;
      if (Math.random() < 0.2) return sendJson(response, {}, 500);
      return sendJson(
        response,
        openaiAnswer("ok", "stop", {
          prompt_tokens: 100,
          completion_tokens: output,
          total_tokens: 100 + output,
        }),
      );
    });
    const budget = new Budget({ usd: 0.05, tokens: 1e9, calls: 1e9, parallel: 16 });
    const meter = createMeter({ budget, countTokens: (text) => text.length, allowUnknownPrice: false });
    const provider = { url: server.url, keyVariable: "" };
    const model = await createModels({
      settings: () => ({
        profile: "restricted",
        allowedModelPrefixes: [],
        prices: ["openai/m=10/10"],
        providers: { ollama: provider, openai: provider, anthropic: provider, google: provider },
      }),
      secret: () => undefined,
    }).open("openai/m", () => {});
    const ends = await Promise.allSettled(
      Array.from({ length: 50 }, () =>
        meter(model, {
          messages: [{ role: "user", text: "x".repeat(100) }],
          maxOutputTokens: 300,
          timeoutMs: 10_000,
          depth: 1,
          signal: NEVER,
        }),
      ),
    );
    expect(billed).toBeLessThanOrEqual(0.05);
    expect(ends.some(({ status }) => status === "rejected")).toBe(true);
    expect(server.requests.length).toBe(budget.spending().calls);
    expect(budget.spending().costUsd).toBeLessThanOrEqual(0.05);
  });
});

describe("metered calls", () => {
  const REQUEST = {
    messages: [{ role: "user" as const, text: "question" }],
    maxOutputTokens: 10,
    timeoutMs: 5000,
    depth: 0,
    signal: NEVER,
  };
  const metered = (
    url: string,
    more: { prices?: readonly string[]; allowUnknownPrice?: boolean; key?: string } = {},
  ) => {
    const budget = new Budget(LIMITS);
    const provider = { url, keyVariable: more.key === undefined ? "" : "KEY" };
    const models = createModels({
      settings: () => ({
        profile: "unrestricted",
        allowedModelPrefixes: [],
        prices: more.prices ?? [],
        providers: { ollama: provider, openai: provider, anthropic: provider, google: provider },
      }),
      secret: () => more.key,
    });
    const meter = createMeter({
      budget,
      countTokens: (text) => text.length,
      allowUnknownPrice: more.allowUnknownPrice ?? false,
      retryDelayMs: 1,
    });
    return {
      budget,
      ask: async (name: string, request: { readonly cachePrompt?: boolean } = {}) =>
        meter(await models.open(name, () => {}), { ...REQUEST, ...request }),
    };
  };

  test("REQ-L4 FAIL-G6: what the provider did not take is tried again, and what it may have billed is not", async () => {
    const answers = [429, 503, 200, 500];
    const server = await openModelServer((response) => {
      const status = answers.shift() ?? 200;
      sendJson(response, status === 200 ? openaiAnswer("ok") : {}, status, { "retry-after-ms": "1" });
    });
    const { ask, budget } = metered(server.url, { prices: ["openai/m=1/1"] });
    expect(await ask("openai/m")).toMatchObject({ text: "ok" });
    expect(budget.spending()).toMatchObject({ calls: 3, failedCalls: 2, inputTokens: 11 });
    const before = budget.spending().costUsd;
    await expect(ask("openai/m")).rejects.toMatchObject({ code: "provider_error", retryable: true });
    expect(server.requests).toHaveLength(4);
    expect(budget.spending().costUsd).toBeGreaterThan(before);
  });

  test("REQ-L4 FAIL-G6: tries end after three", async () => {
    const server = await openModelServer((response) => sendJson(response, {}, 503));
    const { ask } = metered(server.url, { prices: ["openai/m=1/1"] });
    await expect(ask("openai/m")).rejects.toMatchObject({ code: "provider_error", retryable: true });
    expect(server.requests).toHaveLength(3);
  });

  test("REQ-L4: the refusal of an open breaker costs nothing, and is not tried again at once", async () => {
    const budget = new Budget(LIMITS);
    const breaker = createCircuitBreaker({ backend: "models", threshold: () => 1, now: () => 0 });
    await breaker.run(() => Promise.reject(new Error("down"))).catch(() => {});
    let tries = 0;
    const model: Model = {
      name: "openai/m",
      worstCostUsd: async () => 0.5,
      generate: () => {
        tries++;
        return breaker.run(async () => generation(0.1));
      },
    };
    const meter = createMeter({
      budget,
      countTokens: (text) => text.length,
      allowUnknownPrice: false,
      retryDelayMs: 1,
    });
    await expect(meter(model, REQUEST)).rejects.toMatchObject({ details: { circuit: "open" } });
    expect(tries).toBe(1);
    expect(budget.spending()).toMatchObject({ costUsd: 0, outputTokens: 0, failedCalls: 1 });
  });

  test("REQ-L4 FAIL-G4: an unknown price is refused before anything is sent, unless it is given or allowed", async () => {
    const server = await openModelServer((response) => sendJson(response, openaiAnswer("ok")));
    // On this machine, but passed on to Ollama's cloud.
    const cloud = "openai/m:cloud";
    await expect(metered(server.url).ask(cloud)).rejects.toMatchObject({
      code: "budget_exceeded",
      hint: expect.stringContaining("mcp.llm.prices"),
      details: { limit: "unknown_price" },
    });
    expect(server.connections()).toBe(0);
    const priced = metered(server.url, { prices: ["openai/other=9/9", `${cloud}=2/3`] });
    await priced.ask(cloud);
    expect(priced.budget.spending().costUsd).toBeCloseTo((11 * 2 + 7 * 3) / 1e6, 12);
    const allowed = metered(server.url, { allowUnknownPrice: true });
    await allowed.ask(cloud);
    expect(allowed.budget.spending()).toMatchObject({ costUsd: 0, unpricedCalls: 1, calls: 1 });
  });

  test("REQ-L4 FAIL-G4: at the operator's own price, what was written to the provider's cache costs its surcharge", async () => {
    const written = 100_000;
    const server = await openModelServer((response) =>
      sendJson(response, {
        ...anthropicAnswer("ok"),
        usage: {
          input_tokens: 10,
          output_tokens: 1,
          cache_creation_input_tokens: written,
          cache_read_input_tokens: 0,
        },
      }),
    );
    const billed = (10 + written * 1.25 + 1) * 1e-5;
    const { ask, budget } = metered(server.url, { prices: ["anthropic/claude-test=10/10"], key: "k" });
    await ask("anthropic/claude-test", { cachePrompt: true });
    expect(server.requests[0]?.text).toContain("cache_control");
    expect(budget.spending().costUsd).toBeGreaterThanOrEqual(billed);
    expect(budget.spending().cacheSavedUsd).toBe(0);
    // What is reserved for a call covers that all of its input is written.
    const own = { provider: "anthropic", id: "m", baseUrl: "", isFree: false } as const;
    const worst = await worstPriceOf({ ...own, own: { input: 10, output: 10 } }, 1_000_000, 0);
    expect(worst).toBeCloseTo(12.5, 9);
  });

  test("REQ-L4: input is counted as bytes unless the tokenizer is known: no provider counts more", () => {
    const messages = [{ role: "user" as const, text: "größe" }];
    expect(boundInputTokens("anthropic/claude-sonnet-4-5", messages, () => 2)).toBe(7 + 16);
    expect(boundInputTokens("openai/gpt-4o", messages, () => 2)).toBe(2 + 16);
  });
});
