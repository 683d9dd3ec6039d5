import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { tempWorkspace } from "../../../test/app.ts";
import { createWordModel } from "../../../test/embedding-model.ts";
import { readTestSource, testParser } from "../../../test/knowledge-documents.ts";
import { createKnowledge } from "../knowledge.ts";
import { createOperator } from "../operator.ts";
import { createSqlStore } from "../store/sql-store.ts";
import { createSqliteDriver } from "../store/sqlite-driver.ts";
import { createModelEmbedder, createPassageEmbedder, type PassageEmbedder } from "./passage-embedder.ts";

const ALL = { permitCollection: () => {}, permitFlow: () => {} };

const DOCUMENTS = {
  "a.md": "# Vehicles\nThe car is kept in the garage behind the house.",
  "b.md": "# Pets\nThe dog sleeps in the kitchen beside the stove.",
  "c.md": `# Long\n${Array.from({ length: 200 }, (_, at) => `Paragraph ${at} about gardens, rivers and mountains of the north, with many words.`).join("\n\n")}`,
};

const openKnowledge = (embedder: PassageEmbedder, root: string) => {
  const driver = createSqliteDriver({
    workspace: root,
    userState: process.env["XDG_STATE_HOME"] ?? root,
    folder: join(root, ".llmc/kb"),
    onWarning: () => {},
  });
  const engine = createKnowledge({
    store: createSqlStore({ driver, workspace: root, now: () => Date.now() }),
    embedder,
    nearestRows: undefined,
    cache: { get: () => undefined, set: () => {} },
    maxIndexBytes: () => 1024 ** 3,
    maxAskMs: () => 10_000,
    openModel: async () => undefined,
    modelLimits: () => ({ maxOutputTokens: 100, timeoutMs: 1000 }),
    flows: () => [],
    holder: "test",
    newCode: () => "code",
    now: () => Date.now(),
  });
  const operator = createOperator({
    engine,
    ingestParts: async () => ({
      parser: testParser,
      readSource: readTestSource({ docs: DOCUMENTS }),
      sourceOptions: () => ({
        denylist: [],
        closed: [],
        network: undefined,
        maxDocumentBytes: 1e9,
        maxDocuments: 100,
        timeoutMs: 1e6,
      }),
      uriOf: (_, id) => id,
    }),
    thresholds: () => ({ minRecall: 0, maxDrop: 1 }),
    now: () => Date.now(),
  });
  const search = (query: string) =>
    engine.hybridSearch({ collection: "hand", query, top_k: 3, cache_ttl: 0 }, ALL);
  return { engine, operator, search };
};

describe("a knowledge base with the vectors of a model: REQ-K3", () => {
  test("passages are found by what they mean, and given to the model in bounded batches", async () => {
    const model = createWordModel();
    const batches: number[] = [];
    model.onBatch = (texts) => void batches.push(texts.length);
    let closed = 0;
    const embedder = createModelEmbedder(await model.open(), async () => void closed++);
    const { engine, operator, search } = openKnowledge(embedder, tempWorkspace());
    await operator.create("hand", "");
    await operator.add("hand", ["docs"], { dryRun: false }, {});
    await operator.promote("hand", undefined, { force: false });
    expect(Math.max(...batches)).toBeLessThanOrEqual(32);
    // No word of the question is in the passage.
    expect((await search("automobile"))[0]?.citation.anchor).toMatch(/^a\.md/);
    expect((await search("canine"))[0]?.citation.anchor).toMatch(/^b\.md/);
    const { text } = await engine.answer(
      { query: "where is the car kept" },
      { caller: ALL, correlationId: "c" },
    );
    expect(text).toContain("garage");
    await engine.close();
    expect(closed).toBe(1);
  });

  test("the confidence is that of the built-in tables, whatever cosines a model has", async () => {
    const confidenceWith = async (embedder: PassageEmbedder): Promise<number> => {
      const { engine, operator } = openKnowledge(embedder, tempWorkspace());
      await operator.create("hand", "");
      await operator.add("hand", ["docs"], { dryRun: false }, {});
      await operator.promote("hand", undefined, { force: false });
      const call = { caller: ALL, correlationId: "c" };
      const { confidence } = await engine.answer({ query: "where does the dog sleep" }, call);
      await engine.close();
      return confidence;
    };
    const model = await createWordModel().open();
    const withModel = await confidenceWith(createModelEmbedder(model, async () => {}));
    expect(withModel).toBeCloseTo(await confidenceWith(createPassageEmbedder()), 2);
  });

  test("a version is searched with the embedder that made it; otherwise the error says what to do", async () => {
    const root = tempWorkspace();
    const model = await createWordModel().open();
    const first = openKnowledge(
      createModelEmbedder(model, async () => {}),
      root,
    );
    await first.operator.create("hand", "");
    await first.operator.add("hand", ["docs"], { dryRun: false }, {});
    await first.operator.promote("hand", undefined, { force: false });
    await first.engine.close();
    const second = openKnowledge(createPassageEmbedder(), root);
    await expect(second.search("car")).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("another embedder"),
      hint: expect.stringContaining("mcp.kb.embedder"),
    });
    expect(await second.engine.stats({ collection: "hand" }, ALL)).toMatchObject({
      embedder_version: model.id,
      health: "degraded",
    });
    await second.operator.sync("hand", { dryRun: false }, {});
    await second.operator.promote("hand", undefined, { force: false });
    expect((await second.search("car"))[0]?.citation.anchor).toMatch(/^a\.md/);
    await second.engine.close();
  });
});
