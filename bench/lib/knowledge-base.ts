import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { createCaches } from "../../src/base/caches.ts";
import type { DocumentParser, ReadSource } from "../../src/documents/contract.ts";
import type { Hit } from "../../src/knowledge/api/contract.ts";
import { createKnowledge, type KnowledgeEngine } from "../../src/knowledge/knowledge.ts";
import { createOperator } from "../../src/knowledge/operator.ts";
import {
  createModelEmbedder,
  createPassageEmbedder,
  type PassageEmbedder,
} from "../../src/knowledge/search/passage-embedder.ts";
import { createSqlStore } from "../../src/knowledge/store/sql-store.ts";
import { createSqliteDriver } from "../../src/knowledge/store/sqlite-driver.ts";
import { loadNearestRows } from "../../src/retrieve/embed/nearest-rows.ts";
import { createOnnxModel } from "../../src/retrieve/embed/onnx-model.ts";

export interface CorpusDocument {
  readonly id: string;
  readonly title: string;
  readonly text: string;
  readonly kind: "prose" | "code";
  /** Further passages of the same document. */
  readonly more?: readonly string[];
}

export const ALLOWED = { permitCollection: () => {}, permitFlow: () => {} };

/** Of all threads of this process. */
export const cpuMsSince = (before: NodeJS.CpuUsage): number => {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
};

const CACHE_BYTES = 100 * 1024 * 1024;

const parser: DocumentParser = {
  parse: async ({ bytes }) => {
    const { title, text, kind, more = [] } = JSON.parse(new TextDecoder().decode(bytes)) as CorpusDocument;
    return {
      title,
      format: kind === "code" ? "code" : "text",
      sections: [text, ...more].map((part) => ({ headings: [], text: part, kind })),
      warnings: [],
    };
  },
};

const readDocuments = (documents: Iterable<CorpusDocument>): ReadSource =>
  async function* () {
    for (const document of documents) {
      const bytes = new TextEncoder().encode(JSON.stringify(document));
      yield {
        kind: "document",
        id: document.id,
        name: document.id,
        bytes,
        contentHash: createHash("sha256").update(bytes).digest("base64url"),
      };
    }
  };

export interface OpenBase {
  readonly engine: KnowledgeEngine;
  readonly caches: ReturnType<typeof createCaches>;
  /** Reading, cutting, embedding and storing; and then building the index and promoting. */
  readonly ingestMs: number;
  /** Of processors: what it takes on a machine that others do not use. */
  readonly ingestCpuMs: number;
  readonly promoteMs: number;
  /** The workspace, and the environment in which a server finds the same store. */
  readonly root: string;
  readonly env: Readonly<Record<string, string>>;
  /** A server may have the store to itself then. */
  closeEngine(): Promise<void>;
  /** With all that is on the disk. */
  close(): Promise<void>;
}

/** The one that is built in, or the local model in the folder or package that LLMC_BENCH_ONNX names. */
export const openEmbedder = async (): Promise<PassageEmbedder> => {
  const model = process.env["LLMC_BENCH_ONNX"];
  if (model === undefined) return createPassageEmbedder();
  const onnx = createOnnxModel({ workspace: process.cwd(), model }, availableParallelism());
  return createModelEmbedder(await onnx.open(), onnx.close);
};

/** A knowledge base `set` of these documents, ingested and promoted in an embedded store, as the program would. */
export const openBase = async (
  documents: Iterable<CorpusDocument>,
  embedder: PassageEmbedder = createPassageEmbedder(),
): Promise<OpenBase> => {
  const root = await mkdtemp(join(tmpdir(), "llmc-bench-kb-"));
  const driver = createSqliteDriver({
    workspace: root,
    userState: join(root, "state/llmc"),
    folder: join(root, ".llmc/kb"),
    onWarning: () => {},
  });
  const caches = createCaches({ maxBytes: () => CACHE_BYTES, now: () => performance.now() });
  const cache = caches.open<readonly Hit[]>("kb", 300_000);
  const engine = createKnowledge({
    store: createSqlStore({ driver, workspace: root, now: () => Date.now() }),
    embedder,
    nearestRows: loadNearestRows(),
    cache: { get: cache.peek, set: cache.put },
    maxIndexBytes: () => 1024 ** 3,
    maxAskMs: () => 10_000,
    openModel: async () => undefined,
    modelLimits: () => ({ maxOutputTokens: 0, timeoutMs: 0 }),
    flows: () => [],
    holder: "bench",
    newCode: () => "",
    now: () => Date.now(),
  });
  const operator = createOperator({
    engine,
    ingestParts: async () => ({
      parser,
      readSource: readDocuments(documents),
      sourceOptions: () => ({
        denylist: [],
        closed: [],
        network: undefined,
        maxDocumentBytes: 1e9,
        maxDocuments: 1e9,
        timeoutMs: 1e6,
      }),
      uriOf: (_, id) => id,
    }),
    thresholds: () => ({ minRecall: 0, maxDrop: 1 }),
    now: () => Date.now(),
  });
  const started = performance.now();
  const usage = process.cpuUsage();
  await operator.create("set", "");
  await operator.add("set", ["set"], { dryRun: false }, {});
  const ingestMs = performance.now() - started;
  const ingestCpuMs = cpuMsSince(usage);
  await operator.promote("set", undefined, { force: true });
  const promoteMs = performance.now() - started - ingestMs;
  return {
    engine,
    caches,
    ingestMs,
    ingestCpuMs,
    promoteMs,
    root,
    env: { XDG_STATE_HOME: join(root, "state") },
    closeEngine: () => engine.close(),
    close: async () => {
      await engine.close().catch(() => {});
      await rm(root, { recursive: true, force: true });
    },
  };
};
