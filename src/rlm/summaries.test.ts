import { expect, test } from "vitest";
import type { Model } from "../llm/contract.ts";
import { createSummaries } from "./summaries.ts";

test("REQ-R8 REQ-L2: a summary that is kept is given to nobody who may not use its model", async () => {
  let asked = 0;
  const model: Model = {
    name: "openai/m",
    worstCostUsd: async () => 0,
    generate: async () => {
      asked++;
      return { text: "A sentence.", finish: "stop", usage: { inputTokens: 1, outputTokens: 1 }, costUsd: 0 };
    },
  };
  const summarize = createSummaries();
  const request = {
    model: model.name,
    texts: ["a text"],
    allowUnknownPrice: false,
    limits: { usd: 1, tokens: 10_000, calls: 10, parallel: 1 },
    signal: new AbortController().signal,
  };
  const countTokens = () => 1;
  const mayUse = { open: async () => model, countTokens };
  expect(await summarize(request, mayUse)).toEqual(["A sentence."]);
  expect(await summarize(request, mayUse)).toEqual(["A sentence."]);
  expect(asked).toBe(1);
  const refused = { open: () => Promise.reject(new Error("forbidden")), countTokens };
  await expect(summarize(request, refused)).rejects.toThrow("forbidden");
});
