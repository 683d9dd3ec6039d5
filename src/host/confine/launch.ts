import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { type Duplex, Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { bubblewrapArgs } from "./bubblewrap-arguments.ts";
import { GO, type LaunchPlan, launchCalls, READY } from "./launcher.ts";
import type { ResolvedProgram } from "./node-arguments.ts";
import type { ExecutableFiles } from "./node-files.ts";
import { inProgramFile } from "./program-file.ts";
import { type Stdio, unwantedDescriptors } from "./spawn-sealed.ts";
import { buildProgram, readFailure, type SystemCall } from "./system-call-program.ts";

export interface Launched {
  readonly child: ChildProcess;
  /** The program's own process. */
  readonly pid: number;
  /** Until then, everything that it writes is kept. */
  release(): void;
}

/** A tier that does not work here; the next one may. */
export class LaunchRefusal extends Error {
  override readonly name = "LaunchRefusal";
}

export interface LaunchRequest {
  readonly stdio: Stdio;
  readonly plan: Omit<LaunchPlan, "reportDescriptor" | "unwanted">;
  /** Puts the process under its bounds; the program does not run before. */
  readonly bound: (pid: number) => Promise<void>;
}

/** The program's own descriptors, at least the standard streams; those of the launch come after them. */
const ownDescriptors = ({ stdio }: LaunchRequest): Stdio => {
  const own: Stdio = [...stdio];
  while (own.length < 3) own.push("ignore");
  return own;
};

const streamAt = (child: ChildProcess, index: number): Duplex => child.stdio[index] as Duplex;

const doNothing = (): void => undefined;

/**
 * Node drops what a program wrote if it ends before anybody reads it; so the output is kept, and handed over a
 * moment later.
 */
const holdOutput = (child: ChildProcess, count: number): (() => void) => {
  const held = child.stdio.slice(0, count).filter((stream): stream is Readable => stream instanceof Readable);
  for (const stream of held) stream.on("readable", doNothing);
  return () => {
    for (const stream of held) stream.off("readable", doNothing);
  };
};

/** Ends when the launcher has become the program, or has failed. */
const waitForReport = async (
  child: ChildProcess,
  report: Duplex,
  calls: readonly SystemCall[],
): Promise<void> => {
  const failed = once(child, "error").then(([thrown]: unknown[]) => {
    throw new LaunchRefusal(String(thrown), { cause: thrown });
  });
  // Without a process there is nobody to end the report.
  const bytes = await (child.pid === undefined ? failed : Promise.race([buffer(report), failed]));
  failed.catch(() => undefined);
  const failure = readFailure(bytes, calls);
  if (failure !== undefined)
    throw new LaunchRefusal(`The kernel refused: ${failure.step} (errno ${failure.errno}).`);
  if (bytes.toString("latin1") !== READY) {
    const [code] =
      child.exitCode === null && child.signalCode === null ? await once(child, "exit") : [child.exitCode];
    throw new LaunchRefusal(`The launcher ended with ${code} before the program ran.`);
  }
};

const followLaunch = async (
  child: ChildProcess,
  findPid: () => Promise<number>,
  report: Duplex,
  calls: readonly SystemCall[],
  { stdio, bound }: LaunchRequest,
): Promise<Launched> => {
  const release = holdOutput(child, stdio.length);
  report.on("error", doNothing);
  const letGo = async (): Promise<number> => {
    const pid = await findPid();
    await bound(pid);
    report.write(GO);
    return pid;
  };
  try {
    const [pid] = await Promise.all([letGo(), waitForReport(child, report, calls)]);
    return { child, pid, release };
  } catch (thrown) {
    child.kill("SIGKILL");
    for (const stream of child.stdio) stream?.destroy();
    throw thrown instanceof LaunchRefusal ? thrown : new LaunchRefusal(String(thrown), { cause: thrown });
  }
};

const pidFrom = (info: string): number => {
  const pid = /"child-pid": (\d+)/.exec(info)?.[1];
  if (pid === undefined) throw new LaunchRefusal("bubblewrap reported no process.");
  return Number(pid);
};

export const launchInBubblewrap = (
  bwrap: string,
  files: ExecutableFiles,
  resolved: ResolvedProgram,
  request: LaunchRequest,
): Promise<Launched> => {
  const stdio = ownDescriptors(request);
  const [report, launcher, info] = [stdio.length, stdio.length + 1, stdio.length + 2];
  const child = spawn(bwrap, bubblewrapArgs(files, resolved, { launcher, info }), {
    stdio: [...stdio, "pipe", "pipe", "pipe"],
    env: {},
    cwd: "/",
    // An interrupt at the terminal is meant for the program that started it, which ends it when its work is done.
    detached: true,
  });
  // Made while bubblewrap is at work: it takes a few milliseconds the first time.
  const calls = launchCalls({
    ...request.plan,
    unwanted: unwantedDescriptors(stdio),
    reportDescriptor: report,
  });
  const input = streamAt(child, launcher);
  // bubblewrap may end before it has read everything; its report says why.
  input.on("error", doNothing);
  input.end(buildProgram(calls, report));
  // The kernel waits for all CPUs before it lets a process enter a control group, but not a second time: while it waits for
  // bubblewrap itself to enter, bubblewrap sets up.
  const entered = request.bound(child.pid ?? 0);
  entered.catch(doNothing);
  const ready = async (): Promise<number> => {
    const [report] = await Promise.all([buffer(streamAt(child, info)), entered]);
    return pidFrom(report.toString("utf8"));
  };
  return followLaunch(child, ready, streamAt(child, report), calls, request);
};

export const launchByItself = (folder: string, request: LaunchRequest): Promise<Launched> => {
  const stdio = ownDescriptors(request);
  const report = stdio.length;
  const calls = launchCalls({
    ...request.plan,
    unwanted: unwantedDescriptors(stdio),
    reportDescriptor: report,
  });
  const build = (): Buffer => buildProgram(calls, report);
  return inProgramFile(folder, build, async (file) => {
    const child = spawn(file, { stdio: [...stdio, "pipe"], env: {}, cwd: "/", detached: true });
    return await followLaunch(child, async () => child.pid ?? 0, streamAt(child, report), calls, request);
  });
};
