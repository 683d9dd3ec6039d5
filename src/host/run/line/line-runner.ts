import { nameWithin } from "../../../base/paths.ts";
import { createExpansionBudget } from "../../../policy/shell/expansion-budget.ts";
import { checkLine } from "../../../policy/shell/plain-line.ts";
import { readShellLine } from "../../../policy/shell/read-line.ts";
import { explainShell } from "../../../policy/shell/refusals.ts";
import { isPipedGroup, type Redirection, type ShellLine } from "../../../policy/shell/shell-line.ts";
import { createLookupBudget } from "../../reach/lookup-budget.ts";
import { deadlineMs } from "../commands.ts";
import { callerPorts } from "./caller-ports.ts";
import type { LineCall, LineOutcome, LineRunner, SingleProgram } from "./contract.ts";
import { judgeLine } from "./judge-line.ts";
import { createLineClock } from "./line-clock.ts";
import { checkArgv, refuseSeveral } from "./refusals.ts";
import { isBusy, runLine } from "./run-line.ts";
import { NO_GROUP } from "./run-pipeline.ts";
import { environmentOf, firstState, type ShellState } from "./shell-state.ts";
import { isProgram, type LineExecution, type LineRunnerParts, runBuiltin, stageOf } from "./stage.ts";

const outcomeOf = ({
  last,
  timedOut,
  tier,
  limit,
  quarantined,
  unseen,
  folders,
  notes,
  programs,
  speakers,
}: LineExecution): LineOutcome => {
  const [speaker, ...more] = speakers;
  const isAlone = programs.length === 1 && more.length === 0 && speaker !== "builtin";
  return {
    ...last,
    timedOut,
    tier,
    limit,
    quarantined,
    unseen,
    folders: [...folders],
    notes: [...notes],
    programs,
    sole: isAlone ? speaker : undefined,
  };
};

const literal = (argument: string) => [{ kind: "text", text: argument, isQuoted: true } as const];

const oneCommand = (argv: readonly string[]): ShellLine => [
  {
    when: "always",
    body: {
      kind: "pipeline",
      isNegated: false,
      commands: [{ assignments: [], args: argv.map(literal), redirections: [] }],
    },
  },
];

const readLine = (line: string): ShellLine => {
  checkLine(line);
  return readShellLine(line);
};

const startExecution = (
  parts: LineRunnerParts,
  call: LineCall,
  callerSignal: AbortSignal | undefined,
): LineExecution => {
  const clock = createLineClock(deadlineMs(call.timeoutSeconds, parts.timeouts()));
  const signal = callerSignal === undefined ? clock.signal : AbortSignal.any([callerSignal, clock.signal]);
  return {
    ...parts,
    ...callerPorts(parts, {
      may: call.may,
      permit: call.session?.permitFiles,
      nameOf: (path) => nameWithin(parts.resolve("."), path),
    }),
    call,
    callerSignal,
    signal,
    budget: createExpansionBudget(),
    lookups: createLookupBudget(signal),
    isAlone: true,
    programs: [],
    quarantined: [],
    unseen: [],
    folders: new Set(),
    notes: new Set(),
    speakers: [],
    tier: null,
    limit: undefined,
    clock,
    last: { exitCode: 0, signal: undefined },
    timedOut: false,
  };
};

/** Work of ours that the line's own deadline ended, rather than the caller, is a line that took too long. */
const untilDeadline = async (execution: LineExecution, work: () => Promise<unknown>): Promise<void> => {
  try {
    await work();
  } catch (thrown) {
    const isLate = execution.signal?.aborted === true && execution.callerSignal?.aborted !== true;
    // A caller that waited for others until the deadline gets an error that says so.
    if (!isLate || isBusy(thrown)) throw thrown;
    execution.timedOut = true;
  } finally {
    execution.clock.end();
  }
};

/** Finds the one program of a line that only changes directory and sets variables before it. */
const findSingle = async (
  execution: LineExecution,
  line: ShellLine,
  before: ShellState,
): Promise<SingleProgram> => {
  let state = before;
  for (const [at, { body: part, when }] of line.entries()) {
    const [command, ...more] = part.kind === "pipeline" ? part.commands : [];
    if (
      command === undefined ||
      isPipedGroup(command) ||
      more.length > 0 ||
      part.isNegated ||
      when === "failure"
    )
      throw refuseSeveral();
    const stage = await stageOf(execution, command, state);
    if (isProgram(stage)) {
      const isMerged = ({ kind, ...rest }: Redirection): boolean =>
        kind === "copy" && "of" in rest && rest.of === 1;
      if (at < line.length - 1 || !command.redirections.every(isMerged)) throw refuseSeveral();
      return { command: stage.argv, cwd: stage.state.cwd, env: environmentOf(stage.state) };
    }
    // Nothing is run here that could fill a file, and none may be left as if it had been.
    if (command.redirections.length > 0) throw refuseSeveral();
    const result = await runBuiltin(execution, stage, state);
    if (result !== undefined && (result.exitCode !== 0 || result.stdout !== "" || result.state.hasExited))
      throw refuseSeveral(result.stderr);
    state = result?.state ?? stage.state;
  }
  throw refuseSeveral();
};

/** Reads a line, runs it, and says what became of it. */
const runCall = async (
  parts: LineRunnerParts,
  call: LineCall,
  signal: AbortSignal | undefined,
): Promise<LineOutcome> => {
  const { command, cwd } = call;
  const execution = startExecution(parts, call, signal);
  const line = typeof command === "string" ? readLine(command) : oneCommand(checkArgv(command));
  const state = firstState(parts.resolve(cwd ?? "."));
  await untilDeadline(execution, async () => {
    // A single pipeline is judged whole before any of it starts.
    const [first, ...more] = line;
    execution.isAlone =
      more.length === 0 && first?.body.kind === "pipeline" && !first.body.commands.some(isPipedGroup);
    if (!execution.isAlone) await judgeLine(execution, line, state);
    execution.budget = createExpansionBudget();
    await runLine(execution, line, state, NO_GROUP);
  });
  return outcomeOf(execution);
};

/**
 * Runs command lines as people write them, without a shell: each program goes through the gate by itself, and this
 * connects them. A line of one program costs no more than the program.
 */
export const createLineRunner = (parts: LineRunnerParts): LineRunner => {
  const explain = (thrown: unknown): never => {
    throw explainShell(thrown, parts.isListed);
  };
  return {
    run: (call, signal) => runCall(parts, call, signal).catch(explain),
    single: async (call, signal) => {
      const execution = startExecution(parts, { ...call, timeoutSeconds: undefined }, signal);
      try {
        return await findSingle(
          execution,
          readLine(call.command),
          firstState(parts.resolve(call.cwd ?? ".")),
        );
      } catch (thrown) {
        return explain(thrown);
      } finally {
        execution.clock.end();
      }
    },
  };
};
