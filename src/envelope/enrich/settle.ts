import { shorten, splitLines } from "../text/lines.ts";
import { estimateTokens } from "../text/token-estimate.ts";
import { tellLongStderr } from "./any-program.ts";
import { countFitting, fits } from "./budget.ts";
import type { Enriched, EnrichLimits, Ran } from "./contract.ts";

/** A summary that leaves something out also names a handle, whose tokens must be saved too. */
const HANDLE_TOKENS = 40;

const CUT = "[more left out]";

/** No enricher may exceed the budget, whatever its input. */
const bound = (told: Enriched, limits: EnrichLimits): Enriched => {
  if (fits(told.text, limits)) return told;
  const lines = splitLines(told.text).map((line) => shorten(line));
  const shown = countFitting(lines, limits.maxTokens - 10);
  return { ...told, text: [...lines.slice(0, shown), CUT].join("\n"), truncated: true, keepsAll: false };
};

const boundStderr = (ran: Ran, told: Enriched, limits: EnrichLimits): Enriched => {
  const stderr = tellLongStderr(told.stderr ?? ran.stderr, limits);
  return stderr === undefined ? told : { ...told, stderr, truncated: true, keepsAll: false };
};

/** Takes a summary only where it is cheaper than the output itself; what was counted is kept either way. */
export const settle = (ran: Ran, told: Enriched, limits: EnrichLimits): Enriched | undefined => {
  const raw = estimateTokens(ran.stdout);
  const rawStderr = estimateTokens(ran.stderr);
  const bounded = bound(told, limits);
  const cost = estimateTokens(bounded.text) + (bounded.truncated ? HANDLE_TOKENS : 0);
  // A summary of both streams is compared with the cost of both.
  const isCheaper = cost < raw + (told.stderr === undefined ? 0 : rawStderr - estimateTokens(told.stderr));
  if (isCheaper) return boundStderr(ran, bounded, limits);
  const { matchCount, tests } = told;
  const plain = { text: ran.stdout, matchCount, truncated: false, ...(tests === undefined ? {} : { tests }) };
  const settled = boundStderr(ran, plain, limits);
  return settled.stderr === undefined && matchCount === null && tests === undefined ? undefined : settled;
};
