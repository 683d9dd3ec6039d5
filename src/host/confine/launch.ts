import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { bubblewrapArgs } from "./bubblewrap-arguments.ts";
import type { ConfinedProgram } from "./contract.ts";
import { type LaunchPlan, launchCalls, READY } from "./launcher.ts";
import type { ResolvedProgram } from "./node-arguments.ts";
import type { ExecutableFiles } from "./node-files.ts";
import { inProgramFile } from "./program-file.ts";
import { buildProgram, readFailure, type SystemCall } from "./system-call-program.ts";

export interface Launched {
  readonly child: ChildProcess;
  /** The program's own process. */
  readonly pid: number;
}

/** A tier that does not work here; the next one may. */
export class LaunchRefusal extends Error {
  override readonly name = "LaunchRefusal";
}

type Stdio = NonNullable<ConfinedProgram["stdio"]>;

export interface LaunchRequest {
  readonly stdio: Stdio;
  readonly plan: Omit<LaunchPlan, "reportDescriptor">;
}

/** The program's own descriptors, at least the standard streams; those of the launch come after them. */
const ownDescriptors = ({ stdio }: LaunchRequest): Stdio => {
  const own: Stdio = [...stdio];
  while (own.length < 3) own.push("ignore");
  return own;
};

const streamAt = (child: ChildProcess, index: number): Readable => child.stdio[index] as Readable;

/** Ends when the launcher has become the program, or has failed. */
const waitForReport = async (
  child: ChildProcess,
  report: Readable,
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

const endAfterFailure = async <T>(child: ChildProcess, work: Promise<T>): Promise<T> => {
  try {
    return await work;
  } catch (thrown) {
    child.kill("SIGKILL");
    for (const stream of child.stdio) stream?.destroy();
    throw thrown;
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
  const calls = launchCalls({ ...request.plan, reportDescriptor: report });
  const child = spawn(bwrap, bubblewrapArgs(files, resolved, { launcher, info }), {
    stdio: [...stdio, "pipe", "pipe", "pipe"],
    env: {},
    cwd: "/",
  });
  const input = streamAt(child, launcher) as unknown as Writable;
  // bubblewrap may end before it has read everything; its report says why.
  input.on("error", () => undefined);
  input.end(buildProgram(calls, report));
  const started = async (): Promise<Launched> => {
    const infoText = buffer(streamAt(child, info));
    infoText.catch(() => undefined);
    await waitForReport(child, streamAt(child, report), calls);
    return { child, pid: pidFrom((await infoText).toString("utf8")) };
  };
  return endAfterFailure(child, started());
};

export const launchByItself = (request: LaunchRequest): Promise<Launched> => {
  const stdio = ownDescriptors(request);
  const report = stdio.length;
  const calls = launchCalls({ ...request.plan, reportDescriptor: report });
  return inProgramFile(buildProgram(calls, report), async (file) => {
    const child = spawn(file, { stdio: [...stdio, "pipe"], env: {}, cwd: "/", detached: true });
    await endAfterFailure(child, waitForReport(child, streamAt(child, report), calls));
    return { child, pid: child.pid ?? 0 };
  });
};
