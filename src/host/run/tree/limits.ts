import { randomBytes, randomInt } from "node:crypto";
import { readFileSync } from "node:fs";
import { LlmcError } from "../../../base/error.ts";
import { processLimit } from "../../os/process-limit.ts";
import { findSystemProgram } from "../../os/system-programs.ts";
import type { TreeMark } from "./process-scan.ts";

/** Bounds on what a command and everything that it starts may use together. */
export interface CommandLimits {
  readonly memoryBytes: number;
  readonly processes: number;
  readonly fileBytes: number;
  /** Of each process, where no control group bounds them together; by default, as much as for all. */
  readonly dataBytes?: number;
  /** What is written to the command's own folders counts as memory, also where these lie on a disk. */
  readonly filesAreMemory?: boolean;
  /** The program is anybody's: only a control group counts the memory that it takes outside of its processes. */
  readonly needsGroup?: boolean;
}

export const createMark = (): TreeMark => ({
  id: randomBytes(12).toString("hex"),
  // Microseconds of CPU for a realtime process: 35 years and more, so it limits nothing.
  realtimeLimit: String(2 ** 50 + randomInt(2 ** 47)),
});

/** False inside another command of ours, whose mark cannot be replaced by one that is higher. */
export const canMarkByLimit = (): boolean => {
  try {
    return /Max realtime timeout\s+unlimited\s+unlimited/.test(readFileSync("/proc/self/limits", "utf8"));
  } catch {
    return false;
  }
};

/** The program behind `setsid`, where it is to control the terminal that its streams are. */
export const withTerminal = (
  argv: readonly [string, ...string[]],
  terminal: boolean | undefined,
): readonly [string, ...string[]] => {
  if (terminal !== true) return argv;
  const setsid = findSystemProgram("setsid");
  if (setsid === undefined)
    throw new LlmcError("unavailable", "A terminal needs the program setsid, which this machine lacks.", {
      hint: "Start the process without pty, or install util-linux.",
    });
  return [setsid, "-c", ...argv];
};

/** The program behind `prlimit`, where there is one: no core files, a bound on processes, the tree's mark. */
export const withLimits = (
  argv: readonly [string, ...string[]],
  mark: TreeMark,
  prlimit: string | undefined,
  bounds: CommandLimits | undefined,
): { readonly file: string; readonly args: readonly string[] } => {
  const [file, ...args] = argv;
  if (prlimit === undefined) return { file, args };
  const limits = ["--core=0", `--nproc=${processLimit(bounds?.processes)}`];
  if (bounds !== undefined) limits.push(`--fsize=${bounds.fileBytes}`);
  if (bounds?.dataBytes !== undefined) limits.push(`--data=${bounds.dataBytes}`);
  if (canMarkByLimit()) limits.push(`--rttime=${mark.realtimeLimit}`);
  return { file: prlimit, args: [...limits, "--", ...argv] };
};
