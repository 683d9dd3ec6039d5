import { availableParallelism } from "node:os";
import { LlmcError } from "../base/error.ts";
import type { Loaded } from "../config/load.ts";
import type { UserFolders } from "../config/user-folders.ts";
import { tokenCounter } from "../host/os/token-counter.ts";
import type { WithheldFiles } from "../host/reach/withheld-files.ts";
import type { Files } from "../host/read/files.ts";
import type { Log } from "../observe/log.ts";
import { createCallerRetrieval } from "../retrieve/caller-retrieval.ts";
import { createThreadRetrieval } from "../retrieve/thread-retrieval.ts";
import { ownPaths } from "./configured-paths.ts";

interface RetrievalWiring {
  readonly root: string;
  readonly config: () => Loaded["config"];
  readonly folders: UserFolders;
  readonly files: Files;
  readonly withheldFiles: WithheldFiles;
  readonly log: Log;
}

/** Each thread holds its grammars, up to 350 MB with many languages; four keep a large tree under a gigabyte. */
const MAX_INDEX_THREADS = 4;

/** A longer guide for agents is cut. */
const MAX_GUIDE = { offsetLines: 0, maxLines: 5000, maxBytes: 262_144 };

const createIndex = ({ root, config, folders, withheldFiles, log }: RetrievalWiring) => {
  const { embedder, embedder_model: model } = config().mcp.rag;
  return createThreadRetrieval({
    workspace: root,
    userState: folders.state,
    settings: () => {
      const { tools, rag, request_timeout_seconds: timeoutSeconds } = config().mcp;
      return {
        roots: tools.allowed_roots,
        denylist: tools.denylist_globs,
        closed: ownPaths(config(), root, folders),
        withheldFiles: withheldFiles.keys(),
        maxFileBytes: rag.max_file_kb * 1024,
        watch: rag.watch,
        waitMs: timeoutSeconds * 1000,
        threads: rag.index_threads || Math.min(MAX_INDEX_THREADS, availableParallelism()),
      };
    },
    onWarning: (reason) => log.warn({ reason }, "index"),
    onnx: embedder === "onnx" ? { workspace: root, model } : undefined,
  });
};

/** The index, and retrieval over it within what the configuration allows a caller. */
export const createRetrieval = (parts: RetrievalWiring) => {
  const index = createIndex(parts);
  const retrieval = createCallerRetrieval({
    engine: index,
    limits: () => {
      const { top_k: topK, token_budget: tokenBudget, default_scope: defaultScope } = parts.config().mcp.rag;
      return { topK, tokenBudget, defaultScope };
    },
    readText: async (path, signal) => {
      try {
        return (await parts.files.readText(path, MAX_GUIDE, signal)).text;
      } catch (thrown) {
        if (thrown instanceof LlmcError && thrown.code !== "cancelled") return undefined;
        throw thrown;
      }
    },
    countTokens: tokenCounter,
  });
  return { retrieval, close: () => index.close() };
};
