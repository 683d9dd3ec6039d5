import { flag, section, text, whole } from "../base/option.ts";
import { TE_DEFAULTS } from "./settings.ts";

export const envelopeSections = [
  section("mcp.te", "The Tool Envelope around commands.", {
    enabled: flag(
      TE_DEFAULTS.enabled,
      "Send commands through the envelope; false runs them directly: no summaries, no telemetry, no budget.",
    ),
    // A program in the workspace could be written by a client and would then run outside the gate (REQ-D16).
    script_path: text("scripts/te", "An envelope program of your own, used where it exists.", {
      planned: true,
    }),
    json_mode: flag(true, "Ask that program for JSON.", { planned: true }),
    timeout: whole(
      TE_DEFAULTS.timeout,
      1,
      86_400,
      "Deadline of an enveloped command that names none, in seconds; mcp.tools.exec_timeout is the most.",
    ),
    passthrough_on_failure: flag(
      TE_DEFAULTS.passthrough_on_failure,
      "Give a command's plain output when the envelope's own part fails; false gives the error.",
    ),
    first_page_tokens: whole(
      TE_DEFAULTS.first_page_tokens,
      200,
      100_000,
      "What the first answer about a command may cost; the whole output is behind a handle.",
    ),
    session_token_budget: whole(
      TE_DEFAULTS.session_token_budget,
      0,
      1_000_000_000,
      "Tokens of command output that one token, connection or te session may be shown in a day; answers get shorter from 80 % on. 0: no cap.",
    ),
    log_commands: flag(
      TE_DEFAULTS.log_commands,
      "Keep whole command lines in the telemetry; otherwise only program and subcommand.",
    ),
    keep_output: flag(TE_DEFAULTS.keep_output, "Keep what was shown of each command in the telemetry."),
    retention_days: whole(TE_DEFAULTS.retention_days, 0, 36_500, "Days that telemetry is kept; 0 keeps all."),
  }),
] as const;
