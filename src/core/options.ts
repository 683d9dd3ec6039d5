import { flag, list, oneOf, section, text, whole } from "../base/option.ts";

export const MODES = ["classic", "hybrid", "code_execution"] as const;

export const coreSections = [
  section("mcp", "What the server offers and how much it does at once.", {
    enabled: flag(true, true, "Whether the server may start; with false, `llmc serve` refuses.", {
      restart: true,
    }),
    config_version: text(
      "v0",
      "never",
      "Version of this file's layout; `/health` and the health tool report it.",
    ),
    mode: oneOf(
      MODES,
      "hybrid",
      "never",
      "Which tools a client sees: classic (all), hybrid (a small promoted set) or code_execution (programs call the tools). Without a config file the mode is hybrid; a file that names no mode means classic.",
    ),
    max_concurrent_requests: whole(
      100,
      1,
      10_000,
      "more",
      "Maximum number of calls that run at the same time; further calls wait in a bounded queue.",
    ),
    request_timeout_seconds: whole(
      30,
      1,
      3600,
      "more",
      "Deadline of a call, unless the tool has one of its own.",
    ),
  }),
  section("mcp.hybrid", "The hybrid mode's tool list.", {
    promoted_tools: list(
      ["linux_fs_write", "linux_fs_edit", "run_cmd", "rag_search"],
      "never",
      "Tools listed in addition to read_file, list_dir and 00_INIT. A name that matches no tool is left out with a warning.",
    ),
    include_execute_code: flag(true, true, "Also list execute_code, on machines that can isolate it."),
    bootstrap_budget_warning: whole(
      15_000,
      0,
      10_000_000,
      "more",
      "Warn when the schemas of the listed tools exceed this many characters.",
    ),
  }),
  section("mcp.code_execution", "The code_execution mode, and the bounds of execute_code.", {
    enabled: flag(false, "never", "Selects code_execution mode if the file does not set a mode."),
  }),
  section("mcp.session", "Who is calling, if the client does not say.", {
    default_agent_id: text(
      "unknown",
      "any",
      "Agent recorded for a call when neither the transport nor the call names one; the te of a terminal is recorded as te unless this is set.",
    ),
    default_model: text(
      "unknown",
      "any",
      "Model recorded for a call when neither the transport nor the call names one.",
    ),
    default_budget_profile: text(
      "",
      "any",
      "Budget profile of a call that names none (llmc/budget_profile in _meta); see mcp.te.budget_profiles.",
    ),
  }),
  section("mcp.limits", "Bounds on what comes in and goes out.", {
    max_queued_requests: whole(
      1000,
      0,
      100_000,
      "more",
      "Maximum number of calls of one principal that wait to run; any further call is refused as busy.",
    ),
    max_output_bytes: whole(
      262_144,
      1024,
      104_857_600,
      "more",
      "Maximum size of one result's text; the rest is cut, with a note on how to read on.",
    ),
  }),
  section("mcp.tools", "What tools may touch.", {
    custom_modules: text(
      "",
      "any",
      "Folder of custom modules that add tools, prompts and resources, relative to the workspace. Empty means none.",
      { path: "modules" },
    ),
    executables: text(
      "",
      "any",
      "Folder of scripts that become tools, relative to the workspace. Empty means none.",
      { path: "modules" },
    ),
    text_format: oneOf(
      ["auto", "json"],
      "auto",
      "never",
      "Format of results for the model: auto uses the most compact faithful form, json always uses JSON.",
    ),
    publish_one_of: flag(
      false,
      "never",
      "Publish a schema's top-level oneOf, which some model APIs reject; it is enforced either way.",
    ),
  }),
  section("mcp.security", "Policy: who may do what, and when the user is asked.", {
    default_deny: flag(
      true,
      false,
      "What no policy permits is denied; false permits what no policy forbids.",
    ),
    escalation_prompts: flag(
      true,
      true,
      "Ask the user, through the client, for what only their consent is missing for; no answer means no.",
    ),
    max_questions_per_minute: whole(
      20,
      0,
      1000,
      "more",
      "Maximum number of such questions per minute and session; 0 asks none.",
    ),
    question_timeout_seconds: whole(
      120,
      1,
      600,
      "any",
      "How long such a question is waited for where the server waits (clients of the 2025 revisions); silence means no.",
    ),
    policy_files: list(
      ["~/.config/llmc/policies/*.cedar"],
      "removals",
      "Cedar policies that are in force besides the defaults; `*` may stand in the last part of a path. Files of a workspace may only forbid until it is trusted. ~/.config follows XDG_CONFIG_HOME.",
    ),
  }),
] as const;
