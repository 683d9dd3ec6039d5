import type { Argv, ProgramEnd } from "../host/run/line/contract.ts";
import type { Tier } from "../host/run/tiers/contract.ts";
import type { Session } from "./contract.ts";
import type { Output } from "./output.ts";
import type { EnvelopeCall } from "./port.ts";

export interface LaunchCall {
  readonly command: EnvelopeCall["command"];
  readonly cwd: string | undefined;
  /** Undefined: the gate's own. */
  readonly timeoutSeconds: number | undefined;
  readonly session: Session;
  readonly onOutput: Output["onOutput"];
}

export interface Launched {
  /** Undefined where a signal ended it. */
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
  readonly timedOut: boolean;
  readonly tier: Tier | null;
  readonly setAside: readonly string[];
  /** The limit of memory or processes that was hit. */
  readonly limit?: "memory" | "processes" | undefined;
  /** Every program that ran. */
  readonly programs: readonly ProgramEnd[];
  /** The one program whose output this is; undefined where several had a part in it. */
  readonly sole: Argv | undefined;
}

/** Runs a command to its end: through the gate for a tool, directly for a person. */
export type Launch = (call: LaunchCall, signal: AbortSignal | undefined) => Promise<Launched>;
