import type { ShellCommand } from "../../../policy/shell/shell-line.ts";
import { type CommandOutcome, exitStatus, type JudgedCommand } from "../contract.ts";
import type { SandboxProfile } from "../tiers/contract.ts";
import { openPipeEnds } from "../tree/pipe.ts";
import type { TreeStreams } from "../tree/run-tree.ts";
import type { WriteLock } from "../write-locks/write-locks.ts";
import type { Argv } from "./contract.ts";
import type { ShellState } from "./shell-state.ts";
import {
  commandCall,
  isProgram,
  type LineExecution,
  type ProgramStage,
  runBuiltin,
  type Stage,
  stageOf,
} from "./stage.ts";
import {
  Descriptors,
  deliver,
  MAX_FILE_BYTES,
  openAgain,
  openRedirections,
  type PendingFile,
  refuseSharedFiles,
  writePending,
} from "./streams.ts";
import { unseenPaths } from "./unseen-paths.ts";

interface OpenStage {
  readonly stage: Stage;
  readonly streams: TreeStreams;
}

/** What a group gives to the commands in it; its descriptors stay open. */
export interface Surroundings {
  /** What follows depends on how the group ends, so that `set -e` has no say in it. */
  readonly isTested: boolean;
  readonly streams: TreeStreams;
  readonly files: readonly PendingFile[];
}

export const NO_GROUP: Surroundings = {
  isTested: false,
  streams: { input: "ignore", output: "stdout", errors: "stderr" },
  files: [],
};

const openStages = async (
  execution: LineExecution,
  stages: readonly Stage[],
  { streams: around, files: outer }: Surroundings,
  descriptors: Descriptors,
): Promise<{ readonly open: readonly OpenStage[]; readonly files: readonly PendingFile[] }> => {
  const pipes = stages.slice(1).map(() => openPipeEnds().map((end) => descriptors.add(end)));
  const open: OpenStage[] = [];
  const files: PendingFile[] = [];
  for (const [at, stage] of stages.entries()) {
    const first: TreeStreams = {
      input: pipes[at - 1]?.[0] ?? openAgain(around.input, "read", descriptors),
      output: pipes[at]?.[1] ?? openAgain(around.output, "append", descriptors),
      errors: openAgain(around.errors, "append", descriptors),
    };
    const { redirections } = stage.command;
    const made = await openRedirections(redirections, first, stage.outer, descriptors, execution);
    open.push({ stage, streams: made.streams });
    files.push(...made.files);
  }
  refuseSharedFiles([...outer, ...files]);
  const used = open.flatMap(({ stage, streams: { input, output, errors } }) =>
    isProgram(stage) ? [input, output, errors] : [output, errors],
  );
  descriptors.closeExcept(new Set([...used, ...files.map(({ descriptor }) => descriptor)]));
  return { open, files };
};

/** Every program passes the gate before the first one starts; each working directory is held meanwhile. */
const passAll = async (
  execution: LineExecution,
  stages: readonly ProgramStage[],
  lock: WriteLock | undefined,
  judged: readonly JudgedCommand[],
  work: (judged: readonly JudgedCommand[]) => Promise<readonly CommandOutcome[]>,
): Promise<readonly CommandOutcome[]> => {
  const [next, ...rest] = stages;
  if (next === undefined) return work(judged);
  return execution.gate.pass(commandCall(execution, next), lock, execution.signal, (one) =>
    passAll(execution, rest, lock, [...judged, one], work),
  );
};

/** Below this, nobody asks why it took so long. */
const SHORT_WAIT_MS = 1000;

const noteWait = ({ notes }: LineExecution, waitedMs: number): void => {
  if (waitedMs > SHORT_WAIT_MS)
    notes.add(
      `waited ${Math.round(waitedMs / 1000)} s for another command: those that can write run one after the other`,
    );
};

const takeStreams = (streams: TreeStreams, descriptors: Descriptors): TreeStreams => {
  for (const end of new Set(Object.values(streams))) if (typeof end === "number") descriptors.take(end);
  return streams;
};

/** A program that may only read gets no more room for a redirection than is written in the end. */
const boundOutput = (profile: SandboxProfile, { output, errors }: TreeStreams): SandboxProfile => {
  const { limits, writable } = profile;
  const isBounded = limits !== undefined && writable.length === 0;
  if (!isBounded || (typeof output !== "number" && typeof errors !== "number")) return profile;
  return { ...profile, limits: { ...limits, fileBytes: Math.min(limits.fileBytes, MAX_FILE_BYTES + 1) } };
};

const runPrograms = async (
  execution: LineExecution,
  open: readonly OpenStage[],
  descriptors: Descriptors,
): Promise<readonly CommandOutcome[]> => {
  const programs = open.flatMap(({ stage, streams }) => (isProgram(stage) ? [{ stage, streams }] : []));
  if (programs.length === 0) return [];
  const stages = programs.map(({ stage }) => stage);
  const { callerSignal, call, runner, gate, clock } = execution;
  const runJudged = (judged: readonly JudgedCommand[]) => {
    const timeoutMs = Math.max(1, clock.leftMs());
    const commands = programs.map(({ stage, streams }, at) => {
      const command = judged[at] as JudgedCommand;
      const openStreams = () => takeStreams(streams, descriptors);
      execution.folders.add(command.request.cwd);
      execution.unseen.push(...unseenPaths(stage.argv.slice(1), command));
      for (const note of command.notes ?? []) execution.notes.add(note);
      return {
        ...command,
        profile: boundOutput(command.profile, streams),
        request: { ...command.request, timeoutMs, onOutput: execution.call.onOutput, openStreams },
      };
    });
    return runner.runTogether(commands, callerSignal);
  };
  const principal = call.session?.principal;
  const resume = clock.pause();
  const judgeAndRun = (lock: WriteLock | undefined) => {
    resume();
    noteWait(execution, lock?.waitedMs ?? 0);
    return passAll(execution, stages, lock, [], runJudged);
  };
  try {
    const writers: (string | undefined)[] = [];
    for (const stage of stages)
      writers.push(await gate.writerOf(commandCall(execution, stage), callerSignal));
    return await gate.withWriteLock(
      writers.find((writer) => writer !== undefined),
      { signal: callerSignal, waitMs: clock.waitLeftMs(), principal },
      // A slot is taken after the lock, so that those who wait for the lock keep no slot from those who only read.
      (lock) => runner.inSlot(() => judgeAndRun(lock), callerSignal, principal),
    );
  } finally {
    resume();
  }
};

/** What a built-in command says and where it leads; nothing else may write while it does. */
const speakBuiltin = async (
  execution: LineExecution,
  { stage, streams }: OpenStage,
  descriptors: Descriptors,
): Promise<{ readonly exitCode: number; readonly state: ShellState }> => {
  // An assignment prints nothing, but its pipe must still be closed.
  const silent = { exitCode: 0, stdout: "", stderr: "", state: stage.state };
  const result = (await runBuiltin(execution, stage, stage.state)) ?? silent;
  if (result.stdout !== "" && streams.output === "stdout") execution.speakers.push("builtin");
  deliver(result, streams, descriptors, execution.call.onOutput);
  return result;
};

const recordOutcomes = (
  execution: LineExecution,
  open: readonly OpenStage[],
  outcomes: readonly CommandOutcome[],
): void => {
  const programs = open.filter(({ stage }) => isProgram(stage));
  for (const [at, outcome] of outcomes.entries()) {
    const { stage, streams } = programs[at] as OpenStage;
    const [name = ""] = stage.argv;
    execution.programs.push({ name: name.slice(name.lastIndexOf("/") + 1), exitCode: exitStatus(outcome) });
    execution.tier = outcome.tier;
    execution.limit ??= outcome.limit;
    execution.quarantined.push(...outcome.quarantined);
    execution.timedOut ||= outcome.timedOut;
    if (streams.output === "stdout") execution.speakers.push(stage.argv as Argv);
  }
};

type StageEnd = Pick<CommandOutcome, "exitCode"> & Partial<Pick<CommandOutcome, "signal">>;

const exitOf = ({ exitCode, signal }: StageEnd): number => exitStatus({ exitCode, signal, timedOut: false });

/** How the command at this place ended: programs and built-in commands are counted apart. */
const endOf = (
  stages: readonly Stage[],
  at: number,
  programs: readonly CommandOutcome[],
  builtins: readonly StageEnd[],
): StageEnd | undefined => {
  const [own, before] = [stages[at], stages.slice(0, at)];
  const isOwnProgram = own !== undefined && isProgram(own);
  const count = before.filter((one) => isProgram(one) === isOwnProgram).length;
  return isOwnProgram ? programs[count] : builtins[count];
};

/** Runs commands that are connected by pipes, all at the same time. */
export const runPipeline = async (
  execution: LineExecution,
  commands: readonly ShellCommand[],
  before: ShellState,
  surroundings: Surroundings,
): Promise<ShellState> => {
  const stages: Stage[] = [];
  for (const command of commands) stages.push(await stageOf(execution, command, before));
  const descriptors = new Descriptors();
  try {
    const { open, files } = await openStages(execution, stages, surroundings, descriptors);
    // Built-in commands come first: one that is refused must not leave programs behind that use what is closed here.
    const builtins: Awaited<ReturnType<typeof speakBuiltin>>[] = [];
    for (const one of open)
      if (!isProgram(one.stage)) builtins.push(await speakBuiltin(execution, one, descriptors));
    const programs = await runPrograms(execution, open, descriptors);
    recordOutcomes(execution, open, programs);
    await writePending(files, execution, execution.callerSignal);
    const ends = [...stages.keys()].map((at) => endOf(stages, at, programs, builtins));
    const failed =
      before.isPipefail === true ? ends.findLast((one) => one !== undefined && exitOf(one) !== 0) : undefined;
    const ended = failed ?? ends.at(-1);
    execution.last = {
      exitCode: ended?.exitCode,
      signal: ended !== undefined && "signal" in ended ? ended.signal : undefined,
    };
    const lastExit = exitStatus({ ...execution.last, timedOut: execution.timedOut });
    return { ...stateAfter(stages, builtins, before), lastExit };
  } finally {
    descriptors.closeExcept(new Set());
  }
};

/** A command alone changes directory and variables for what follows; in a pipeline each has a state of its own. */
const stateAfter = (
  [only, ...more]: readonly Stage[],
  [builtin]: readonly { readonly state: ShellState }[],
  before: ShellState,
): ShellState => {
  if (only === undefined || more.length > 0 || builtin === undefined) return before;
  // Variables in front of a command are its own.
  return only.argv.length === 0
    ? builtin.state
    : { ...builtin.state, variables: before.variables, exported: before.exported };
};
