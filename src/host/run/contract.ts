import { constants } from "node:os";
import type { CommandRequest, SandboxProfile, SetAside, Tier } from "./tiers/contract.ts";

export interface CommandOutcome {
  /** Undefined where a signal ended it; bubblewrap, like a shell, tells a signal as 128 + its number. */
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
  readonly timedOut: boolean;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  /** What was written, also beyond the bound. */
  readonly stdoutBytes: number;
  readonly stderrBytes: number;
  readonly durationMs: number;
  readonly tier: Tier;
  /** The limit that it ran into. */
  readonly limit?: "memory" | "processes" | undefined;
  /**
   * Protected names that were created during the run, with the names to which they were moved so that nothing reads
   * them.
   */
  readonly setAside: readonly SetAside[];
}

/** What a shell reports: 128 and the signal's number; 124 is what timeout(1) answers at the deadline. */
export const exitStatus = ({
  exitCode,
  signal,
  timedOut,
}: Pick<CommandOutcome, "exitCode" | "signal" | "timedOut">): number => {
  if (timedOut) return 124;
  const numbers: Readonly<Record<string, number>> = constants.signals;
  return exitCode ?? 128 + (numbers[signal ?? ""] ?? 0);
};

export interface ReadyCommand {
  readonly request: CommandRequest;
  readonly profile: SandboxProfile;
}

/** Runs one judged command to its end, with its whole tree, in the best tier that this machine has. */
export interface CommandRunner {
  run(request: CommandRequest, profile: SandboxProfile, signal?: AbortSignal): Promise<CommandOutcome>;
  /** The programs of a pipeline, at the same time. If one cannot be started, the others are ended. */
  runTogether(commands: readonly ReadyCommand[], signal?: AbortSignal): Promise<readonly CommandOutcome[]>;
  /** The tier that is in force, found out once by trying. */
  tier(): Promise<Tier>;
}
