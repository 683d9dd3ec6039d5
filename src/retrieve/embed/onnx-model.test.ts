import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { writeModel, writeRuntime } from "../../../test/embedding-model.ts";
import { createIndexed, request, SETTINGS } from "../../../test/retrieval.ts";
import { USER_STATE } from "../../../test/user-state.ts";
import { createThreadRetrieval } from "../thread-retrieval.ts";
import type { EmbeddingModel } from "./async-embedder.ts";
import { createOnnxModel } from "./onnx-model.ts";

const FILES = {
  "a.ts": "export function runningCar(): string {\n  return 'the car';\n}\n",
  "b.md": "# The naive car\n\nIt is running.\n",
};

const openIn = (workspace: string, model: string) =>
  createThreadRetrieval({
    workspace,
    userState: USER_STATE,
    settings: () => SETTINGS,
    onWarning: () => {},
    onnx: { workspace, model },
  });

describe("a model in its thread", () => {
  let folder = "";
  let models: EmbeddingModel[] = [];
  beforeEach(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "llmc-onnx-")));
    models = [];
  });
  afterEach(async () => {
    for (const model of models) await model.close();
    rmSync(folder, { recursive: true });
  });
  const create = (): EmbeddingModel => {
    const model = createOnnxModel({ workspace: "/nowhere", model: folder }, 1);
    models.push(model);
    return model;
  };

  test("answers through the port: one vector per chunk, in their order, the same for the same text", async () => {
    writeRuntime(folder);
    writeModel(folder, "10 numbers");
    const embedder = await create().open();
    expect(embedder).toMatchObject({
      id: expect.stringMatching(/^onnx-tiny-model-10-\d+-[0-9a-f]{12}$/),
      dimensions: 10,
    });
    const texts = ["the car", "", "running ".repeat(500), "the car"];
    const vectors = await embedder.embedChunks(texts.map((text, at) => ({ path: `p${at}`, text })));
    expect(vectors.map(({ length }) => length)).toEqual([10, 10, 10, 10]);
    expect(vectors[3]).toEqual(vectors[0]);
    expect(vectors[1]).not.toEqual(vectors[0]);
    expect(await embedder.embedQuery("the car")).toEqual(vectors[0]);
  });

  test("what is missing is told by the first call, and found once it is there", async () => {
    const model = create();
    await expect(model.open()).rejects.toMatchObject({ code: "unavailable", hint: /npm install/ });
    writeRuntime(folder);
    writeModel(folder, "broken");
    await expect(model.open()).rejects.toMatchObject({ message: /weights .* cannot be loaded/ });
    writeModel(folder, "12 numbers");
    expect((await model.open()).dimensions).toBe(12);
  });

  test("weights that are others by the time a thread starts anew are never mixed with the first", async () => {
    writeRuntime(folder);
    writeModel(folder, "10 numbers");
    const model = create();
    const embedder = await model.open();
    writeModel(folder, "11 numbers");
    await model.close();
    await expect(embedder.embedQuery("car")).rejects.toMatchObject({ code: "unavailable", retryable: true });
    expect(await model.open()).toMatchObject({ dimensions: 11 });
  });

  test("the whole engine works with it, and refuses without it", async () => {
    await using indexed = createIndexed(FILES);
    const without = openIn(indexed.path, folder);
    await expect(without.index({})).rejects.toMatchObject({ code: "unavailable", hint: /npm install/ });
    await expect(without.search(request("car"))).rejects.toMatchObject({ code: "unavailable" });
    expect((await without.whereUsed("runningCar")).value.definitions).toHaveLength(1);
    await without.close();
    writeRuntime(folder);
    writeModel(folder, "10 numbers");
    const engine = openIn(indexed.path, folder);
    expect(await engine.index({})).toMatchObject({ files: 2, chunks: 2 });
    expect((await engine.search(request("running car"))).value).toHaveLength(2);
    expect((await engine.stats()).embedder).toMatch(/^onnx-tiny-model-10-/);
    await engine.close();
  });

  const real = process.env["LLMC_TEST_ONNX"];
  describe.runIf(real !== undefined)("all-MiniLM-L6-v2, where LLMC_TEST_ONNX says it is", () => {
    const openReal = async () => {
      const model = createOnnxModel({ workspace: "/nowhere", model: real ?? "" }, 2);
      models.push(model);
      return model.open();
    };
    const unit = (bytes: Int8Array): readonly number[] => {
      const length = Math.hypot(...bytes);
      return Array.from(bytes, (value) => value / length);
    };

    test("gives the vectors that another program gives", async () => {
      const embedder = await openReal();
      expect(embedder).toMatchObject({
        id: "onnx-all-MiniLM-L6-v2-384-1-1c6ff0888a6f",
        dimensions: 384,
      });
      const cases: readonly (readonly [string, readonly number[]])[] = [
        [
          "How does dependency injection work?",
          [-0.0416, 0.0087, 0.0126, 0.0747, -0.0269, -0.0071, 0.0592, -0.0214],
        ],
        [
          "export const openStateDb = (path: string): StateDb => new Database(path);",
          [0.0746, -0.0132, -0.1124, 0.0388, -0.009, 0.0184, 0.0008, 0.0933],
        ],
      ];
      for (const [text, expected] of cases) {
        const [vector = new Int8Array()] = await embedder.embedChunks([{ path: "a", text }]);
        // A byte's half step, and what kernels of other processors round differently.
        expected.forEach((value, at) => {
          expect(Math.abs((unit(vector)[at] ?? 9) - value)).toBeLessThan(0.01);
        });
      }
    });

    test("finds what is meant, also beyond its longest text, and the same whatever stands beside it", async () => {
      const embedder = await openReal();
      const texts = ["A feline sleeps on the sofa.", "The stock market fell.", "word ".repeat(5000)];
      const vectors = await embedder.embedChunks(texts.map((text) => ({ path: "", text })));
      const query = unit(await embedder.embedQuery("a cat resting on a couch"));
      const cosines = vectors.map((vector) =>
        unit(vector).reduce((sum, value, i) => sum + value * (query[i] ?? 0), 0),
      );
      expect(cosines[0]).toBeGreaterThan(0.5);
      expect(cosines[1]).toBeLessThan(0.2);
      const [alone] = await embedder.embedChunks([{ path: "", text: texts[1] ?? "" }]);
      expect(alone).toEqual(vectors[1]);
    });

    test("the whole engine finds by meaning with it", async () => {
      await using indexed = createIndexed({
        "pets.md": "# Household\n\nA feline sleeps on the sofa.\n",
        "money.md": "# Markets\n\nShares fell on Monday.\n",
      });
      const engine = openIn(indexed.path, real ?? "");
      const { value } = await engine.search(request("cat resting on a couch"));
      expect(value[0]?.path).toBe("pets.md");
      await engine.close();
    });
  });
});
