import type { UsageRecord } from "../host/state/usage/usage.ts";
import { commandHash, commandText, labelOf } from "./command-label.ts";
import type { Session } from "./contract.ts";
import type { Output } from "./output.ts";
import type { EnvelopeCall } from "./port.ts";
import type { EnvelopeSettings } from "./settings.ts";
import type { Shown } from "./shown.ts";
import { cutToTokens } from "./text/page.ts";
import { estimateTokens } from "./text/token-estimate.ts";

const MAX_KEPT_OUTPUT_TOKENS = 16_384;

/** What is recorded of a command before its result is known. */
export const recordOf = (
  command: EnvelopeCall["command"],
  session: Session,
  { logCommands }: Pick<EnvelopeSettings, "logCommands">,
): Omit<UsageRecord, "latencyMs" | "mode"> => ({
  agent: session.agentId,
  session: session.sessionId,
  owner: session.owner,
  model: session.model,
  budgetProfile: session.budgetProfile ?? "",
  command: labelOf(command),
  lineHash: commandHash(command),
  line: logCommands ? commandText(command) : null,
  output: null,
  exitCode: null,
  errorCode: null,
  rawBytes: 0,
  shownBytes: 0,
  rawTokens: 0,
  shownTokens: 0,
});

/** Tokens of the whole output; if only a part was kept, extrapolated from it by size. */
const rawTokensOf = (output: Output): number => {
  const stdout = output.stdout(false);
  const stderr = output.stderr();
  const tokens = estimateTokens(stdout) + estimateTokens(stderr);
  const seen = Buffer.byteLength(stdout) + Buffer.byteLength(stderr);
  return output.isLong && seen > 0 ? Math.round((tokens * output.bytes) / seen) : tokens;
};

/** The figures of its result. */
export const figuresOf = (
  shown: Shown,
  output: Output,
  { keepOutput }: Pick<EnvelopeSettings, "keepOutput">,
) => {
  const shownTokens = estimateTokens(shown.stdout) + estimateTokens(shown.stderr);
  return {
    output: keepOutput ? cutToTokens(`${shown.stdout}${shown.stderr}`, MAX_KEPT_OUTPUT_TOKENS).text : null,
    mode: shown.mode,
    rawBytes: output.bytes,
    shownBytes: Buffer.byteLength(shown.stdout) + Buffer.byteLength(shown.stderr),
    rawTokens: shown.truncated || shown.mode === "enriched" ? rawTokensOf(output) : shownTokens,
    shownTokens,
  };
};
