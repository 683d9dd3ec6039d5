import { expect, test } from "vitest";
import { parseCassette, replayModels } from "./cassette.ts";

const REQUEST = { messages: [], maxOutputTokens: 1, timeoutMs: 1000 } as const;

test("FAIL-D6 a cassette with many answers to one request is opened in time that grows with it", async () => {
  const entry = { key: "k", outcome: { generation: { text: "x", finish: "stop", usage: {} } } };
  const text = JSON.stringify({
    llmc_cassette: 1,
    entries: Array(50_000).fill(entry),
    trajectories: [],
  });
  const startedAt = performance.now();
  const { models, unused } = replayModels(parseCassette(text), async () => 0);
  expect(performance.now() - startedAt).toBeLessThan(5000);
  expect(unused()).toBe(50_000);
  const model = await models.open("openai/x", () => {});
  await expect(model.generate(REQUEST)).rejects.toMatchObject({ code: "provider_error" });
});
