import { list, modelName, oneOf, section, text, whole } from "../base/option.ts";

export const knowledgeSections = [
  section("mcp.kb", "Knowledge bases: versioned collections of documents.", {
    data_dir: text(
      ".llmc/kb",
      "any",
      "Folder of the embedded store, relative to the workspace. It has to be the user's own, and nothing else may lie in it: no tool and no command in a sandbox reaches it.",
      { path: "state folder", restart: true },
    ),
    store: oneOf(
      ["sqlite", "postgres"],
      "sqlite",
      "any",
      "Where collections are kept: sqlite is one file in data_dir; postgres is a server that many machines share.",
      { restart: true },
    ),
    store_url_env: text(
      "",
      "any",
      "Variable of the environment that holds the URL of the PostgreSQL server (postgres://…).",
      { restart: true },
    ),
    embedder: oneOf(
      ["static", "onnx"],
      "static",
      "any",
      "What makes the vectors of passages: static is built in; onnx is the local model that mcp.rag.embedder_model names, which has to be installed.",
      { restart: true },
    ),
    flows: text(
      "",
      "any",
      "Folder of declared flows (*.toml, *.json), relative to the workspace. Empty means none.",
      { path: "config" },
    ),
    private_hosts: list(
      [],
      "additions",
      "Hosts (host or host:port) that documents may be read from although their address is private.",
    ),
    answer_model: modelName(
      "Model that puts answers of kb_answer into its own words, each sentence checked against its source; empty: sentences of the documents.",
    ),
    min_recall_percent: whole(
      0,
      0,
      100,
      "less",
      "A version that finds fewer of the documents its question set asks for is not promoted.",
    ),
    max_drop_percent: whole(
      5,
      0,
      100,
      "more",
      "A version whose nDCG is lower than the active one's by more than this is not promoted.",
    ),
    index_memory_mb: whole(
      1024,
      16,
      1_048_576,
      "more",
      "Memory for indexes of versions that are asked about; those that were asked about longest ago go first. One version alone may take more.",
    ),
    max_document_mb: whole(32, 1, 1024, "more", "Larger documents are left out, and reported."),
    document_timeout_seconds: whole(
      60,
      1,
      3600,
      "more",
      "Time for reading one document; one that takes longer is reported.",
    ),
  }),
] as const;
