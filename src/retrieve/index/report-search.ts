import type { ChunkFacts, ChunkIndex, ChunkQuery, RankedChunk } from "../rank/chunk-index.ts";
import { documentsAnswer } from "../rank/documents-answer.ts";
import type { QueryShape } from "../rank/query-shape.ts";
import { RANK_WEIGHTS } from "../rank/rank-weights.ts";
import { EVIDENCE_WEIGHTS, type Evidence, type EvidenceWeights } from "../report/evidence.ts";
import { rankFiles } from "../report/rank-files.ts";
import { isReport, type Report, readReport } from "../report/read-report.ts";
import { reportShape, reportText } from "../report/report-shape.ts";
import type { LoadedIndex } from "./loaded-index.ts";
import { bestOf, categoryAt, createReportEvidence, type ReportEvidenceParts } from "./report-evidence.ts";

export interface ReportSearchParts extends ReportEvidenceParts {
  /** Read with every question. */
  readonly weights?: (() => EvidenceWeights) | undefined;
}

/** A long question that was taken apart, with the evidence that the workspace has for it. */
export interface ReadQuestion {
  /** What is embedded. */
  readonly text: string;
  rank(query: Omit<ChunkQuery, "query" | "shape" | "also">): readonly RankedChunk[];
}

/** Files whose whole text fits best are candidates, even where none of their chunks is. */
const BEST_FILES = 20;
/** Of one file, and of all; the chunks that evidence points at come on top. */
const MAX_CHUNKS_OF_FILE = 40;
const MAX_CANDIDATES = 600;

/** Scores of whole files; tests, examples and documents lose as much as in the ranking of chunks. */
const demoted = (
  scores: ReadonlyMap<string, number>,
  { wantedCategories }: QueryShape,
): ReadonlyMap<string, number> =>
  new Map(
    [...scores].map(([path, score]) => {
      const category = categoryAt(path);
      const isWanted = category === undefined || wantedCategories.has(category);
      return [path, isWanted ? score : score * RANK_WEIGHTS.demotion];
    }),
  );

/** The reporter ran something and wants it repaired, so documents that describe it in better words are not the answer. */
const isAboutCode = ({ examples, frames, messages }: Report): boolean =>
  examples.length + frames.length + messages.length > 0;

/** Chunks that must be candidates: those that evidence points at, and those of files that fit as a whole. */
const candidatesOf = (
  { files, chunks }: LoadedIndex,
  fileScores: ReadonlyMap<string, number>,
  evidence: readonly Evidence[],
): readonly number[] => {
  const pointedAt = evidence.flatMap(({ path, line }) => {
    const isThere = ({ startLine, endLine }: ChunkFacts): boolean => line >= startLine && line <= endLine;
    return (files.get(path)?.chunkIds ?? []).filter((id) => {
      const facts = chunks.get(id);
      return facts !== undefined && isThere(facts);
    });
  });
  const paths = new Set([
    ...bestOf(fileScores, BEST_FILES).map(([path]) => path),
    ...evidence.map(({ path }) => path),
  ]);
  const ofFiles = [...paths].flatMap((path) => files.get(path)?.chunkIds.slice(0, MAX_CHUNKS_OF_FILE) ?? []);
  return [...new Set([...pointedAt, ...ofFiles])].slice(0, MAX_CANDIDATES);
};

/** Reads long questions, and ranks for them by several kinds of evidence. */
export const createReportSearch = ({ weights = () => EVIDENCE_WEIGHTS, ...parts }: ReportSearchParts) => {
  const { loaded } = parts;
  const { collect, close } = createReportEvidence(parts);

  const readQuestion = async (
    question: string,
    signal: AbortSignal | undefined,
  ): Promise<ReadQuestion | undefined> => {
    if (!isReport(question)) return undefined;
    const report = readReport(question);
    const shape = reportShape(report);
    const ofCode = loaded.chunks.scoreFiles(shape.terms, "repo");
    const { terms } = shape;
    const evidence = await collect({ report, terms, fileScores: ofCode, weights: weights() }, signal);
    const rankIn = (chunks: ChunkIndex, query: Omit<ChunkQuery, "query" | "shape" | "also">) => {
      const scope = query.scope === "auto" ? "repo" : query.scope;
      const fileScores = demoted(scope === "repo" ? ofCode : chunks.scoreFiles(shape.terms, scope), shape);
      const also = candidatesOf(loaded, fileScores, evidence);
      const limit = Math.max(query.limit, MAX_CANDIDATES);
      const found = chunks.search({ ...query, query: report.title, shape, also, limit, scope });
      return rankFiles(found, { fileScores, evidence, weights: weights() }).slice(0, query.limit);
    };
    return {
      text: reportText(report),
      rank: (query) => {
        const { chunks } = loaded;
        if (query.scope === "auto" && !isAboutCode(report)) {
          const both = chunks.search({ ...query, query: report.title, shape, scope: "both" });
          const documents = documentsAnswer(both);
          if (documents !== undefined) return documents;
        }
        return rankIn(chunks, query);
      },
    };
  };

  return {
    /** Undefined for a short question, which is ranked as it is. */
    readQuestion,
    close,
  };
};
