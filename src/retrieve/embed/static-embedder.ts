import { numbersOfRuns, type TextNumbers } from "../terms/runs.ts";
import { splitSubtokens } from "../terms/subtokens.ts";
import type { Embedder } from "./embedder.ts";
import { toBytes } from "./to-bytes.ts";
import { createWordPieces } from "./word-pieces.ts";

/** The table in assets/embedder; the arrays may be shared between threads. */
export interface EmbedderAssets {
  /** Rows of signed bytes, one per token. */
  readonly weights: Int8Array;
  /** What a row is multiplied by; the weight of the token is folded in. */
  readonly scales: Float32Array;
  /** One token per line; `##` marks a continuation. */
  readonly vocabulary: string;
  /** Short hash of the files: part of the embedder's id. */
  readonly fingerprint: string;
}

const DIMENSIONS = 256;

/** Changes with the way vectors are computed from the table. */
const RECIPE = 2;

/** All three from the configuration the table was trained with. */
const FREQUENCY_EXPONENT = 0.5;
const PATH_WEIGHT = 4;
const MAX_CHUNK_TOKENS = 1500;

/** A longer query is a pasted text, of which the beginning is used. */
const MAX_QUERY_TOKENS = 1500;

const withoutExtension = (path: string): string => path.replace(/(?<=[^/])\.[^./]*$/, "");

/** Numbers and single letters in paths are dates, ids and versions: with the weight of a path they would outweigh the text. */
const isSignificantInPath = (subtoken: string): boolean =>
  subtoken.length > 1 && !/^\p{Nd}+$/u.test(subtoken);

const chunkFactor = (count: number): number => (count === 1 ? 1 : count ** FREQUENCY_EXPONENT);
const pathFactor = (count: number): number => PATH_WEIGHT * count;
const queryFactor = (count: number): number => count;

/** The sum of the table's rows of a text's tokens: no neural network, and some tens of microseconds per chunk. */
export const createStaticEmbedder = (assets: EmbedderAssets): Embedder => {
  const pieces = createWordPieces(assets.vocabulary.split("\n"));
  const tokensOf = (subtokens: readonly string[]): readonly number[] =>
    subtokens.flatMap((subtoken) => pieces.split(subtoken));
  const tokensOfText = numbersOfRuns((run) => tokensOf(splitSubtokens(run)));
  const tokensOfPath = numbersOfRuns((run) => tokensOf(splitSubtokens(run).filter(isSignificantInPath)));
  const { weights, scales } = assets;
  const sum = new Float64Array(DIMENSIONS);

  /** Four rows at once: reading and writing the sum takes as long as reading a row. */
  const addRows = (tokens: Int32Array, factors: Float64Array, length: number): void => {
    for (let at = 0; at < length; at += 4) {
      const a = (tokens[at] ?? 0) * DIMENSIONS;
      const b = (tokens[at + 1] ?? 0) * DIMENSIONS;
      const c = (tokens[at + 2] ?? 0) * DIMENSIONS;
      const d = (tokens[at + 3] ?? 0) * DIMENSIONS;
      const byA = factors[at] ?? 0;
      const byB = at + 1 < length ? (factors[at + 1] ?? 0) : 0;
      const byC = at + 2 < length ? (factors[at + 2] ?? 0) : 0;
      const byD = at + 3 < length ? (factors[at + 3] ?? 0) : 0;
      for (let i = 0; i < DIMENSIONS; i++)
        sum[i] =
          (sum[i] ?? 0) +
          byA * (weights[a + i] ?? 0) +
          byB * (weights[b + i] ?? 0) +
          byC * (weights[c + i] ?? 0) +
          byD * (weights[d + i] ?? 0);
    }
  };

  // Counts by token, and the tokens whose count is not 0: a new Map for each chunk took half of the time.
  const counts = new Uint32Array(scales.length);
  const counted = new Int32Array(Math.max(MAX_CHUNK_TOKENS, MAX_QUERY_TOKENS));
  const factors = new Float64Array(counted.length);

  const addText = ({ numbers, length }: TextNumbers, factorOf: (count: number) => number): void => {
    let distinct = 0;
    for (let i = 0; i < length; i++) {
      const token = numbers[i] ?? 0;
      const count = counts[token] ?? 0;
      if (count === 0) counted[distinct++] = token;
      counts[token] = count + 1;
    }
    for (let i = 0; i < distinct; i++) {
      const token = counted[i] ?? 0;
      factors[i] = (scales[token] ?? 0) * factorOf(counts[token] ?? 0);
      counts[token] = 0;
    }
    addRows(counted, factors, distinct);
  };

  return {
    id: `static-${DIMENSIONS}-${RECIPE}-${assets.fingerprint}`,
    dimensions: DIMENSIONS,
    embedChunk: (path, text) => {
      sum.fill(0);
      addText(tokensOfText(text, MAX_CHUNK_TOKENS), chunkFactor);
      addText(tokensOfPath(withoutExtension(path), MAX_CHUNK_TOKENS), pathFactor);
      return toBytes(sum);
    },
    embedQuery: (text) => {
      sum.fill(0);
      addText(tokensOfText(text, MAX_QUERY_TOKENS), queryFactor);
      return toBytes(sum);
    },
  };
};
