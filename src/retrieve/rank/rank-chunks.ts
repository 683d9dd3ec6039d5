import type { ChunkKind } from "../chunk/chunk.ts";
import { largest } from "../collections/largest.ts";
import { memoize } from "../collections/memoize.ts";
import { type PathTerms, pathTerms } from "./path-terms.ts";
import { joinName, type QueryShape } from "./query-shape.ts";
import {
  INNER_NAME,
  OTHER_CASE,
  OTHER_OWNER,
  RANK_WEIGHTS,
  type RankWeights,
  SIBLING_CHUNKS,
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
  /** The smallest cosine among the nearest chunks, which counts as a similarity of 0. */
  readonly leastSimilarity: number;
  /** How much of the repository depends on a file, 0 to 1. Called only where several files define what the query names. */
  readonly centrality?: ((path: string) => number) | undefined;
  /** Chunks with which a file begins that the query names; `isAll`: the query is its name and nothing else. */
  readonly named?: { readonly beginnings: ReadonlySet<number>; readonly isAll: boolean };
  readonly weights?: RankWeights;
}

export interface Ranked<T extends Candidate = Candidate> {
  readonly candidate: T;
  readonly score: number;
}

/** The same paths come with every query. */
const factsOf = memoize(pathTerms, 50_000);

const NOTHING_NAMED = { beginnings: new Set<number>(), isAll: false };

const shareOf = (wanted: ReadonlySet<string>, stems: readonly string[]): number =>
  stems.length === 0 ? 0 : stems.filter((stem) => wanted.has(stem)).length / stems.length;

/** Vector and lexical score, each from 0 to 1, weighted by the kind of text. */
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
  const maxLexical = largest(
    candidates.map(({ lexical }) => lexical),
    0,
  );
  return candidates.map(({ kind, similarity, lexical }) => {
    const usual = kind === "prose" || kind === "text" ? weights.proseVectorShare : weights.vectorShare;
    const share = isSymbol ? Math.min(usual, weights.symbolVectorShare) : usual;
    const near = range > 0 ? Math.max(0, (similarity - leastSimilarity) / range) : 0;
    return share * near + (1 - share) * (maxLexical > 0 ? lexical / maxLexical : 0);
  });
};

/** Whether the chunk is in the class, module or file of that name. */
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

/** Boosts of chunks that define a name of the query; of several files that do, the more central one gets more. */
const definitionBoosts = (
  shape: QueryShape,
  candidates: readonly Candidate[],
  weights: RankWeights,
  centrality: RankContext["centrality"],
): readonly number[] => {
  const certainty = candidates.map((candidate) => definesNamed(shape, candidate));
  if (!shape.isSymbol) return certainty.map((share) => share * weights.namedDefinition);
  const rivals = new Set(candidates.flatMap(({ path }, at) => ((certainty[at] ?? 0) > 0 ? [path] : [])));
  return candidates.map(({ path }, at) => {
    const share = certainty[at] ?? 0;
    if (share === 0) return 0;
    const central = rivals.size > 1 ? (centrality?.(path) ?? 0) : 0;
    return share * (weights.exactDefinition + weights.centrality * central);
  });
};

const fileBoost = (shape: QueryShape, file: PathTerms, weights: RankWeights): number => {
  let inFolders = 0;
  for (const stem of shape.stems) if (file.folderStems.has(stem)) inFolders++;
  return (
    weights.stem * shareOf(shape.stems, file.fileStems) +
    weights.path * (shape.stems.size === 0 ? 0 : inFolders / shape.stems.size)
  );
};

/** Whether the whole name of the file is in the query. */
export const isNamedAfter = (path: string, { stems }: QueryShape): boolean =>
  shareOf(stems, factsOf(path).fileStems) === 1;

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

/** The order of the set decides between files of the same name. */
const beginningsFirst = <T extends Candidate>(
  ranked: readonly Ranked<T>[],
  beginnings: ReadonlySet<number>,
): readonly Ranked<T>[] => {
  const best = ranked[0]?.score ?? 0;
  const byId = new Map(ranked.map((one) => [one.candidate.id, one]));
  const first = [...beginnings].flatMap((id) => byId.get(id) ?? []).map((one) => ({ ...one, score: best }));
  return [...first, ...ranked.filter(({ candidate }) => !beginnings.has(candidate.id))];
};

/** Best first. Scores are comparable within one answer only. */
export const rankChunks = <T extends Candidate>(
  shape: QueryShape,
  candidates: readonly T[],
  { leastSimilarity, centrality, named = NOTHING_NAMED, weights = RANK_WEIGHTS }: RankContext,
): readonly Ranked<T>[] => {
  const fused = fuse(shape, candidates, leastSimilarity, weights);
  const top = largest(fused, 0);
  const defining = definitionBoosts(shape, candidates, weights, centrality);
  const scored = candidates.map((candidate, at): Ranked<T> => {
    const isNamed = named.beginnings.has(candidate.id);
    const boost =
      Math.max(defining[at] ?? 0, isNamed ? weights.namedDefinition : 0) +
      fileBoost(shape, factsOf(candidate.path), weights) +
      (candidate.kind === "prose" && !candidate.path.includes("/") ? weights.rootDocument : 0);
    return { candidate, score: (fused[at] ?? 0) + top * boost };
  });
  const files = [...Map.groupBy(scored, ({ candidate }) => candidate.path)].map(([path, chunks]) => {
    chunks.sort(byScore);
    const best = chunks[0]?.score ?? 0;
    const siblings = chunks.slice(1, 1 + SIBLING_CHUNKS).reduce((sum, { score }) => sum + score, 0);
    const { category } = factsOf(path);
    const factor = category === undefined || shape.wantedCategories.has(category) ? 1 : weights.demotion;
    const lift = (weights.siblings * siblings) / SIBLING_CHUNKS;
    return chunks.map(({ candidate, score }) => ({
      candidate,
      score: factor * (score + (best > 0 ? (lift * score) / best : 0)),
    }));
  });
  const ranked = interleave(files);
  return named.isAll ? beginningsFirst(ranked, named.beginnings) : ranked;
};
