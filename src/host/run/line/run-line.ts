import { constants, fstatSync, openSync } from "node:fs";
import { LlmcError, toLlmcError } from "../../../base/error.ts";
import { stopIfAborted } from "../../../base/stop-if-aborted.ts";
import {
  type Group,
  isPipedGroup,
  type PipedGroup,
  type Pipeline,
  type PipelinePart,
  type ShellCommand,
  type ShellLine,
} from "../../../policy/shell/shell-line.ts";
import type { TreeStreams } from "../tree/run-tree.ts";
import { openNameless } from "../tree/spool.ts";
import { runPipeline, type Surroundings } from "./run-pipeline.ts";
import type { ShellState } from "./shell-state.ts";
import type { LineExecution } from "./stage.ts";
import { Descriptors, feed, MAX_FILE_BYTES, openRedirections, writePending } from "./streams.ts";

/** What a shell answers for a program that it may not run. */
const CANNOT_RUN = 126;

const negate = (execution: LineExecution, part: Pipeline | Group, state: ShellState): ShellState => {
  if (!part.isNegated || execution.timedOut || state.hasExited) return state;
  const lastExit = state.lastExit === 0 ? 1 : 0;
  execution.last = { exitCode: lastExit, signal: undefined };
  return { ...state, lastExit };
};

export const isBusy = (thrown: unknown): boolean => toLlmcError(thrown).code === "busy";

/**
 * What is refused after a part of the line has run is said like a program's failure, so that its output is not lost. A
 * file of a redirection that is not there makes one command fail, as in a shell, and the rest of the line goes on.
 */
const failLater = (
  execution: LineExecution,
  thrown: unknown,
  state: ShellState,
  { commands }: Pipeline,
): ShellState => {
  stopIfAborted(isBusy(thrown) ? execution.callerSignal : execution.signal);
  const { code, message, hint } = toLlmcError(thrown);
  const [{ redirections }, ...more] = commands;
  // Of several redirections, a shell would have opened the first ones; we open none, so the line is refused.
  const isAbsentFile = code === "file_not_found" && more.length === 0 && redirections.length === 1;
  if (execution.programs.length === 0 && (execution.isAlone || !isAbsentFile)) throw thrown;
  const text = `llmc: ${message}${hint === undefined ? "" : ` ${hint}`}\n`;
  execution.call.onOutput?.("stderr", Buffer.from(text));
  const lastExit = isAbsentFile ? 1 : CANNOT_RUN;
  execution.last = { exitCode: lastExit, signal: undefined };
  return { ...state, lastExit };
};

/** What stands between two groups runs at the same time; a group runs by itself. */
const segmentsOf = (parts: readonly PipelinePart[]): readonly (PipedGroup | readonly ShellCommand[])[] => {
  const segments: (PipedGroup | ShellCommand[])[] = [];
  for (const part of parts) {
    const last = segments.at(-1);
    if (isPipedGroup(part)) segments.push(part);
    else if (Array.isArray(last)) last.push(part);
    else segments.push([part]);
  }
  return segments;
};

/** A pipe that delivers what the previous segment wrote to the spool. */
const readBack = (spool: number, descriptors: Descriptors): number => {
  if (fstatSync(spool).size > MAX_FILE_BYTES)
    throw new LlmcError(
      "file_too_large",
      "What goes through a pipe into or out of a group is larger than 64 MB.",
      {
        hint: "Leave the group out of the pipeline: the commands of a pipeline pass on any amount.",
      },
    );
  return feed(openSync(`/dev/fd/${spool}`, constants.O_RDONLY), descriptors);
};

const runGroup = async (
  execution: LineExecution,
  { isSubshell, line, redirections }: PipedGroup,
  state: ShellState,
  surroundings: Surroundings,
  descriptors: Descriptors,
): Promise<ShellState> => {
  const { streams, files } = await openRedirections(
    redirections,
    surroundings.streams,
    state,
    descriptors,
    execution,
  );
  const { input } = streams;
  // As bash gives it: what one command has read ahead, the next one does not get.
  const isText = typeof input === "number" && fstatSync(input).isFile();
  const given: TreeStreams = isText
    ? { ...streams, input: feed(descriptors.take(input), descriptors) }
    : streams;
  const inside = { ...surroundings, streams: given, files: [...surroundings.files, ...files] };
  const after = await runLine(execution, line, state, inside);
  await writePending(files, execution, execution.callerSignal);
  return isSubshell ? { ...state, lastExit: after.lastExit } : after;
};

/**
 * Runs a pipeline with groups, one segment after the other: commands inside a group queue for a slot, and one that ran
 * beside the group would hold a slot and could deadlock it. What goes from one to the next waits in a file without a name.
 */
const runSegments = async (
  execution: LineExecution,
  { commands }: Pipeline,
  before: ShellState,
  surroundings: Surroundings,
): Promise<ShellState> => {
  const segments = segmentsOf(commands);
  const descriptors = new Descriptors();
  let state = before;
  let failed: number | undefined;
  try {
    let { input } = surroundings.streams;
    for (const [at, segment] of segments.entries()) {
      if (execution.timedOut) break;
      const isLast = at === segments.length - 1;
      const spool = isLast ? undefined : descriptors.add(openNameless());
      const streams = { ...surroundings.streams, input, output: spool ?? surroundings.streams.output };
      const around = { ...surroundings, streams };
      state =
        "line" in segment
          ? await runGroup(execution, segment, before, around, descriptors)
          : await runPipeline(execution, segment, before, around);
      if (state.lastExit !== 0) failed = state.lastExit;
      if (spool !== undefined) input = readBack(spool, descriptors);
    }
    if (before.isPipefail === true && state.lastExit === 0 && failed !== undefined) {
      execution.last = { exitCode: failed, signal: undefined };
      state = { ...state, lastExit: failed };
    }
    return commands.length === 1 ? state : { ...before, lastExit: state.lastExit };
  } finally {
    descriptors.closeExcept(new Set());
  }
};

const runPart = async (
  execution: LineExecution,
  part: Pipeline | Group,
  state: ShellState,
  surroundings: Surroundings,
): Promise<ShellState> => {
  if (part.kind === "group") {
    const after = await runLine(execution, part.line, state, surroundings);
    return part.isSubshell ? { ...state, lastExit: after.lastExit } : after;
  }
  const plain = part.commands.flatMap((one) => (isPipedGroup(one) ? [] : one));
  const running =
    plain.length === part.commands.length
      ? runPipeline(execution, plain, state, surroundings)
      : runSegments(execution, part, state, surroundings);
  return running.catch((thrown: unknown) => failLater(execution, thrown, state, part));
};

export const runLine = async (
  execution: LineExecution,
  line: ShellLine,
  before: ShellState,
  surroundings: Surroundings,
): Promise<ShellState> => {
  let state = before;
  for (const [at, { when, body }] of line.entries()) {
    if (execution.timedOut || state.hasExited) break;
    if (when !== "always" && (state.lastExit === 0) !== (when === "success")) continue;
    const isLast = (line[at + 1]?.when ?? "always") === "always";
    const isTested = surroundings.isTested || !isLast || body.isNegated;
    state = negate(execution, body, await runPart(execution, body, state, { ...surroundings, isTested }));
    if (state.isStrict === true && !isTested && state.lastExit !== 0) state = { ...state, hasExited: true };
  }
  return state;
};
