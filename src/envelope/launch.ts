import { constants } from "node:os";
import type { Tier } from "../host/run/tiers/contract.ts";
import { parseCommandLine } from "../policy/command-line.ts";
import type { Session } from "./contract.ts";
import type { Output } from "./output.ts";
import type { EnvelopeCall } from "./port.ts";

export type Argv = readonly [string, ...string[]];

export interface LaunchCall {
  readonly argv: Argv;
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
}

/** Runs a command to its end: through the gate for a tool, directly for a person. */
export type Launch = (call: LaunchCall, signal: AbortSignal | undefined) => Promise<Launched>;

/** What a shell reports: 128 and the signal's number; 124 is what timeout(1) answers at the deadline. */
export const exitStatus = ({
  exitCode,
  signal,
  timedOut,
}: Pick<Launched, "exitCode" | "signal" | "timedOut">): number => {
  if (timedOut) return 124;
  const numbers: Readonly<Record<string, number>> = constants.signals;
  return exitCode ?? 128 + (numbers[signal ?? ""] ?? 0);
};

export const argvOf = (command: EnvelopeCall["command"]): Argv => {
  if (typeof command === "string") return parseCommandLine(command);
  const [program = "", ...rest] = command;
  return [program, ...rest];
};
