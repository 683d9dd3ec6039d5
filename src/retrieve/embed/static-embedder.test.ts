import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { describe, expect, test } from "vitest";
import { readEmbedderFiles } from "../../host/os/assets.ts";
import { createStaticEmbedder } from "./static-embedder.ts";

const files = readEmbedderFiles();
const embedder = createStaticEmbedder(files);

const unit = (bytes: Int8Array): readonly number[] => {
  const length = Math.sqrt(bytes.reduce((sum, value) => sum + value * value, 0));
  return Array.from(bytes, (value) => value / length);
};

/** Half a step of a byte, of the largest number of these vectors. */
const NEAR = 0.002;

const CODE =
  "export const openStateDb = (path: string): StateDb => {\n  const db = new Database(path);\n  return db;\n};";

describe("the static embedder: REQ-R3", () => {
  // Worked out by a separate program, from the description of the table alone.
  const cases: readonly (readonly [string, () => Int8Array, readonly number[]])[] = [
    [
      "a question",
      () => embedder.embedQuery("how does dependency injection work"),
      [0.0554, 0.1951, -0.1067, -0.0774, -0.0883, 0.0084, -0.008, 0.0247],
    ],
    [
      "case, digits, underscores, accents, other scripts",
      () => embedder.embedQuery("HTTPServer2 parseJSON_fast naïve 日本語 Straße"),
      [-0.1463, -0.1079, 0.1642, 0.0213, -0.0342, 0.1033, 0.0407, 0.0573],
    ],
    [
      "a word that falls into pieces",
      () => embedder.embedQuery("xyzzyplugh"),
      [-0.0499, 0.1984, 0.1266, 0.2232, -0.0598, -0.2569, -0.0777, -0.095],
    ],
    [
      "a chunk with its path",
      () => embedder.embedChunk("src/host/state-db.ts", CODE),
      [0.105, -0.1123, 0.086, -0.072, 0.0666, -0.0938, 0.0395, -0.0172],
    ],
    [
      "a path alone",
      () => embedder.embedChunk("lib/__init__.py", ""),
      [0.0004, 0.0426, 0.0565, -0.0172, -0.0022, -0.0192, -0.0697, -0.0986],
    ],
  ];
  test.each(cases)("%s", (_, embed, expected) => {
    const vector = unit(embed());
    expect(vector).toHaveLength(256);
    expected.forEach((value, at) => {
      expect(Math.abs((vector[at] ?? 9) - value)).toBeLessThan(NEAR);
    });
  });

  test("a text without a known word is nothing, and no failure", () => {
    expect(embedder.embedQuery("").every((value) => value === 0)).toBe(true);
    expect(embedder.embedChunk("", "(((\u0000😀").every((value) => value === 0)).toBe(true);
  });

  test("numbers and single letters of a path do not drown the text", () => {
    expect(embedder.embedChunk("2024/12345_a.py", CODE)).toEqual(embedder.embedChunk("", CODE));
  });

  test("bytes use their whole range", () => {
    const bytes = embedder.embedQuery("open the state database");
    expect(Math.max(...bytes.map(Math.abs))).toBe(127);
  });
});

describe("the files of the table", () => {
  test("lie in memory that threads share", async () => {
    const worker = new Worker(
      `const { parentPort, workerData } = require("node:worker_threads");
       parentPort.postMessage([workerData.weights.buffer instanceof SharedArrayBuffer, workerData.weights[5], workerData.scales[5]]);`,
      { eval: true, workerData: files },
    );
    const answer = await new Promise((resolve, reject) => {
      worker.once("message", resolve);
      worker.once("error", reject);
    });
    expect(answer).toEqual([true, files.weights[5], files.scales[5]]);
    await worker.terminate();
  });

  test("a damaged or missing file is named, and not used", () => {
    const folder = mkdtempSync(join(tmpdir(), "llmc-assets-"));
    try {
      cpSync(join(import.meta.dirname, "../../../assets/embedder"), folder, { recursive: true });
      expect(readEmbedderFiles(folder).fingerprint).toBe(files.fingerprint);
      const scales = readFileSync(join(folder, "scales.f32"));
      scales[100] = (scales[100] ?? 0) ^ 1;
      writeFileSync(join(folder, "scales.f32"), scales);
      expect(() => readEmbedderFiles(folder)).toThrow(/damaged: scales\.f32/);
      rmSync(join(folder, "vocab.txt"));
      writeFileSync(join(folder, "scales.f32"), "");
      expect(() => readEmbedderFiles(folder)).toThrow(/damaged: scales\.f32/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
