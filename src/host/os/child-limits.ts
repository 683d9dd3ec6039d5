import { spawn } from "node:child_process";
import { findSystemProgram } from "./system-programs.ts";

/** The program and arguments to spawn. */
export interface Start {
  readonly file: string;
  readonly args: readonly string[];
}

const PROBE_MS = 5000;

const succeeds = (file: string, args: readonly string[]): Promise<boolean> =>
  new Promise((resolve) => {
    const child = spawn(file, args, { env: {}, stdio: "ignore", timeout: PROBE_MS, killSignal: "SIGKILL" });
    child.once("error", () => resolve(false));
    child.once("close", (code) => resolve(code === 0));
  });

/** Not every version of setpriv has this option, and its failure would look like a search without results. */
const findDeathSignal = async (): Promise<readonly string[] | undefined> => {
  const setpriv = findSystemProgram("setpriv");
  if (setpriv === undefined) return undefined;
  const prefix = [setpriv, "--pdeathsig", "KILL", "--"];
  const [file = "", ...args] = [...prefix, setpriv, "--version"];
  return (await succeeds(file, args)) ? prefix : undefined;
};

let deathSignal: Promise<readonly string[] | undefined> | undefined;

/**
 * The command prefix that makes the kernel kill a program when the server ends; empty if the machine does not support
 * it.
 */
export const deathSignalPrefix = async (): Promise<readonly string[]> => {
  deathSignal ??= findDeathSignal();
  return (await deathSignal) ?? [];
};

/**
 * Has the kernel kill the program when we are gone, even where we are killed ourselves. Costs under a millisecond. Where
 * the machine has no setpriv(1) that can do it, the program is started as it is.
 */
export const endingWithUs = async (file: string, args: readonly string[]): Promise<Start> => {
  const [wrapper, ...first] = await deathSignalPrefix();
  return wrapper === undefined ? { file, args } : { file: wrapper, args: [...first, file, ...args] };
};

/** setpriv(1) could not start the program. */
export const isStartFailure = (code: number | null): boolean => code === 126 || code === 127;

/**
 * Bounds the memory of a running program (what it allocates, not what it maps). Done from outside and only for one that
 * has run for a while: starting every program through prlimit(1) would make short searches a tenth slower.
 */
export const limitMemory = (pid: number, maxBytes: number): void => {
  const prlimit = findSystemProgram("prlimit");
  if (prlimit === undefined) return;
  const args = ["--pid", String(pid), `--data=${maxBytes}`, "--core=0"];
  const child = spawn(prlimit, args, { env: {}, stdio: "ignore", timeout: PROBE_MS, killSignal: "SIGKILL" });
  // The program has ended meanwhile, or is not ours to limit.
  child.once("error", () => {});
  child.unref();
};
