import { flag, list, section, whole } from "../base/option.ts";

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
      "Timeout in seconds of an enveloped command that sets none; mcp.tools.exec_timeout applies where it is smaller.",
    ),
    passthrough_on_failure: flag(
      true,
      true,
      "Return the command's plain output if the envelope itself fails; false returns the error.",
    ),
    first_page_tokens: whole(
      2000,
      200,
      100_000,
      "more",
      "Maximum number of tokens of the first answer about a command, and twice that where it ends in head or tail with a number of lines; the whole output is behind a handle.",
    ),
    session_token_budget: whole(
      1_000_000,
      0,
      1_000_000_000,
      "more",
      "Tokens of command output that one access token, connection or te session may receive in a day; answers get shorter once 80 % are used. 0 means no limit.",
      { unlimited: 0 },
    ),
    budget_profiles: list(
      [],
      "any",
      'Budgets by profile, as "NAME TOKENS": calls of this profile (llmc/budget_profile in _meta, or mcp.session.default_budget_profile) share so many tokens of session_token_budget.',
    ),
    log_commands: flag(
      false,
      true,
      "Record whole command lines in the telemetry; otherwise only the program and its subcommand.",
    ),
    keep_output: flag(false, true, "Record the shown output of each command in the telemetry."),
    retention_days: whole(
      90,
      0,
      36_500,
      "less",
      "Number of days that telemetry is kept; 0 keeps it for ever.",
      {
        unlimited: 0,
      },
    ),
  }),
] as const;
