import type { TrustedExecutable } from "../host/run/contract.ts";
import type { ProgramEnd } from "../host/run/line/contract.ts";
import type { ShownQuarantine } from "../host/run/scan/quarantined.ts";
import type { Tier } from "../host/run/tiers/contract.ts";
import type { EnvelopeDocument, Session } from "./contract.ts";
import type { Enriched } from "./enrich/contract.ts";
import type { RealOutput } from "./real-output.ts";

export interface EnvelopeCall {
  /** A command line as people write it, or the program and its arguments, taken as they are. */
  readonly command: string | readonly string[];
  /** As the caller wrote it; by default, the workspace. */
  readonly cwd?: string | undefined;
  /** By default `mcp.te.timeout` or `mcp.tools.exec_timeout`, at most `mcp.tools.max_exec_timeout`. */
  readonly timeoutSeconds?: number | undefined;
  /** No summary: the output as it is, with the whole behind a handle where it is long. */
  readonly raw?: boolean | undefined;
  /** The program, where it is a script that the operator made a tool of. */
  readonly executable?: TrustedExecutable | undefined;
}

export interface EnvelopeResult {
  readonly document: EnvelopeDocument;
  /** What the command wrote, bounded; the document holds what a model needs of it. */
  readonly output: RealOutput;
  /** Of what is shown, only details are left out. */
  readonly keepsAll: boolean;
  /** The report of a test run. */
  readonly tests: Enriched["tests"];
  /** Null where nothing was started, as for `te --handle`, or nothing confines it. */
  readonly tier: Tier | null;
  readonly durationMs: number;
  readonly timedOut: boolean;
  /** For one that ran too long, or asked for too long a time: the limit, and what raises it. */
  readonly deadlineNote?: string | undefined;
  /** For one that failed because commands have no network, or do not see a file; and what a program leaves out here. */
  readonly failureNote?: string | undefined;
  /** Protected names that were created during the run. */
  readonly quarantined: ShownQuarantine;
  /** The limit of memory or processes that was hit. */
  readonly limit?: "memory" | "processes" | undefined;
  /** Every program of the line with its own exit code. */
  readonly programs: readonly ProgramEnd[];
}

/** Runs commands and summarizes their results in few tokens. */
export interface Envelope {
  run(call: EnvelopeCall, session: Session, signal?: AbortSignal): Promise<EnvelopeResult>;
}
