import { decimal, flag, list, modelName, oneOf, section, text, whole } from "../base/option.ts";
import { GUEST_LANGUAGES } from "./guest-languages.ts";

export const rlmSections = [
  section("mcp.rlm", "Recursive Language Model analyses.", {
    enabled: flag(true, true, "Offer rlm_query."),
    root_model: modelName(
      "Model that writes the programs of an analysis: ollama_chat/NAME, openai/NAME, anthropic/NAME, gemini/NAME, or sampling/client for the client's own model.",
      "or the client's",
    ),
    sub_model: modelName(
      "Model that reads parts of the context for it; if empty, the same one.",
      "or the client's",
    ),
    allow_path: flag(true, true, "Accept a file path as well as raw context."),
    allow_absolute_paths: flag(false, true, "Accept absolute paths."),
    denylist_globs: list(
      ["**/.env", "**/*.pem", "**/id_rsa*", "**/*credential*", "**/*token*"],
      "removals",
      "Files that are never analysed, in addition to mcp.tools.denylist_globs.",
    ),
    default_max_bytes: whole(262_144, 1, 1_073_741_824, "more", "Maximum number of bytes read from a path."),
    max_bytes_limit: whole(
      104_857_600,
      1,
      1_073_741_824,
      "more",
      "The largest max_bytes that a call may ask for, and the largest context.",
    ),
    default_timeout_s: whole(300, 1, 86_400, "more", "Timeout of one analysis, in seconds."),
    max_budget_usd: decimal(10, 0.01, 1000, "more", "The largest budget_usd that a call may ask for."),
    max_tokens: whole(
      2_000_000,
      1000,
      1_000_000_000,
      "more",
      "Tokens of one analysis, input and output of all its calls together.",
    ),
    max_calls: whole(500, 1, 100_000, "more", "Model calls of one analysis, those that fail included."),
    max_depth: whole(1, 0, 5, "more", "How deep analyses may start analyses of their own."),
    max_parallel: whole(16, 1, 100, "more", "Model calls of one analysis that are under way at once."),
    guest_language: oneOf(
      GUEST_LANGUAGES,
      "javascript",
      "never",
      "Language of the programs that the model writes; python needs the package pyodide.",
    ),
    allow_model_override: flag(
      false,
      true,
      "Let a call choose its model; in the restricted profile no call may.",
    ),
    allow_unknown_price: flag(
      false,
      true,
      "Use models whose price is not known; budget_usd does not hold for them.",
    ),
    allow_partial: flag(
      false,
      true,
      "Give the model's last draft, marked as partial, where a limit ends an analysis.",
    ),
    cassette: oneOf(
      ["off", "record", "replay", "strict"],
      "off",
      "any",
      "record: keep every answer of the models in cassette_file; replay: answer from it, without any connection; strict: as replay, and the run has to match a recorded one (trajectory); with a single recorded analysis, every recorded answer has to be used.",
    ),
    cassette_file: text("", "any", "The file of mcp.rlm.cassette, which no tool reaches.", {
      path: "state file",
    }),
    trace_enabled: flag(false, true, "Write a trace of every analysis, which llmc rlm view shows."),
    trace_dir: text(
      "",
      "any",
      "Folder of the traces, which no tool reaches; if empty, a folder in your state folder.",
      {
        path: "state folder",
      },
    ),
    trace_max_files: whole(
      1000,
      1,
      1_000_000,
      "less",
      "Traces that are kept in the folder; the oldest are deleted when another one is written.",
    ),
    trace_max_days: whole(
      30,
      0,
      36_500,
      "less",
      "Traces older than this are deleted when another one is written; 0 keeps them.",
      { unlimited: 0 },
    ),
    trace_content: flag(
      false,
      true,
      "Write tasks, programs, outputs, prompts and answers into traces; otherwise only their sizes and digests.",
    ),
  }),
] as const;
