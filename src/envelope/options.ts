import { flag, section, whole } from "../base/option.ts";

export const envelopeSections = [
  section("mcp.te", "The Tool Envelope around commands.", {
    enabled: flag(
      true,
      false,
      "Send commands through the envelope; false runs them directly: no summaries, no telemetry, no budget.",
    ),
    timeout: whole(
      30,
      1,
      86_400,
      "more",
      "Deadline of an enveloped command that names none, in seconds; mcp.tools.exec_timeout is the most.",
    ),
    passthrough_on_failure: flag(
      true,
      true,
      "Give a command's plain output when the envelope's own part fails; false gives the error.",
    ),
    first_page_tokens: whole(
      2000,
      200,
      100_000,
      "more",
      "What the first answer about a command may cost; the whole output is behind a handle.",
    ),
    session_token_budget: whole(
      1_000_000,
      0,
      1_000_000_000,
      "more",
      "Tokens of command output that one token, connection or te session may be shown in a day; answers get shorter from 80 % on. 0: no cap.",
      { unlimited: 0 },
    ),
    log_commands: flag(
      false,
      true,
      "Keep whole command lines in the telemetry; otherwise only program and subcommand.",
    ),
    keep_output: flag(false, true, "Keep what was shown of each command in the telemetry."),
    retention_days: whole(90, 0, 36_500, "less", "Days that telemetry is kept; 0 keeps all.", {
      unlimited: 0,
    }),
  }),
] as const;
