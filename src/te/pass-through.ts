import { allow } from "../envelope/allowance.ts";
import { budgetOf } from "../envelope/settings.ts";
import { recordOf } from "../envelope/telemetry.ts";
import { estimateTokens } from "../envelope/text/token-estimate.ts";
import { exitStatus } from "../host/run/contract.ts";
import { runThrough } from "../host/run/direct.ts";
import { printMessage } from "./print-message.ts";
import { directCall, type RunContext, type RunRequest } from "./run-context.ts";

/** How much of the output is kept to estimate its tokens. */
const SAMPLE_BYTES = 65_536;

/** Passes the command's output through unchanged, and counts it if that has no side effects. */
export const passThrough = async (request: RunRequest, context: RunContext): Promise<number> => {
  const { argv, raw } = request;
  const { session, config, state, streams } = context;
  const startedAt = performance.now();
  const { reserved } = await allow(session, {
    usage: state?.usage,
    budgetTokens: budgetOf(
      { sessionTokenBudget: config.te.session_token_budget, budgetProfiles: config.te.budget_profiles },
      session.budgetProfile,
    ),
    // The size is not known beforehand: what was shown is taken from the budget afterwards.
    usualTokens: 1,
    tolerate: (work) => work().catch(() => undefined),
  });
  const sample: Buffer[] = [];
  let sampled = 0;
  let bytes = 0;
  const outcome = await runThrough(directCall(request, context), (chunk) => {
    bytes += chunk.length;
    if (sampled >= SAMPLE_BYTES) return;
    sample.push(Buffer.from(chunk.subarray(0, SAMPLE_BYTES - sampled)));
    sampled += chunk.length;
  });
  if (outcome.failure !== undefined) printMessage(streams, `te: ${outcome.failure}`);
  const exitCode = exitStatus({ ...outcome, timedOut: false });
  const seen = Buffer.concat(sample);
  const tokens = Math.round((estimateTokens(seen.toString("utf8")) * bytes) / Math.max(1, seen.length));
  const counted = outcome.isCounted ? { bytes, tokens } : { bytes: null, tokens: null };
  const row = {
    ...recordOf(argv, session, { logCommands: config.te.log_commands }),
    mode: raw ? "raw" : "passthrough",
    exitCode,
    rawBytes: counted.bytes,
    shownBytes: counted.bytes,
    rawTokens: counted.tokens,
    shownTokens: counted.tokens,
    latencyMs: performance.now() - startedAt,
  };
  await state?.usage.record(row, reserved).catch(() => {});
  return exitCode;
};
