import type { LineOutcome } from "../host/run/line/contract.ts";
import type { ShownQuarantine } from "../host/run/scan/quarantined.ts";
import type { Session } from "./contract.ts";
import type { Output } from "./output.ts";
import type { EnvelopeCall } from "./port.ts";

export interface LaunchCall {
  readonly command: EnvelopeCall["command"];
  readonly cwd: string | undefined;
  /** Undefined: the gate's own. */
  readonly timeoutSeconds: number | undefined;
  readonly session: Session;
  readonly executable?: EnvelopeCall["executable"];
  readonly onOutput: Output["onOutput"];
}

export interface Launched extends Omit<LineOutcome, "quarantined" | "limit"> {
  /** Protected names that were created during the run. */
  readonly quarantined: ShownQuarantine;
  /** The limit of memory or processes that was hit. */
  readonly limit?: LineOutcome["limit"];
}

/** Runs a command to its end: through the gate for a tool, directly for a person. */
export type Launch = (call: LaunchCall, signal: AbortSignal | undefined) => Promise<Launched>;
