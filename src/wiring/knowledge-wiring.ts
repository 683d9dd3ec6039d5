import { randomBytes, randomUUID } from "node:crypto";
import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import type { TimedCache } from "../base/caches.ts";
import { LlmcError, toLlmcError } from "../base/error.ts";
import { EXTRAS, missingExtra } from "../base/extras-table.ts";
import type { Loaded } from "../config/load.ts";
import type { UserFolders } from "../config/user-folders.ts";
import { openSecretKey } from "../host/own-files/secret-key.ts";
import type { Hit } from "../knowledge/api/contract.ts";
import type { Knowledge } from "../knowledge/api/port.ts";
import type { HitCache, KnowledgeEngine, KnowledgeParts } from "../knowledge/knowledge.ts";
import type { PassageEmbedder } from "../knowledge/search/passage-embedder.ts";
import type { SqlDriver } from "../knowledge/store/sql-store.ts";
import type { Log } from "../observe/log.ts";
import { openAnswerModel } from "./answer-model.ts";
import { createFlows, type FlowWiring } from "./flow-wiring.ts";
import type { ModelRecords } from "./rlm-wiring.ts";

export interface KnowledgeWiring {
  readonly root: string;
  readonly config: () => Loaded["config"];
  readonly folders: UserFolders;
  readonly flowDigests: FlowWiring["digests"];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  readonly cache?: TimedCache<readonly Hit[]> | undefined;
  /** Without it, no model is asked: text never goes to one unseen. */
  readonly models?: ModelRecords | undefined;
}

const NOTHING_KEPT: HitCache = { get: () => undefined, set: () => {} };

const cacheOf = (cache: KnowledgeWiring["cache"]): HitCache =>
  cache === undefined ? NOTHING_KEPT : { get: cache.peek, set: cache.put };

const noUrl = (): LlmcError =>
  new LlmcError("config_invalid", "mcp.kb.store is postgres, and there is no URL of a server.", {
    hint: "Name a variable of the environment in mcp.kb.store_url_env, and set it to postgres://USER:PASSWORD@HOST/DATABASE.",
  });

const openSharedDriver = async ({ config, env, log }: KnowledgeWiring): Promise<SqlDriver> => {
  const url = env[config().mcp.kb.store_url_env] ?? "";
  if (url === "") throw noUrl();
  const { createPostgresDriver } = await import("../knowledge/store/postgres-driver.ts").catch(
    (cause: unknown) => {
      throw missingExtra(EXTRAS.kbPostgres, cause);
    },
  );
  // The message could hold parts of the URL.
  const onError = (): void =>
    log.warn({}, "the connection to the PostgreSQL server of knowledge bases broke off");
  return createPostgresDriver({ url, key: "mcp.kb.store_url_env", onError });
};

const openEmbeddedDriver = async ({ root, config, folders, log }: KnowledgeWiring): Promise<SqlDriver> => {
  const { createSqliteDriver } = await import("../knowledge/store/sqlite-driver.ts");
  return createSqliteDriver({
    workspace: root,
    userState: folders.state,
    folder: resolve(root, config().mcp.kb.data_dir),
    onWarning: (reason) => log.warn({ reason }, "knowledge bases"),
  });
};

const openStore = async (wiring: KnowledgeWiring) => {
  const { createSqlStore } = await import("../knowledge/store/sql-store.ts");
  const isShared = wiring.config().mcp.kb.store === "postgres";
  const driver = await (isShared ? openSharedDriver(wiring) : openEmbeddedDriver(wiring));
  // Containers of several machines have their workspaces at the same path: what pins belong to is known by the user's key.
  const workspace = isShared
    ? openSecretKey(wiring.folders.state).sign("pins", wiring.root).toString("hex", 0, 16)
    : wiring.root;
  return createSqlStore({ driver, workspace, now: () => Date.now() });
};

const MAX_MODEL_THREADS = 4;

/** The built-in tables, or the local model; one that cannot be loaded fails every call with what is missing. */
const openEmbedder = async ({ root, config }: KnowledgeWiring): Promise<PassageEmbedder> => {
  const { createPassageEmbedder, createModelEmbedder } = await import(
    "../knowledge/search/passage-embedder.ts"
  );
  const { rag, kb } = config().mcp;
  if (kb.embedder === "static") return createPassageEmbedder();
  const { createOnnxModel } = await import("../retrieve/embed/onnx-model.ts");
  const threads = rag.index_threads || Math.min(MAX_MODEL_THREADS, availableParallelism());
  const model = createOnnxModel({ workspace: root, model: rag.embedder_model }, threads);
  try {
    return createModelEmbedder(await model.open(), model.close);
  } catch (thrown) {
    await model.close();
    throw thrown;
  }
};

const createWith = async (
  wiring: KnowledgeWiring,
  openModel: KnowledgeParts["openModel"],
): Promise<KnowledgeEngine> => {
  const embedder = await openEmbedder(wiring);
  const [{ createKnowledge }, { loadNearestRows }, store] = await Promise.all([
    import("../knowledge/knowledge.ts"),
    import("../retrieve/embed/nearest-rows.ts"),
    openStore(wiring),
  ]).catch(async (thrown: unknown) => {
    await embedder.close();
    throw thrown;
  });
  const { config, cache } = wiring;
  return createKnowledge({
    store,
    embedder,
    nearestRows: loadNearestRows(),
    cache: cacheOf(cache),
    maxIndexBytes: () => config().mcp.kb.index_memory_mb * 1024 * 1024,
    // Half of what a call has: the other half is for the answer.
    maxAskMs: () => config().mcp.request_timeout_seconds * 500,
    openModel,
    modelLimits: () => {
      const { max_output_tokens: maxOutputTokens, timeout_seconds: seconds } = config().mcp.llm;
      return { maxOutputTokens, timeoutMs: seconds * 1000 };
    },
    flows: createFlows({
      ...wiring,
      digests: wiring.flowDigests,
      onBroken: ({ file, error }) =>
        wiring.log.warn({ file, reason: error.message }, "a flow cannot be used"),
    }),
    holder: randomUUID(),
    onIndexNotSaved: (error) =>
      wiring.log.warn(
        { code: toLlmcError(error).code },
        "an index of a knowledge base could not be saved, and is built again at each start",
      ),
    newCode: () => randomBytes(9).toString("base64url"),
    now: () => Date.now(),
  });
};

/** A plain object: a port that stands for others (`lazyPort`) would be taken for a promise. */
const portOf = (open: () => Promise<KnowledgeEngine>): Knowledge => ({
  hybridSearch: async (request, caller) => (await open()).hybridSearch(request, caller),
  answer: async (request, call) => (await open()).answer(request, call),
  getDocument: async (request, caller) => (await open()).getDocument(request, caller),
  resolveCitations: async (ids, caller) => (await open()).resolveCitations(ids, caller),
  listCollections: async (filters, caller) => (await open()).listCollections(filters, caller),
  stats: async (request, caller) => (await open()).stats(request, caller),
  composeFlow: async (request, caller, steps) => (await open()).composeFlow(request, caller, steps),
});

/** Knowledge bases, opened when they are first asked for. */
export const createKnowledgeEngine = (wiring: KnowledgeWiring) => {
  let opening: Promise<KnowledgeEngine> | undefined;
  const open = (): Promise<KnowledgeEngine> => {
    opening ??= createWith(wiring, openAnswerModel(wiring)).catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };
  return {
    port: portOf(open),
    open,
    close: async (): Promise<void> => {
      const engine = await opening?.catch(() => undefined);
      await engine?.close();
    },
  };
};
