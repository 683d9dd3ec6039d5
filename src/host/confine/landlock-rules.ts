import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { EXECUTE, LANDLOCK_VERSION, READ_DIR, READ_FILE } from "../os/kernel-abi.ts";
import { callNumber } from "../os/system-calls.ts";
import type { LandlockRule } from "./launcher.ts";
import { isFolder, type ResolvedProgram } from "./node-arguments.ts";
import type { ExecutableFiles } from "./node-files.ts";
import { inProgramFile } from "./program-file.ts";
import { argumentAt, buildProgram, hasMachineCode, type SystemCall } from "./system-call-program.ts";

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

const LAUNCHER_FAILED = 126;

/** What this machine needs for Landlock: the kernel's version of it, and a folder in which programs may be started. */
export interface LandlockSupport {
  readonly abi: number;
  readonly folder: string;
}

const versionProgram = (): Buffer => {
  const exit: SystemCall = { step: "exit", number: callNumber("exit_group"), args: [0] };
  const ask: SystemCall = {
    step: "landlock",
    number: callNumber("landlock_create_ruleset"),
    args: [0, 0, LANDLOCK_VERSION],
    result: { into: exit, at: argumentAt(0) },
  };
  return buildProgram([ask, exit], 2);
};

/** Undefined where no program can be started from the folder: administrators mount some of them so. */
const askIn = (folder: string): number | undefined => {
  try {
    const { status } = inProgramFile(folder, versionProgram, (file) => spawnSync(file, { stdio: "ignore" }));
    return status === null ? undefined : status === LAUNCHER_FAILED ? 0 : status;
  } catch {
    return undefined;
  }
};

const findSupport = (): LandlockSupport | undefined => {
  if (process.platform !== "linux" || !hasMachineCode()) return undefined;
  for (const folder of [tmpdir(), `/run/user/${process.getuid?.()}`, "/dev/shm"]) {
    const abi = askIn(folder);
    if (abi !== undefined) return abi < 1 ? undefined : { abi, folder };
  }
  return undefined;
};

let known: LandlockSupport | false | undefined;

/** Asked once, by a program whose exit code is the kernel's answer. */
export const landlockSupport = (): LandlockSupport | undefined => {
  known ??= findSupport() ?? false;
  return known || undefined;
};

/** Where a program that was made here can be started. */
export const programFolder = (): string => landlockSupport()?.folder ?? tmpdir();
