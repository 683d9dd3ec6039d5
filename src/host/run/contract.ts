import { constants } from "node:os";
import { LlmcError } from "../../base/error.ts";
import type { ReachedLimit } from "../../base/limit-notes.ts";
import type { OwnRepository } from "./git/repository-lease.ts";
import type { RunPhase } from "./scan/new-findings.ts";
import type { Quarantined } from "./scan/quarantined.ts";
import type { CommandRequest, SandboxProfile, Tier } from "./tiers/contract.ts";

export interface CommandOutcome {
  /** Undefined where a signal ended it; bubblewrap, like a shell, reports a signal as 128 + its number. */
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
  readonly timedOut: boolean;
  readonly tier: Tier;
  /** The limit that it ran into. */
  readonly limit: ReachedLimit | undefined;
  readonly quarantined: readonly Quarantined[];
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

/** A command that has passed the gate; nothing else is ever started. */
export interface JudgedCommand {
  readonly request: CommandRequest;
  readonly profile: SandboxProfile;
  /**
   * Renames new files that would be obeyed; left out where the command can write nothing. Whatever
   * lies at or below a path that was not guarded all the time counts as new.
   */
  readonly quarantineNew?:
    | ((phase: RunPhase, unguarded: readonly string[]) => Promise<readonly Quarantined[]>)
    | undefined;
  /** Whether llmc itself wrote what is at a path now, rather than the command or the user. */
  readonly isLlmcWrite?: ((path: string) => boolean) | undefined;
  /** The git directory that it may write, which is held while it runs. */
  readonly ownRepository?: OwnRepository | undefined;
  /** What the program leaves out here that it does in the user's terminal. */
  readonly notes?: readonly string[];
}

/** A command has waited for its turn since it was judged: what it may reach has to be looked up again. */
export class StaleJudgement extends LlmcError {
  constructor() {
    super("busy", "Another git command was writing to this repository.", { hint: "Try again." });
  }
}

/** Runs judged commands to their end, with their whole trees, in the best tier that this machine has. */
export interface CommandRunner {
  /** The programs of a pipeline, at the same time. If one cannot be started, the others are ended. */
  runTogether(commands: readonly JudgedCommand[], signal?: AbortSignal): Promise<readonly CommandOutcome[]>;
  /**
   * Waits until one more call may run commands, then does the work: judging them and running them. What is judged before
   * the wait may have changed after it.
   */
  inTurn<T>(
    work: () => Promise<T>,
    signal?: AbortSignal,
    /** Whose commands they are: principals take turns. */
    principal?: string,
  ): Promise<T>;
  /** The tier that is in force, found out once by trying. */
  tier(): Promise<Tier>;
}
