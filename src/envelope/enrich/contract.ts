import type { TestReport } from "../test-runners/contract.ts";

/** A command that has ended, as an enricher sees it. */
export interface Ran {
  /** As the caller wrote it; the first argument is the program's name without its folder. */
  readonly argv: readonly [string, ...string[]];
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
  /** Where the program ran in a workspace: paths below it are shown from there. */
  readonly root?: string | undefined;
  /** More was written than was kept: counts are lower bounds. */
  readonly cut: boolean;
}

export interface EnrichLimits {
  /** Maximum number of tokens of the summary; the whole output is behind a handle. */
  readonly maxTokens: number;
}

/** What a model needs first. */
export interface Enriched {
  /** Replaces stdout. */
  readonly text: string;
  /** Replaces stderr; if left out, stderr stays as it is. */
  readonly stderr?: string;
  /** How many of what the command lists there are: matches, entries, commits, failing tests. */
  readonly matchCount: number | null;
  /** Something of the output is not in `text`, so a handle to the whole is needed. */
  readonly truncated: boolean;
  /** Where something is left out: only details of what is shown, and nothing that was listed or failed. */
  readonly keepsAll?: boolean;
  /** The report of a test run. */
  readonly tests?: TestReport;
}

/** One way of telling a program's output in fewer tokens. One file and its test each; `enrich/all.ts` is the list. */
export interface Enricher {
  readonly name: string;
  /** Program names that it knows, such as `grep` and `rg`. */
  readonly programs: readonly string[];
  /** Undefined: it does not handle this call, and the output passes through as it is. */
  enrich(ran: Ran, limits: EnrichLimits): Enriched | undefined;
}
