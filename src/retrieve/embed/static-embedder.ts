import type { Embedder } from "../contract.ts";
import { perRun, scanRuns } from "../lexical/runs.ts";
import { splitWords } from "../lexical/split-words.ts";
import { toBytes } from "./to-bytes.ts";
import { createWordPieces } from "./word-pieces.ts";

/** The table as it lies in assets/embedder; the arrays may be shared between threads. */
export interface EmbedderAssets {
  /** Rows of signed bytes, one per token. */
  readonly weights: Int8Array;
  /** What a row is multiplied by; the weight of the token is folded in. */
  readonly scales: Float32Array;
  /** One token per line; `##` marks a continuation. */
  readonly vocabulary: string;
  /** Short sum of the files: part of the embedder's id. */
  readonly fingerprint: string;
}

const DIMENSIONS = 256;

/** Changes with the way vectors are made of the table. */
const RECIPE = 2;

/** All three from the configuration the table was trained with. */
const FREQUENCY_EXPONENT = 0.5;
const PATH_WEIGHT = 4;
const MAX_CHUNK_TOKENS = 1500;

/** A query longer than this is a pasted text; its beginning says what it is about. */
const MAX_QUERY_TOKENS = 1500;

const withoutExtension = (path: string): string => path.replace(/(?<=[^/])\.[^./]*$/, "");

/** Numbers and single letters in paths are dates, ids and versions: at the weight of a path they would drown the text. */
const isTellingInPath = (word: string): boolean => word.length > 1 && !/^\p{Nd}+$/u.test(word);

const chunkFactor = (count: number): number => count ** FREQUENCY_EXPONENT;
const pathFactor = (count: number): number => PATH_WEIGHT * count;
const queryFactor = (count: number): number => count;

/** The sum of the rows of a text's tokens: no network, nothing to download, some tens of microseconds a chunk. */
export const createStaticEmbedder = (assets: EmbedderAssets): Embedder => {
  const pieces = createWordPieces(assets.vocabulary.split("\n"));
  const tokensOf = (words: readonly string[]): Int32Array =>
    Int32Array.from(words.flatMap((word) => pieces.split(word)));
  const tokensOfRun = perRun((run) => tokensOf(splitWords(run)));
  const tokensOfPathRun = perRun((run) => tokensOf(splitWords(run).filter(isTellingInPath)));
  const { weights, scales } = assets;
  const sum = new Float64Array(DIMENSIONS);

  const addRow = (token: number, factor: number): void => {
    const weight = (scales[token] ?? 0) * factor;
    const row = token * DIMENSIONS;
    for (let i = 0; i < DIMENSIONS; i++) sum[i] = (sum[i] ?? 0) + weight * (weights[row + i] ?? 0);
  };

  // Counts by token, and which of them are not 0: a Map made anew for each chunk took half of the time.
  const counts = new Uint32Array(scales.length);
  const counted = new Int32Array(Math.max(MAX_CHUNK_TOKENS, MAX_QUERY_TOKENS));

  const addText = (
    text: string,
    limit: number,
    tokensOf: (run: number) => Int32Array,
    factorOf: (count: number) => number,
  ): void => {
    let distinct = 0;
    let left = limit;
    const { runs, length } = scanRuns(text);
    for (let at = 0; at < length && left > 0; at++) {
      const tokens = tokensOf(runs[at] ?? 0);
      for (let i = 0; i < tokens.length && left > 0; i++, left--) {
        const token = tokens[i] ?? 0;
        const count = counts[token] ?? 0;
        if (count === 0) counted[distinct++] = token;
        counts[token] = count + 1;
      }
    }
    for (let i = 0; i < distinct; i++) {
      const token = counted[i] ?? 0;
      addRow(token, factorOf(counts[token] ?? 0));
      counts[token] = 0;
    }
  };

  return {
    id: `static-${DIMENSIONS}-${RECIPE}-${assets.fingerprint}`,
    dimensions: DIMENSIONS,
    embedChunk: (path, text) => {
      sum.fill(0);
      addText(text, MAX_CHUNK_TOKENS, tokensOfRun, chunkFactor);
      addText(withoutExtension(path), MAX_CHUNK_TOKENS, tokensOfPathRun, pathFactor);
      return toBytes(sum);
    },
    embedQuery: (text) => {
      sum.fill(0);
      addText(text, MAX_QUERY_TOKENS, tokensOfRun, queryFactor);
      return toBytes(sum);
    },
  };
};
