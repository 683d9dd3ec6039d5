import { shorten, splitLines } from "../text/lines.ts";
import { estimateTokens } from "../text/token-estimate.ts";
import { summarizeLongStderr } from "./any-program.ts";
import { countFitting, fits } from "./budget.ts";
import type { Enriched, EnrichLimits, Ran } from "./contract.ts";

/** A summary that leaves something out also names a handle, whose tokens must be saved too. */
const HANDLE_TOKENS = 40;

const CUT = "[more left out]";

/** No enricher may exceed the budget, whatever its input. */
const bound = (summary: Enriched, limits: EnrichLimits): Enriched => {
  if (fits(summary.text, limits)) return summary;
  const lines = splitLines(summary.text).map((line) => shorten(line));
  const shown = countFitting(lines, limits.maxTokens - 10);
  return { ...summary, text: [...lines.slice(0, shown), CUT].join("\n"), truncated: true, keepsAll: false };
};

const boundStderr = (ran: Ran, summary: Enriched, limits: EnrichLimits): Enriched => {
  const stderr = summarizeLongStderr(summary.stderr ?? ran.stderr, limits);
  return stderr === undefined ? summary : { ...summary, stderr, truncated: true, keepsAll: false };
};

/** Takes a summary only where it is cheaper than the output itself; what was counted is kept either way. */
export const settle = (ran: Ran, summary: Enriched, limits: EnrichLimits): Enriched | undefined => {
  const raw = estimateTokens(ran.stdout);
  const rawStderr = estimateTokens(ran.stderr);
  const bounded = bound(summary, limits);
  const cost = estimateTokens(bounded.text) + (bounded.truncated ? HANDLE_TOKENS : 0);
  // A summary of both streams is compared with the cost of both.
  const isCheaper =
    cost < raw + (summary.stderr === undefined ? 0 : rawStderr - estimateTokens(summary.stderr));
  if (isCheaper) return boundStderr(ran, bounded, limits);
  const { matchCount, tests } = summary;
  const plain = { text: ran.stdout, matchCount, truncated: false, ...(tests === undefined ? {} : { tests }) };
  const settled = boundStderr(ran, plain, limits);
  return settled.stderr === undefined && matchCount === null && tests === undefined ? undefined : settled;
};
