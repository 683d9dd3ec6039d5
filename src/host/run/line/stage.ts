import type { ReachedLimit } from "../../../base/limit-notes.ts";
import type { ProgramRequest } from "../../../policy/permit.ts";
import type { ExpansionBudget } from "../../../policy/shell/expansion-budget.ts";
import { refuseShellCommand } from "../../../policy/shell/refusals.ts";
import type { ShellCommand } from "../../../policy/shell/shell-line.ts";
import type { LookupBudget } from "../../reach/lookup-budget.ts";
import type { CommandGate, CommandTimeouts } from "../commands.ts";
import type { CommandCall, CommandOutcome, CommandRunner } from "../contract.ts";
import type { Quarantined } from "../scan/quarantined.ts";
import type { Tier } from "../tiers/contract.ts";
import { BUILTINS, type BuiltinResult } from "./builtins.ts";
import type { Argv, Expansion, LineCall, ProgramEnd, UnseenPath } from "./contract.ts";
import type { LineClock } from "./line-clock.ts";
import { argumentsOf, assign, environmentOf, type ShellState } from "./shell-state.ts";
import type { FilePorts } from "./streams.ts";

export interface LineRunnerParts extends FilePorts {
  readonly gate: CommandGate;
  readonly runner: Pick<CommandRunner, "runTogether" | "inSlot">;
  /** Whether the operator allows a program of that name. */
  readonly isListed: (program: string) => boolean;
  /** A caller's path made absolute. */
  readonly resolve: (path: string) => string;
  /** How long the operator lets a line run. */
  readonly timeouts: () => CommandTimeouts;
}

/** One line while it runs. */
export interface LineExecution extends LineRunnerParts, Expansion {
  readonly call: LineCall;
  /** Fires when the caller gives up; `signal` also at the deadline, which programs have from the clock. */
  readonly callerSignal: AbortSignal | undefined;
  /** The line is expanded twice: to be judged, and to be run. */
  budget: ExpansionBudget;
  /** Of all its programs together, however often each of them is judged. */
  readonly lookups: LookupBudget;
  /** The line is one pipeline. */
  isAlone: boolean;
  readonly programs: ProgramEnd[];
  readonly quarantined: Quarantined[];
  readonly unseen: UnseenPath[];
  readonly folders: Set<string>;
  readonly notes: Set<string>;
  /** Programs whose output is the line's own, and texts of built-in commands. */
  readonly speakers: (Argv | "builtin")[];
  tier: Tier | null;
  limit: ReachedLimit | undefined;
  /** For the whole line, from the beginning: expanding it counts too. */
  readonly clock: LineClock;
  last: Pick<CommandOutcome, "exitCode" | "signal">;
  timedOut: boolean;
}

/** A command of a pipeline with everything expanded. */
export interface Stage {
  readonly argv: readonly string[];
  readonly command: ShellCommand;
  /** With the variables that are set for this command alone. */
  readonly state: ShellState;
  /** What redirections are expanded with: as in bash, the command's own variables come later. */
  readonly outer: ShellState;
}

export const stageOf = async (
  execution: LineExecution,
  command: ShellCommand,
  state: ShellState,
): Promise<Stage> => {
  const argv = await argumentsOf(command.args, state, execution);
  if (argv[0] !== undefined) refuseShellCommand(argv, execution.isListed(argv[0]));
  const inner = assign(state, command, execution);
  return { argv, command, state: inner, outer: argv.length === 0 ? inner : state };
};

/** Runs a built-in command; undefined for a program, and for assignments alone. */
export const runBuiltin = async (
  { access, signal, gate }: LineExecution,
  { argv: [name = "", ...args] }: Stage,
  state: ShellState,
): Promise<BuiltinResult | undefined> =>
  BUILTINS.get(name)?.(args, state, { access, signal, locate: (program) => gate.locate(program, state.cwd) });

export type ProgramStage = Stage & { readonly argv: Argv };

export const isProgram = (stage: Stage): stage is ProgramStage =>
  stage.argv[0] !== undefined && !BUILTINS.has(stage.argv[0]);

/** What a program's stage asks of the gate. */
export const commandCall = (
  { call: { timeoutSeconds, session, executable }, programs, lookups }: LineExecution,
  { argv, state }: ProgramStage,
): CommandCall => {
  const { permit } = session ?? {};
  const midway =
    session === undefined || permit === undefined || programs.length === 0
      ? session
      : { ...session, permit: (request: ProgramRequest) => permit({ ...request, isMidway: true }) };
  return {
    command: argv,
    cwd: state.cwd,
    env: environmentOf(state),
    timeoutSeconds,
    session: midway,
    executable,
    lookups,
  };
};
