import { looksBinary, plainText, splitLines } from "../text/lines.ts";
import { fits } from "./budget.ts";
import type { Enriched, EnrichLimits, Ran } from "./contract.ts";
import { headAndTail } from "./head-and-tail.ts";

/** Share of the budget that stderr may take from stdout. */
const STDERR_SHARE = 0.4;

export const summarizeLongText = (
  text: string,
  limits: EnrichLimits,
): { text: string; truncated: boolean } => {
  if (looksBinary(text)) {
    return { text: `[binary, about ${text.length} bytes, not shown]`, truncated: true };
  }
  return headAndTail(splitLines(plainText(text)), limits, { head: 0.5, errors: true });
};

/** A shorter stderr if it is too long; undefined if it can stay. */
export const summarizeLongStderr = (stderr: string, limits: EnrichLimits): string | undefined => {
  const share = { ...limits, maxTokens: Math.floor(limits.maxTokens * STDERR_SHARE) };
  return fits(stderr, share) ? undefined : summarizeLongText(stderr, share).text;
};

/** For every program that has no enricher of its own: only a text that is too long is touched. */
export const summarizeAnyProgram = (ran: Ran, limits: EnrichLimits): Enriched | undefined => {
  const stderr = summarizeLongStderr(ran.stderr, limits);
  if (stderr === undefined && fits(ran.stdout, limits)) return undefined;
  const summary = fits(ran.stdout, limits)
    ? { text: ran.stdout, truncated: false }
    : summarizeLongText(ran.stdout, limits);
  return {
    text: summary.text,
    ...(stderr === undefined ? {} : { stderr }),
    matchCount: null,
    truncated: summary.truncated || stderr !== undefined,
  };
};
