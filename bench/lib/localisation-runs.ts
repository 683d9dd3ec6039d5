import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { readEmbedderFiles } from "../../src/host/os/assets.ts";
import { createLocalRetrieval } from "../../src/retrieve/local-retrieval.ts";
import { planRetrieval } from "../../src/retrieve/plan.ts";
import { shapeOf } from "../../src/retrieve/rank/query-shape.ts";
import type { Snippet } from "../../src/retrieve/rank/search-request.ts";
import { EVIDENCE_WEIGHTS, type EvidenceWeights } from "../../src/retrieve/report/evidence.ts";
import { chunkTerms } from "../../src/retrieve/terms/chunk-terms.ts";
import { createLexicalIndex } from "../../src/retrieve/terms/lexical-index.ts";
import { renderPlan } from "../../src/tools/rag-plan.ts";
import { type BugReport, filesOf, foldersOf } from "./localisation-set.ts";
import {
  addVersion,
  MIN_CHUNKS,
  togetherFolders,
  versionsInTurn,
  writeHistory,
} from "./localisation-together.ts";
import { llmc, startServer } from "./server-process.ts";

/** One answer: the files, best first, and what it took. */
export interface Located {
  readonly files: readonly string[];
  readonly ms: number;
  /** What a model gets to read of `rag_search`, and of `rag_plan`. */
  readonly text: string;
  readonly plan: string;
}

/** The project of one report, indexed and warm. */
export interface OpenProject {
  readonly chunks: number;
  ask(weights?: EvidenceWeights): Promise<Located>;
  close(): Promise<void>;
}

export type OpenReport = (report: BugReport) => Promise<OpenProject>;

/** The most that the tool takes. */
const K = 50;
const BUDGET_TOKENS = 200_000;
/** What an answer holds where nobody configured anything. */
const DEFAULT_ANSWER = { k: 3, budgetTokens: 600 };
const PATIENCE_MS = 600_000;

const toText = (snippets: readonly Snippet[]): string =>
  snippets
    .map(({ path, startLine, endLine, text }) => `${path}#L${startLine}-L${endLine}\n${text}`)
    .join("\n");

const embedderFiles = readEmbedderFiles();

type Folders = ReturnType<typeof foldersOf>;

const openEngine = (folders: Folders, threads: number, evidenceWeights = () => EVIDENCE_WEIGHTS) => {
  const settings = {
    roots: ["."],
    denylist: [],
    maxFileBytes: 8 * 1024 * 1024,
    watch: true,
    threads,
    waitMs: PATIENCE_MS,
  };
  return createLocalRetrieval({
    ...folders,
    settings: () => settings,
    onWarning: () => {},
    embedderFiles,
    evidenceWeights,
  });
};

/** The engine in this process, over the files and the index that the cache keeps. */
export const openInProcess =
  (cache: string, threads: number): OpenReport =>
  async (report) => {
    let weights = EVIDENCE_WEIGHTS;
    const engine = openEngine(foldersOf(cache, report), threads, () => weights);
    const { chunks } = await engine.index({});
    const search = (bounds: { readonly k: number; readonly budgetTokens: number }) =>
      engine.search({ query: report.text, scope: "auto", ...bounds });
    const text = toText((await search(DEFAULT_ANSWER)).value);
    const planned = await planRetrieval({ query: report.text, scope: "auto" }, engine);
    const plan = renderPlan(planned.value);
    return {
      chunks,
      ask: async (given = EVIDENCE_WEIGHTS) => {
        weights = given;
        const startedMs = performance.now();
        const { value } = await search({ k: K, budgetTokens: BUDGET_TOKENS });
        const ms = performance.now() - startedMs;
        return { files: filesOf(value.map(({ path }) => path)), ms, text, plan };
      },
      close: () => engine.close(),
    };
  };

/** A question spends a tenth of a second on commits: some questions read all of them. */
const WARM_UP = 5;
/** The length of a usual report. */
const REPORT_CHARS = 2000;

/** Processor time of this thread, in which the engine runs here: what other programs take does not count. */
const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

/** Filled up to the longest question that is taken. */
const filled = (text: string): string => text.repeat(Math.ceil(32_768 / text.length)).slice(0, 32_768);

/** Questions that somebody wrote to keep the server busy. */
const HOSTILE: Readonly<Record<string, string>> = {
  parentheses: filled("("),
  "nested calls": `Title\n\`\`\`python\n${filled("f(")}`,
  frames: filled('  File "/x/lib/axes.py", line 1, in plot\n'),
  "paths of frames": Array.from({ length: 700 }, (_, i) => `  File "/x/${i}/axes.py", line 1, in p${i}`).join(
    "\n",
  ),
  names: `Title\n${Array.from({ length: 4000 }, (_, i) => `\`a${i}.b\``).join(" ")}`,
  "common names": `Title\n${filled("`__init__` `fit` `plot` `self` ")}`,
  messages: `Title\n${Array.from({ length: 700 }, (_, i) => `ValueError: the value of the array is not ${i}`).join("\n")}`,
  words: Array.from({ length: 5000 }, (_, i) => `value${i} array`).join("\n"),
  "common words": `Title\n${filled("the value of an array in the figure is not the same as the axis ")}`,
  "spaces and dashes": `Title\n${filled(" - ")}x`,
};

/** What one answer took. */
export interface AnswerTime {
  readonly ms: number;
  readonly cpuMs: number;
}

export interface TimesTogether {
  readonly chunks: number;
  readonly usual: readonly AnswerTime[];
  readonly hostile: ReadonlyMap<string, AnswerTime>;
}

const timed = async (work: () => Promise<unknown>): Promise<AnswerTime> => {
  const [startedMs, usedMs] = [performance.now(), cpuMs()];
  await work();
  return { ms: performance.now() - startedMs, cpuMs: cpuMs() - usedMs };
};

/**
 * The time of answers in one workspace that holds versions of every project, at least 20,000 chunks where the set has as many,
 * with documents and a history.
 */
export const timeTogether = async (
  cache: string,
  reports: readonly BugReport[],
  threads: number,
): Promise<TimesTogether> => {
  const folders = togetherFolders(cache);
  const engine = openEngine(folders, threads);
  try {
    let chunks = 0;
    for (const report of versionsInTurn(reports)) {
      if (chunks >= MIN_CHUNKS) break;
      addVersion(cache, folders.workspace, report);
      chunks = (await engine.index({})).chunks;
    }
    writeHistory(folders.workspace);
    const ask = (query: string) => engine.search({ query, scope: "auto", ...DEFAULT_ANSWER });
    // The first questions load the symbol graph, the grammar and the commits.
    for (const { text } of reports.slice(0, WARM_UP)) await ask(text.slice(0, REPORT_CHARS));
    const usual: AnswerTime[] = [];
    for (const { text } of reports) usual.push(await timed(() => ask(text.slice(0, REPORT_CHARS))));
    const hostile = new Map<string, AnswerTime>();
    for (const [kind, text] of Object.entries(HOSTILE)) hostile.set(kind, await timed(() => ask(text)));
    return { chunks, usual, hostile };
  } finally {
    await engine.close();
  }
};

interface FoundSnippets {
  readonly data: { readonly snippets: readonly { readonly src: string }[] };
  readonly meta: { readonly index: "ready" | "building" };
}

/** The tool of the real program, asked as a client asks that names no scope. */
export const openThroughProgram =
  (cache: string, program: string): OpenReport =>
  async (report) => {
    const { workspace, userState } = foldersOf(cache, report);
    const limits = ["--set", `mcp.rag.top_k=${K}`, "--set", `mcp.rag.token_budget=${BUDGET_TOKENS}`];
    const launch = llmc(program, workspace, "--mode", "classic", ...limits);
    const server = startServer({ ...launch, env: { ...launch.env, XDG_STATE_HOME: dirname(userState) } });
    await server.handshake();
    const search = async (k: number, budget: number) =>
      server.ask("rag_search", { query: report.text, k, budget_tokens: budget });
    while (((await search(1, 100)).structured as FoundSnippets).meta.index !== "ready")
      await new Promise((resolve) => setTimeout(resolve, 200));
    const stats = (await server.ask("rag_stats")).structured as {
      readonly data?: { readonly chunks?: number };
    };
    return {
      chunks: stats.data?.chunks ?? 0,
      ask: async () => {
        const { structured, ms } = await search(K, BUDGET_TOKENS);
        const { data } = structured as FoundSnippets;
        const files = filesOf(data.snippets.map(({ src }) => src.slice(0, src.lastIndexOf("#"))));
        const { text } = await search(DEFAULT_ANSWER.k, DEFAULT_ANSWER.budgetTokens);
        const plan = (await server.ask("rag_plan", { query: report.text })).text;
        return { files, ms, text, plan };
      },
      close: () => server.close(),
    };
  };

/** BM25 over whole files, identifiers split, the path counted three times. */
export const openBm25 =
  (cache: string): OpenReport =>
  async (report) => {
    const { workspace } = foldersOf(cache, report);
    const index = createLexicalIndex();
    const paths: string[] = [];
    for (const entry of readdirSync(workspace, { recursive: true, withFileTypes: true })) {
      const file = join(entry.parentPath, entry.name);
      if (!entry.isFile() || file.includes("/.llmc/")) continue;
      const path = file.slice(workspace.length + 1);
      index.add(paths.length, chunkTerms(path, { text: readFileSync(file, "utf8"), name: "", defines: [] }));
      paths.push(path);
    }
    const { terms } = shapeOf(report.text.slice(0, 2000));
    return {
      chunks: paths.length,
      ask: async () => {
        const startedMs = performance.now();
        const found = index.search(terms, 200);
        const ms = performance.now() - startedMs;
        return { files: filesOf(found.flatMap(({ id }) => paths[id] ?? [])), ms, text: "", plan: "" };
      },
      close: async () => {},
    };
  };
