import type { LlmcError } from "../../../base/error.ts";
import { isNotListed, joinNotListed } from "../../../policy/commands.ts";
import { isPipedGroup, type Pipeline, type ShellLine } from "../../../policy/shell/shell-line.ts";
import { isAbsent } from "./physical-path.ts";
import type { ShellState } from "./shell-state.ts";
import { commandCall, isProgram, type LineExecution, runBuiltin, stageOf } from "./stage.ts";
import { checkRedirections } from "./streams.ts";

const judgePipeline = async (
  execution: LineExecution,
  { commands }: Pipeline,
  state: ShellState,
  missing: LlmcError[],
): Promise<ShellState> => {
  for (const command of commands) {
    if (isPipedGroup(command)) {
      await checkRedirections(command.redirections, state, execution);
      const after = await judgeParts(execution, command.line, state, missing);
      if (commands.length === 1 && !command.isSubshell) return after;
      continue;
    }
    const stage = await stageOf(execution, command, state);
    await checkRedirections(command.redirections, stage.outer, execution);
    if (isProgram(stage))
      await execution.gate.check(commandCall(execution, stage), execution.signal).catch((thrown: unknown) => {
        if (isNotListed(thrown)) missing.push(thrown);
        // What is not there yet may be made by an earlier part of the line.
        else if (!isAbsent(thrown)) throw thrown;
      });
    if (commands.length > 1) continue;
    if (stage.argv.length === 0) return stage.state;
    const after = await runBuiltin(execution, stage, state);
    if (after !== undefined) return after.state;
  }
  return state;
};

const judgeParts = async (
  execution: LineExecution,
  line: ShellLine,
  before: ShellState,
  missing: LlmcError[],
): Promise<ShellState> => {
  let state = before;
  for (const { body: part } of line) {
    if (part.kind === "pipeline") state = await judgePipeline(execution, part, state, missing);
    else {
      const after = await judgeParts(execution, part.line, state, missing);
      if (!part.isSubshell) state = after;
    }
  }
  return state;
};

/** Judges every program, option and file of the line before anything starts; one refusal refuses the line. */
export const judgeLine = async (
  execution: LineExecution,
  line: ShellLine,
  before: ShellState,
): Promise<void> => {
  // All programs that are not listed are named at once, so that the operator is asked once.
  const missing: LlmcError[] = [];
  const refuseMissing = (): void => {
    const [first, ...others] = missing;
    if (first !== undefined) throw joinNotListed(first, others);
  };
  try {
    await judgeParts(execution, line, before, missing);
  } catch (thrown) {
    refuseMissing();
    throw thrown;
  }
  refuseMissing();
};
