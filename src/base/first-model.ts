/** A model that runs on this machine, for those who have none yet. */
const MODEL = "ollama_chat/qwen3:8b";

/** How a first model for analyses is configured: exact commands and lines, for a refusal and for the help. */
export const FIRST_MODEL = {
  pull: "ollama pull qwen3:8b",
  once: `llmc rlm query "TASK" --file FILE --set mcp.rlm.root_model=${MODEL}`,
  lines: ["[mcp.rlm]", `root_model = "${MODEL}"`],
  trust: "llmc trust",
} as const;
