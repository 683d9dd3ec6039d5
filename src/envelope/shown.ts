import type { EnvelopeDocument } from "./contract.ts";
import { enrich, enricherFor } from "./enrich/all.ts";
import type { Enriched, Ran } from "./enrich/contract.ts";
import type { Output } from "./output.ts";
import { withoutProgress } from "./text/lines.ts";
import { cutToTokens } from "./text/page.ts";
import { estimateTokens } from "./text/token-estimate.ts";

export interface Shown {
  readonly mode: EnvelopeDocument["mode"];
  readonly stdout: string;
  readonly stderr: string;
  readonly matchCount: number | null;
  readonly truncated: boolean;
  /** Only details are left out, nothing that was listed or failed. */
  readonly keepsAll: boolean;
  readonly tests: Enriched["tests"];
}

/** Maximum number of tokens of unsummarized output in one answer: about what clients accept. */
export const PLAIN_TOKENS = 50_000;

/** Listings are shown from their start, without gaps. For other programs the end shows how the run ended. */
const LISTINGS = new Set(["grep", "find", "ls", "tree", "git"]);

/** The output as it is, from its beginning. stderr comes second and gets the rest of the tokens. */
export const plainPage = (output: Output, maxTokens: number, mode: Shown["mode"]): Shown => {
  const stdout = cutToTokens(output.stdout(false), maxTokens);
  const left = Math.max(Math.floor(maxTokens / 4), maxTokens - estimateTokens(stdout.text));
  const errors = output.stderr();
  const stderr = cutToTokens(mode === "raw" ? errors : withoutProgress(errors), left);
  return {
    mode,
    stdout: stdout.text,
    stderr: stderr.text,
    matchCount: null,
    truncated: output.isLong || stdout.truncated || stderr.truncated,
    keepsAll: false,
    tests: undefined,
  };
};

/** What a model needs first of an output. */
export const summarize = (
  ran: Omit<Ran, "stdout" | "stderr" | "cut">,
  output: Output,
  wasStopped: boolean,
  maxTokens: number,
): Shown => {
  const enricher = enricherFor(ran.argv);
  const stderr = withoutProgress(output.stderr());
  const stdout = output.stdout(enricher === undefined || !LISTINGS.has(enricher.name));
  const cut = output.isLong || wasStopped;
  const summary = enrich({ ...ran, stdout, stderr, cut }, { maxTokens });
  if (summary === undefined) return plainPage(output, maxTokens, "passthrough");
  return {
    mode: enricher === undefined ? "passthrough" : "enriched",
    // The summary ends with a newline if the output did.
    stdout: stdout.endsWith("\n") && !/(^|\n)$/.test(summary.text) ? `${summary.text}\n` : summary.text,
    stderr: summary.stderr ?? stderr,
    matchCount: summary.matchCount,
    truncated: summary.truncated || output.isLong,
    keepsAll: summary.keepsAll === true && !output.isLong,
    tests: summary.tests,
  };
};
