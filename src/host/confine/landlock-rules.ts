import { spawnSync } from "node:child_process";
import { MACHINES } from "../os/bpf.ts";
import { CALL_NUMBERS } from "./filter-calls.ts";
import type { LandlockRule } from "./launcher.ts";
import { isFolder, type ResolvedProgram } from "./node-arguments.ts";
import type { ExecutableFiles } from "./node-files.ts";
import { inProgramFile } from "./program-file.ts";
import { argumentAt, buildProgram, hasMachineCode, type SystemCall } from "./system-call-program.ts";

/** Bits of the kernel's landlock.h. */
const EXECUTE = 1 << 0;
const READ_FILE = 1 << 2;
const READ_DIR = 1 << 3;

/** OpenSSL reads a configuration and ends the process where it may not: it gets an empty one. */
export const EMPTY_FILE = "/dev/null";

/** Everything that the program may open; without a rule, a file cannot be opened at all. */
export const landlockRules = (
  { file, libraries }: ExecutableFiles,
  { readable }: ResolvedProgram,
): readonly LandlockRule[] => [
  { path: file, rights: READ_FILE | EXECUTE },
  { path: EMPTY_FILE, rights: READ_FILE },
  // The dynamic linker is among them, which the kernel starts first.
  ...[...new Set(libraries.map(({ real }) => real))].map((path) => ({ path, rights: READ_FILE | EXECUTE })),
  ...readable.map((path) => ({ path, rights: isFolder(path) ? READ_FILE | READ_DIR : READ_FILE })),
];

const VERSION_FLAG = 1;
const LAUNCHER_FAILED = 126;

const askKernel = (): number => {
  if (process.platform !== "linux" || !hasMachineCode()) return 0;
  const column = MACHINES[process.arch]?.column ?? 0;
  const exit: SystemCall = { step: "exit", number: CALL_NUMBERS.exit_group[column], args: [0] };
  const ask: SystemCall = {
    step: "landlock",
    number: CALL_NUMBERS.landlock_create_ruleset[column],
    args: [0, 0, VERSION_FLAG],
    result: { into: exit, at: argumentAt(0) },
  };
  return inProgramFile(buildProgram([ask, exit], 2), (file) => {
    const { status } = spawnSync(file, { stdio: "ignore" });
    return status === null || status === LAUNCHER_FAILED ? 0 : status;
  });
};

let known: number | undefined;

/** The version of Landlock that this kernel has, 0 for none: the exit code of a program that asks for it. */
export const landlockAbi = (): number => {
  known ??= askKernel();
  return known;
};
