import type { ChunkKind } from "../chunk/chunk.ts";
import { memoize } from "../collections/memoize.ts";
import { type PathWords, pathWords } from "./path-words.ts";
import { joinName, type QueryShape } from "./query-shape.ts";
import {
  COMPANY_CHUNKS,
  INNER_NAME,
  OTHER_CASE,
  OTHER_OWNER,
  RANK_WEIGHTS,
  type RankWeights,
} from "./rank-weights.ts";

export interface Candidate {
  readonly id: number;
  readonly path: string;
  readonly kind: ChunkKind;
  readonly name: string;
  readonly defines: readonly string[];
  /** BM25, from 0 up. */
  readonly lexical: number;
  /** Cosine. */
  readonly similarity: number;
}

export interface RankContext {
  /** The least cosine among the nearest chunks: what counts as no likeness at all. */
  readonly leastSimilarity: number;
  /** How much of the repository rests on a file, 0 to 1. Asked for only where several files define what the query names. */
  readonly centrality?: ((path: string) => number) | undefined;
  readonly weights?: RankWeights;
}

export interface Ranked<T extends Candidate = Candidate> {
  readonly candidate: T;
  readonly score: number;
}

/** Paths come again with every query. */
const factsOf = memoize(pathWords, 50_000);

/** Not `Math.max(...)`: a list of a million candidates is more arguments than a call takes. */
const largest = (values: readonly number[], least: number): number =>
  values.reduce((most, value) => Math.max(most, value), least);

const shareOf = (wanted: ReadonlySet<string>, words: readonly string[]): number =>
  words.length === 0 ? 0 : words.filter((word) => wanted.has(word)).length / words.length;

/** Vector and lexical score, each from 0 to 1, in the proportion that suits the kind of text. */
const fuse = (
  { isSymbol }: QueryShape,
  candidates: readonly Candidate[],
  leastSimilarity: number,
  weights: RankWeights,
): number[] => {
  const range =
    largest(
      candidates.map(({ similarity }) => similarity),
      leastSimilarity,
    ) - leastSimilarity;
  const mostLexical = largest(
    candidates.map(({ lexical }) => lexical),
    0,
  );
  return candidates.map(({ kind, similarity, lexical }) => {
    const usual = kind === "prose" || kind === "text" ? weights.proseVectorShare : weights.vectorShare;
    const share = isSymbol ? Math.min(usual, weights.symbolVectorShare) : usual;
    const near = range > 0 ? Math.max(0, (similarity - leastSimilarity) / range) : 0;
    return share * near + (1 - share) * (mostLexical > 0 ? lexical / mostLexical : 0);
  });
};

/** The class, module or file of that name holds the chunk. */
const belongsTo = (owner: string, { name, defines, path }: Candidate): boolean =>
  name.split(/[^\p{L}\p{N}_$]+/u).some((part) => joinName(part) === owner) ||
  defines.some((defined) => joinName(defined) === owner) ||
  factsOf(path).name === owner;

/** How surely the chunk defines a name of the query, 0 to 1. */
const definesNamed = (shape: QueryShape, candidate: Candidate): number => {
  if (shape.names.size === 0) return 0;
  let best = 0;
  candidate.defines.forEach((defined, at) => {
    const written = shape.names.get(joinName(defined));
    if (written === undefined) return;
    best = Math.max(best, (written === defined ? 1 : OTHER_CASE) * (at === 0 ? 1 : INNER_NAME));
  });
  return best === 0 || shape.owner === "" || belongsTo(shape.owner, candidate) ? best : best * OTHER_OWNER;
};

/** Boosts of what defines a name of the query. Of several files that define what is asked for, the one that others rest on. */
const definitionBoosts = (
  shape: QueryShape,
  candidates: readonly Candidate[],
  weights: RankWeights,
  centrality: RankContext["centrality"],
): readonly number[] => {
  const sure = candidates.map((candidate) => definesNamed(shape, candidate));
  if (!shape.isSymbol) return sure.map((share) => share * weights.namedDefinition);
  const rivals = new Set(candidates.flatMap(({ path }, at) => ((sure[at] ?? 0) > 0 ? [path] : [])));
  return candidates.map(({ path }, at) => {
    const share = sure[at] ?? 0;
    if (share === 0) return 0;
    const restsOnIt = rivals.size > 1 ? (centrality?.(path) ?? 0) : 0;
    return share * (weights.exactDefinition + weights.centrality * restsOnIt);
  });
};

const fileBoost = (shape: QueryShape, file: PathWords, weights: RankWeights): number => {
  let onTheWay = 0;
  for (const word of shape.words) if (file.folders.has(word)) onTheWay++;
  return (
    weights.stem * shareOf(shape.words, file.stem) +
    weights.path * (shape.words.size === 0 ? 0 : onTheWay / shape.words.size)
  );
};

const byScore = (a: Ranked, b: Ranked): number => b.score - a.score || a.candidate.id - b.candidate.id;

/** The best chunk of each file before the second of any, and so on. */
const interleave = <T extends Candidate>(files: readonly (readonly Ranked<T>[])[]): Ranked<T>[] => {
  const rounds: Ranked<T>[][] = [];
  for (const file of files)
    file.forEach((ranked, round) => {
      rounds[round] ??= [];
      rounds[round].push(ranked);
    });
  return rounds.flatMap((round) => round.sort(byScore));
};

/** Best first. Scores are comparable within one answer only. */
export const rankChunks = <T extends Candidate>(
  shape: QueryShape,
  candidates: readonly T[],
  { leastSimilarity, centrality, weights = RANK_WEIGHTS }: RankContext,
): readonly Ranked<T>[] => {
  const fused = fuse(shape, candidates, leastSimilarity, weights);
  const top = largest(fused, 0);
  const defining = definitionBoosts(shape, candidates, weights, centrality);
  const scored = candidates.map((candidate, at): Ranked<T> => {
    const boost = (defining[at] ?? 0) + fileBoost(shape, factsOf(candidate.path), weights);
    return { candidate, score: (fused[at] ?? 0) + top * boost };
  });
  const files = [...Map.groupBy(scored, ({ candidate }) => candidate.path)].map(([path, chunks]) => {
    chunks.sort(byScore);
    const best = chunks[0]?.score ?? 0;
    const company = chunks.slice(1, 1 + COMPANY_CHUNKS).reduce((sum, { score }) => sum + score, 0);
    const { aside } = factsOf(path);
    const factor = aside === undefined || shape.askedFor.has(aside) ? 1 : weights.aside;
    const lift = (weights.company * company) / COMPANY_CHUNKS;
    return chunks.map(({ candidate, score }) => ({
      candidate,
      score: factor * (score + (best > 0 ? (lift * score) / best : 0)),
    }));
  });
  return interleave(files);
};
