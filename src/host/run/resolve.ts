import { constants } from "node:fs";
import { access, realpath, stat } from "node:fs/promises";
import { posix } from "node:path";
import { LlmcError } from "../../base/error.ts";
import { quoteForMessage } from "../../base/text.ts";
import { commandDenied, isListed, notListed } from "../../policy/commands.ts";
import { insideRoots } from "../../policy/paths.ts";
import { isOnMachine, SYSTEM_PATH } from "../os/system-programs.ts";

export interface ProgramSearch {
  readonly allowlist: readonly string[];
  /** Absolute; the fixed ones, then those that the operator added. */
  readonly dirs: readonly string[];
  /**
   * Real paths that tools and commands may write: files there do not count as programs unless they are listed by
   * absolute path.
   */
  readonly writableRoots: readonly string[];
  /** The search program that came with us, where the machine has none. */
  readonly ripgrepPath?: string;
}

export interface ResolvedProgram {
  /** Real path: what is judged. */
  readonly executable: string;
  /**
   * What to start. A link in a trusted folder, if the program behaves differently depending on the name it is started
   * under.
   */
  readonly startPath: string;
  /** Base name of the entry that let it through. */
  readonly name: string;
}

interface Found {
  readonly path: string;
  readonly real: string;
}

const findAt = async (path: string): Promise<Found | undefined> => {
  try {
    const real = await realpath(path);
    await access(real, constants.X_OK);
    return (await stat(real)).isFile() ? { path, real } : undefined;
  } catch {
    return undefined;
  }
};

/**
 * A program inside a writable root may have been planted. Roots that contain the system folders themselves are ignored
 * for this check.
 */
const isPlanted = ({ path, real }: Found, { writableRoots }: ProgramSearch): boolean => {
  const roots = writableRoots.filter((root) => !SYSTEM_PATH.some((dir) => insideRoots(dir, [root])));
  return insideRoots(path, roots) || insideRoots(real, roots);
};

const findByName = async (name: string, search: ProgramSearch): Promise<Found | undefined> => {
  for (const dir of search.dirs) {
    const found = posix.isAbsolute(dir) ? await findAt(posix.join(dir, name)) : undefined;
    if (found !== undefined && !isPlanted(found, search)) return found;
  }
  return name === "rg" && search.ripgrepPath !== undefined ? findAt(search.ripgrepPath) : undefined;
};

/** Entries that are whole paths come first: there the operator vouches for the file itself, wherever it lies. */
const findListed = async (name: string, search: ProgramSearch): Promise<readonly Found[]> => {
  const entries = search.allowlist.filter(
    (entry) => posix.isAbsolute(entry) && posix.basename(entry) === name,
  );
  const found = [
    ...(await Promise.all(entries.map(findAt))),
    search.allowlist.includes(name) ? await findByName(name, search) : undefined,
  ];
  return found.filter((each) => each !== undefined);
};

const notFound = (program: string): LlmcError =>
  new LlmcError("file_not_found", `There is no program ${quoteForMessage(program)} on this machine.`, {
    hint: `By name, only programs in the system's own folders are found; the operator can allow others: llmc allow ${/^[\w.+-]+$/.test(program) ? program : "PROGRAM"}.`,
  });

const refuseProgram = (program: string, { allowlist }: ProgramSearch): LlmcError =>
  commandDenied(notListed(program, allowlist.filter(isOnMachine)));

/**
 * Finds the one file that a program name stands for. The name decides what is searched for, and the list decides by
 * name, since a program with several names (busybox) is a shell under one of them. A path is only another way to say
 * the name: it must lead to the very file that the name leads to, and the file that is started is found by the name.
 */
export const resolveProgram = async (program: string, search: ProgramSearch): Promise<ResolvedProgram> => {
  const name = posix.basename(program);
  const isPath = program.includes("/");
  // The allowlist is checked first, so that callers cannot find out which other programs are installed (FAIL-C6).
  // Looking a relative path up would mean trusting the working directory, which callers write.
  if (
    program === "" ||
    program.includes("\0") ||
    !isListed(name, search.allowlist) ||
    name !== program.split("/").at(-1) ||
    (isPath && !posix.isAbsolute(program))
  ) {
    throw refuseProgram(program, search);
  }
  const candidates = await findListed(name, search);
  const requested = isPath ? await findAt(program) : candidates[0];
  const found = candidates.find((each) => each.real === requested?.real);
  if (found !== undefined) {
    const keepsName = posix.basename(found.real) === posix.basename(found.path);
    return { executable: found.real, startPath: keepsName ? found.real : found.path, name };
  }
  throw isPath ? refuseProgram(program, search) : notFound(program);
};
