import { largest } from "../collections/largest.ts";
import type { RankedChunk } from "../rank/chunk-index.ts";
import { certaintyOf, type Evidence, type EvidenceWeights, reasonsOf, scoreEvidence } from "./evidence.ts";

export interface FileEvidence {
  /** BM25 of whole files, by path; what a category costs is taken off already. */
  readonly fileScores: ReadonlyMap<string, number>;
  readonly evidence: readonly Evidence[];
  readonly weights: EvidenceWeights;
}

/** In an answer, more reasons cost more than they say. */
const MAX_REASONS = 2;
/** What evidence points at has to do with the report, whatever share of its terms it has (rank/relevance.ts). */
const POINTED_AT = 0.65;

interface ScoredChunk {
  readonly chunk: RankedChunk;
  readonly score: number;
}

interface ScoredFile {
  readonly score: number;
  /** Best first. */
  readonly chunks: readonly ScoredChunk[];
  readonly reasons: readonly string[];
  readonly certainty: number;
}

const isIn =
  ({ startLine, endLine }: RankedChunk) =>
  ({ line }: Evidence): boolean =>
    line >= startLine && line <= endLine;

const scoreFile = (
  chunks: readonly RankedChunk[],
  ofFile: readonly Evidence[],
  wholeText: number,
  weights: EvidenceWeights,
): ScoredFile => {
  const best = chunks.reduce((max, { score }) => Math.max(max, score), 0);
  const scored = chunks.map((chunk): ScoredChunk => {
    const pointing = ofFile.filter(isIn(chunk));
    const relevance = pointing.length === 0 ? chunk.relevance : Math.max(chunk.relevance, POINTED_AT);
    return {
      chunk: { ...chunk, relevance },
      score: weights.chunk * chunk.score + scoreEvidence(pointing, weights),
    };
  });
  return {
    score: weights.chunk * best + weights.file * wholeText + scoreEvidence(ofFile, weights),
    chunks: scored.sort((a, b) => b.score - a.score || a.chunk.startLine - b.chunk.startLine),
    reasons: reasonsOf(ofFile, weights, MAX_REASONS),
    certainty: certaintyOf(ofFile),
  };
};

/**
 * Orders chunks by what speaks for their files: the best chunk of each file before the second of any. Within a file, those
 * come first that evidence points at.
 */
export const rankFiles = (
  chunks: readonly RankedChunk[],
  { fileScores, evidence, weights }: FileEvidence,
): readonly RankedChunk[] => {
  const byPath = Map.groupBy(evidence, ({ path }) => path);
  const highest = largest(fileScores.values(), Number.MIN_VALUE);
  const files = [...Map.groupBy(chunks, ({ path }) => path)]
    .map(([path, ofFile]) =>
      scoreFile(ofFile, byPath.get(path) ?? [], (fileScores.get(path) ?? 0) / highest, weights),
    )
    .sort((a, b) => b.score - a.score);
  const top = files[0]?.score ?? 1;
  const rounds: RankedChunk[][] = [];
  for (const { score, chunks: own, reasons, certainty } of files) {
    const best = own[0]?.score ?? 1;
    for (const [round, one] of own.entries()) {
      rounds[round] ??= [];
      const share = best > 0 ? one.score / best : 0;
      rounds[round].push({
        ...one.chunk,
        score: top > 0 ? (share * score) / top : 0,
        ...(round === 0 && reasons.length > 0 ? { reasons, certainty } : {}),
      });
    }
  }
  return rounds.flat();
};
