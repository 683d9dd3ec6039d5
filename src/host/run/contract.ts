import { constants } from "node:os";
import type { ReachedLimit } from "../../base/limit-notes.ts";
import type { PermitFiles, PermitProgram } from "../../policy/permit.ts";
import type { LookupBudget } from "../reach/lookup-budget.ts";
import type { RunPhase } from "./scan/new-findings.ts";
import type { Restoring } from "./scan/protected-names.ts";
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

/** What git is told to use where there is no repository. Git shows this name. */
export const NO_GIT_DIR = "/dev/null/no-repository-here";

/** A script that the operator made a tool of: it may be started, whatever the allowlist says. No caller names one. */
export interface TrustedExecutable {
  /** Real path. */
  readonly path: string;
  /** What it may read, where that lies outside the roots. */
  readonly folder: string;
  /** Otherwise it gets every root read-only. */
  readonly writes: boolean;
  /** Throws unless the folder still has the content that was granted. */
  readonly check: () => Promise<void>;
}

/** What a caller asks the gate for. */
export interface CommandCall {
  /** The program and its arguments, taken as they are. */
  readonly command: readonly [string, ...string[]];
  /** As the caller wrote it; by default, the workspace. */
  readonly cwd: string | undefined;
  readonly timeoutSeconds: number | undefined;
  /** Variables that the caller set. A program that is judged by its arguments is refused those that could direct it. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** It outlives the call, and with it the locks that keep a program as it was when the user agreed to it. */
  readonly outlivesCall?: boolean | undefined;
  readonly executable?: TrustedExecutable | undefined;
  /** What may still be looked up for the command line that it is a part of; left out, as much as for a whole one. */
  readonly lookups?: LookupBudget | undefined;
  /** Passed to the command as `TE_AGENT_ID`, `TE_SESSION_ID` and `TE_MODEL`. */
  readonly session?: CommandSession | undefined;
}

export interface CommandSession {
  readonly agentId: string;
  readonly sessionId: string;
  readonly model: string;
  /** What policy and the user say to a program; left out, the configuration alone decides. */
  readonly permit?: PermitProgram | undefined;
  /** The same to files that a command line reads or writes by itself. */
  readonly permitFiles?: PermitFiles | undefined;
}

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
  /** How obeyed files come back that were replaced while it ran. */
  readonly restoring?: Restoring | undefined;
  /**
   * Records that it runs on while others hold the write lock; the returned function is called when what it left was
   * checked. Left out where it can write nothing.
   */
  readonly noteManaged?: (() => () => void) | undefined;
  /** What the program leaves out here that it does in the user's terminal. */
  readonly notes?: readonly string[];
}

/** Runs judged commands to their end, with their whole trees, in the best tier that this machine has. */
export interface CommandRunner {
  /** The programs of a pipeline, at the same time. If one cannot be started, the others are ended. */
  runTogether(commands: readonly JudgedCommand[], signal?: AbortSignal): Promise<readonly CommandOutcome[]>;
  /**
   * Waits until one more call may run commands, then does the work: judging them and running them. What is judged before
   * the wait may have changed after it.
   */
  inSlot<T>(
    work: () => Promise<T>,
    signal?: AbortSignal,
    /** Whose commands they are: principals take turns. */
    principal?: string,
  ): Promise<T>;
  /** The tier that is in force, found out once by trying. */
  tier(): Promise<Tier>;
}
