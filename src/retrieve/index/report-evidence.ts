import type { ChangedTogether } from "../../host/history/history.ts";
import { largest } from "../collections/largest.ts";
import { memoize } from "../collections/memoize.ts";
import type { ChunkFacts } from "../rank/chunk-index.ts";
import { categoryOf } from "../rank/file-category.ts";
import { documentEvidence, type FittingDocument } from "../report/document-evidence.ts";
import { type Evidence, type EvidenceWeights, scoreEvidence } from "../report/evidence.ts";
import { createExampleReader } from "../report/example-symbols.ts";
import {
  exampleEvidence,
  type FittingTest,
  frameLine,
  nameEvidence,
  testEvidence,
} from "../report/graph-evidence.ts";
import { historyEvidence, type LikelyFile } from "../report/history-evidence.ts";
import { literalLines } from "../report/literal-lines.ts";
import {
  messageEvidence,
  messageTerms,
  optionEvidence,
  type SourceLiterals,
} from "../report/message-evidence.ts";
import type { Report } from "../report/read-report.ts";
import { frameEvidence, pathEvidence } from "../report/text-evidence.ts";
import { tokenize } from "../terms/tokenize.ts";
import type { CurrentLines } from "./current-lines.ts";
import type { AskGraph } from "./graph-answers.ts";
import { mainLanguage } from "./language-name.ts";
import type { LoadedIndex } from "./loaded-index.ts";

export interface ReportEvidenceParts {
  readonly loaded: LoadedIndex;
  readonly lines: CurrentLines;
  /** Without a look at the disk: what is shown in the end is compared with it. */
  readonly askGraph: AskGraph;
  /** The files of each of the last commits; empty where there is no history that may be read. */
  readonly history: () => Promise<readonly ChangedTogether[]>;
}

/** Chunks that may have a message or an option. */
const LITERAL_CHUNKS = 12;
const FITTING_TESTS = 5;
const FITTING_DOCUMENTS = 3;
/** What was changed together with these files is looked up in the history. */
const LIKELY_FILES = 3;
/** From a call in an example: further away, everything is reached. */
const STEPS = 1;

/** The same paths come with every question. */
export const categoryAt = memoize(categoryOf, 50_000);

/** Tests, examples and documents are no place for a fix. */
const isOfCode = (path: string): boolean => {
  const category = categoryAt(path);
  return category === undefined || category === "generated" || category === "vendored";
};

export const bestOf = (
  scores: ReadonlyMap<string, number>,
  limit: number,
): readonly (readonly [string, number])[] =>
  [...scores].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, limit);

const fittingTests = (scores: ReadonlyMap<string, number>): readonly FittingTest[] => {
  const isFitting = ([path, score]: readonly [string, number]): boolean =>
    score > 0 && categoryAt(path) === "test";
  const best = bestOf(new Map([...scores].filter(isFitting)), FITTING_TESTS);
  return best.map(([path, score]) => ({ path, fit: score / (best[0]?.[1] ?? 1) }));
};

/** The files that the text and the other evidence speak for most, before their chunks are ranked. */
const likelyFiles = (
  fileScores: ReadonlyMap<string, number>,
  evidence: readonly Evidence[],
  weights: EvidenceWeights,
): readonly LikelyFile[] => {
  const ofCode = [...fileScores].filter(([path]) => isOfCode(path));
  const highest = largest(
    ofCode.map(([, score]) => score),
    Number.MIN_VALUE,
  );
  const scores = new Map(ofCode.map(([path, score]) => [path, (weights.file * score) / highest]));
  for (const [path, ofFile] of Map.groupBy(evidence, (one) => one.path))
    scores.set(path, (scores.get(path) ?? 0) + scoreEvidence(ofFile, weights));
  const best = bestOf(scores, LIKELY_FILES);
  return best.map(([path, score]) => ({ path, share: score / (best[0]?.[1] || 1) }));
};

/** What is asked, and how well whole files of code and tests fit it. */
export interface EvidenceRequest {
  readonly report: Report;
  readonly terms: ReadonlyMap<string, number>;
  readonly fileScores: ReadonlyMap<string, number>;
  readonly weights: EvidenceWeights;
}

/** Collects everything in the workspace that speaks for a file, apart from its text. */
export const createReportEvidence = ({ loaded, lines, askGraph, history }: ReportEvidenceParts) => {
  const exampleReader = createExampleReader();

  const readLines = (path: string, signal: AbortSignal | undefined): Promise<readonly string[] | undefined> =>
    lines.read(path, loaded.files.get(path)?.hash ?? "", signal);

  const isCode = ({ kind, path }: ChunkFacts): boolean => kind === "code" && isOfCode(path);

  /** What the string literals of the chunks say that have most of the terms. */
  const literalsWith = async (
    terms: ReadonlyMap<string, number>,
    known: Map<string, readonly string[]>,
    signal: AbortSignal | undefined,
  ): Promise<readonly SourceLiterals[]> => {
    const found: SourceLiterals[] = [];
    for (const { path, startLine, endLine } of loaded.chunks.chunksWith(terms, LITERAL_CHUNKS, isCode)) {
      // From the beginning of the file: a chunk may start inside of a literal.
      const all = known.get(path) ?? literalLines((await readLines(path, signal)) ?? []);
      known.set(path, all);
      found.push({ path, startLine, lines: all.slice(startLine - 1, endLine) });
    }
    return found;
  };

  const findLiterals = async (
    { messages, phrases, options }: Report,
    signal: AbortSignal | undefined,
  ): Promise<readonly Evidence[]> => {
    const known = new Map<string, readonly string[]>();
    const found: Evidence[] = [];
    const findMessage = async (message: string, reason: string): Promise<void> => {
      const terms = messageTerms(message);
      if (terms.size === 0) return;
      for (const source of await literalsWith(terms, known, signal)) {
        const one = messageEvidence(message, source, reason);
        if (one !== undefined) found.push(one);
      }
    };
    for (const message of messages) await findMessage(message, "raises this message");
    for (const phrase of phrases) await findMessage(phrase, "has the quoted text");
    for (const option of options) {
      const terms = new Map(tokenize(option).map((term) => [term, 1]));
      found.push(...optionEvidence(option, await literalsWith(terms, known, signal)));
    }
    return found;
  };

  const fittingDocuments = async (
    terms: ReadonlyMap<string, number>,
    signal: AbortSignal | undefined,
  ): Promise<readonly FittingDocument[]> => {
    const isProse = ({ kind }: ChunkFacts): boolean => kind === "prose";
    const found: FittingDocument[] = [];
    for (const chunk of loaded.chunks.chunksWith(terms, FITTING_DOCUMENTS, isProse)) {
      const all = await readLines(chunk.path, signal);
      if (all === undefined) continue;
      found.push({ path: chunk.path, text: all.slice(chunk.startLine - 1, chunk.endLine).join("\n") });
    }
    return found;
  };

  const collect = async (
    { report, terms, fileScores, weights }: EvidenceRequest,
    signal: AbortSignal | undefined,
  ): Promise<readonly Evidence[]> => {
    const literals = await findLiterals(report, signal);
    const documents = await fittingDocuments(terms, signal);
    const examples = await exampleReader.read(report.examples, mainLanguage(loaded.files));
    const commits = await history();
    const paths = [...loaded.files.keys()].filter(isOfCode);
    const resolved = await askGraph(
      (graph) => [
        ...frameEvidence(report, paths, (path, frame) => frameLine(graph, path, frame)),
        ...pathEvidence(report, paths),
        ...nameEvidence(report, graph, isOfCode),
        ...examples.flatMap(({ language, symbols }) =>
          exampleEvidence(graph.meaningOf(language, symbols, STEPS), isOfCode),
        ),
        ...testEvidence(fittingTests(fileScores), graph, isOfCode),
        ...documentEvidence(documents, graph, paths, isOfCode),
      ],
      signal,
    );
    const found = [...literals, ...resolved];
    const isThere = (path: string): boolean => loaded.files.has(path) && isOfCode(path);
    return [...found, ...historyEvidence(likelyFiles(fileScores, found, weights), commits, isThere)];
  };

  return { collect, close: exampleReader.close };
};
