import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { bubblewrapArgs } from "./bubblewrap-arguments.ts";
import type { ConfinedProgram } from "./contract.ts";
import { type LaunchPlan, launchCalls, READY } from "./launcher.ts";
import type { ResolvedProgram } from "./node-arguments.ts";
import type { NodeFiles } from "./node-files.ts";
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
  /** Descriptors of control groups to enter. */
  readonly groups: readonly number[];
  readonly plan: Omit<LaunchPlan, "groups" | "reportDescriptor">;
}

interface Placed {
  readonly stdio: Stdio;
  readonly groups: readonly number[];
  /** The first free number. */
  readonly next: number;
}

/** The program's own descriptors first, at least the standard streams, then the groups that its launcher enters and closes. */
const placeDescriptors = ({ stdio, groups }: LaunchRequest): Placed => {
  const own: Stdio = [...stdio];
  while (own.length < 3) own.push("ignore");
  return {
    stdio: [...own, ...groups],
    groups: groups.map((_, index) => own.length + index),
    next: own.length + groups.length,
  };
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
  files: NodeFiles,
  resolved: ResolvedProgram,
  request: LaunchRequest,
): Promise<Launched> => {
  const { stdio, groups, next } = placeDescriptors(request);
  const [report, launcher, info] = [next, next + 1, next + 2];
  const calls = launchCalls({ ...request.plan, groups, reportDescriptor: report });
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

/** As a program that lies in a folder of its own until it runs: Node can start nothing that has no name. */
export const launchByItself = async (request: LaunchRequest): Promise<Launched> => {
  const { stdio, groups, next: report } = placeDescriptors(request);
  const calls = launchCalls({ ...request.plan, groups, reportDescriptor: report });
  const folder = mkdtempSync(join(tmpdir(), "llmc-confine-"));
  try {
    const file = join(folder, "launch");
    writeFileSync(file, buildProgram(calls, report), { mode: 0o500 });
    const child = spawn(file, [], { stdio: [...stdio, "pipe"], env: {}, cwd: "/", detached: true });
    await endAfterFailure(child, waitForReport(child, streamAt(child, report), calls));
    return { child, pid: child.pid ?? 0 };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};
