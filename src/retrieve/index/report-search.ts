import { memoize } from "../collections/memoize.ts";
import type { ChunkFacts, ChunkIndex, ChunkQuery, RankedChunk } from "../rank/chunk-index.ts";
import { documentsAnswer } from "../rank/documents-answer.ts";
import { categoryOf } from "../rank/file-category.ts";
import type { QueryShape } from "../rank/query-shape.ts";
import { RANK_WEIGHTS } from "../rank/rank-weights.ts";
import { EVIDENCE_WEIGHTS, type Evidence, type EvidenceWeights } from "../report/evidence.ts";
import { createExampleReader } from "../report/example-symbols.ts";
import {
  exampleEvidence,
  type FittingTest,
  frameLine,
  nameEvidence,
  testEvidence,
} from "../report/graph-evidence.ts";
import { messageEvidence, messageTerms } from "../report/message-evidence.ts";
import { rankFiles } from "../report/rank-files.ts";
import { isReport, type Report, readReport } from "../report/read-report.ts";
import { reportShape, reportText } from "../report/report-shape.ts";
import { frameEvidence, pathEvidence } from "../report/text-evidence.ts";
import type { CurrentLines } from "./current-lines.ts";
import type { AskGraph } from "./graph-answers.ts";
import { mainLanguage } from "./language-name.ts";
import type { LoadedIndex } from "./loaded-index.ts";

export interface ReportSearchParts {
  readonly loaded: LoadedIndex;
  readonly lines: CurrentLines;
  /** Without a look at the disk: what is shown in the end is compared with it. */
  readonly askGraph: AskGraph;
  /** Read with every question. */
  readonly weights?: (() => EvidenceWeights) | undefined;
}

/** A long question, taken apart, with what the workspace says to it. */
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
/** Places where a message may come from. */
const MESSAGE_CHUNKS = 12;
const FITTING_TESTS = 5;
/** From a call in an example: further away, everything is reached. */
const STEPS = 1;

/** The same paths come with every question. */
const categoryAt = memoize(categoryOf, 50_000);

const isOfCode = (path: string): boolean => {
  const category = categoryAt(path);
  return category === undefined || category === "generated" || category === "vendored";
};

/** The sum of whole texts, less what tests, examples and documents lose in the ranking of chunks. */
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

const bestOf = (scores: ReadonlyMap<string, number>, limit: number): readonly (readonly [string, number])[] =>
  [...scores].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, limit);

const fittingTests = (scores: ReadonlyMap<string, number>): readonly FittingTest[] => {
  const best = bestOf(new Map([...scores].filter(([path]) => categoryAt(path) === "test")), FITTING_TESTS);
  return best.map(([path, score]) => ({ path, fit: score / (best[0]?.[1] ?? 1) }));
};

/** Somebody ran something: then documents, which say the same in better words, are no answer. */
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
export const createReportSearch = ({
  loaded,
  lines,
  askGraph,
  weights = () => EVIDENCE_WEIGHTS,
}: ReportSearchParts) => {
  const exampleReader = createExampleReader();

  const findMessages = async (
    report: Report,
    signal: AbortSignal | undefined,
  ): Promise<readonly Evidence[]> => {
    const found: Evidence[] = [];
    for (const message of report.messages) {
      const terms = messageTerms(message);
      if (terms.size === 0) continue;
      const isCode = ({ kind, path }: ChunkFacts): boolean => kind === "code" && isOfCode(path);
      for (const { path, startLine, endLine } of loaded.chunks.chunksWith(terms, MESSAGE_CHUNKS, isCode)) {
        const all = await lines.read(path, loaded.files.get(path)?.hash ?? "", signal);
        if (all === undefined) continue;
        const source = { path, startLine, lines: all.slice(startLine - 1, endLine) };
        const one = messageEvidence(message, source);
        if (one !== undefined) found.push(one);
      }
    }
    return found;
  };

  const askAboutReport = async (
    report: Report,
    tests: readonly FittingTest[],
    signal: AbortSignal | undefined,
  ): Promise<readonly Evidence[]> => {
    const examples = await exampleReader.read(report.examples, mainLanguage(loaded.files));
    const paths = [...loaded.files.keys()].filter(isOfCode);
    return askGraph(
      (graph) => [
        ...frameEvidence(report, paths, (path, frame) => frameLine(graph, path, frame)),
        ...pathEvidence(report, paths),
        ...nameEvidence(report, graph, isOfCode),
        ...examples.flatMap(({ language, symbols }) =>
          exampleEvidence(graph.meaningOf(language, symbols, STEPS), isOfCode),
        ),
        ...testEvidence(tests, graph, isOfCode),
      ],
      signal,
    );
  };

  const readQuestion = async (
    question: string,
    signal: AbortSignal | undefined,
  ): Promise<ReadQuestion | undefined> => {
    if (!isReport(question)) return undefined;
    const report = readReport(question);
    const shape = reportShape(report);
    const ofCode = loaded.chunks.scoreFiles(shape.terms, "repo");
    const evidence = [
      ...(await findMessages(report, signal)),
      ...(await askAboutReport(report, fittingTests(ofCode), signal)),
    ];
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
    close: exampleReader.close,
  };
};
