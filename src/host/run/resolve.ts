import { constants } from "node:fs";
import { access, realpath, stat } from "node:fs/promises";
import { posix } from "node:path";
import { LlmcError } from "../../base/error.ts";
import { quoteForMessage } from "../../base/text.ts";
import { commandDenied, isListed, notListed, notThisOne } from "../../policy/commands.ts";
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
  /** Real path that relative paths start from; without it, none is taken. */
  readonly cwd?: string;
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

/**
 * Entries that are whole paths come first: there the operator vouches for the file itself, wherever it lies. Of several,
 * the last one was allowed instead of the others.
 */
const findListed = async (name: string, search: ProgramSearch): Promise<readonly Found[]> => {
  const entries = search.allowlist
    .filter((entry) => posix.isAbsolute(entry) && posix.basename(entry) === name)
    .toReversed();
  const found = [
    ...(await Promise.all(entries.map(findAt))),
    search.allowlist.includes(name) ? await findByName(name, search) : undefined,
  ];
  return found.filter((each) => each !== undefined);
};

const notFound = (program: string): LlmcError =>
  new LlmcError(
    "file_not_found",
    `There is no program ${quoteForMessage(program)} in the system's folders.`,
    {
      hint: `By name, only programs in the system's own folders are found; the operator can allow others: llmc allow ${/^[\w.+-]+$/.test(program) ? program : "PROGRAM"}.`,
      needs: [program],
    },
  );

/** `llmc allow` reads relative paths from the workspace, not from where the command would have run. */
const asOperatorWrites = (program: string, { cwd, writableRoots }: ProgramSearch): string => {
  const path = cwd === undefined || !program.includes("/") ? program : posix.resolve(cwd, program);
  return insideRoots(path, writableRoots) ? path : program;
};

const refuseProgram = (program: string, search: ProgramSearch): LlmcError =>
  commandDenied(notListed(program, search.allowlist.filter(isOnMachine), asOperatorWrites(program, search)));

/** The path of a name, whatever links lead to its folder. */
const pathInRealFolder = async (path: string): Promise<string | undefined> => {
  const folder = await realpath(posix.dirname(path)).catch(() => undefined);
  return folder && posix.join(folder, posix.basename(path));
};

/** Several listed paths may be one file, which finds its packages by the path it is started under. */
const findByPath = async (
  path: string,
  candidates: readonly Found[],
  isRelative: boolean,
): Promise<Found | undefined> => {
  const wanted = await pathInRealFolder(path);
  const listed = await Promise.all(candidates.map((each) => pathInRealFolder(each.path)));
  const exact = candidates.find((_each, at) => wanted !== undefined && listed[at] === wanted);
  if (exact !== undefined || isRelative) return exact;
  const real = (await findAt(path))?.real;
  return candidates.find((each) => each.real === real);
};

/** The interpreter of a virtual environment finds it by the path it is started under. */
const isOfEnvironment = (path: string): Promise<boolean> =>
  access(posix.join(posix.dirname(path), "../pyvenv.cfg")).then(
    () => true,
    () => false,
  );

/** A listed name by another path. Messages name only paths that callers can see anyway. */
const refusePath = (program: string, search: ProgramSearch): LlmcError => {
  const { allowlist, writableRoots } = search;
  const name = posix.basename(program);
  const listed = allowlist.find(
    (entry) => posix.basename(entry) === name && insideRoots(entry, writableRoots),
  );
  return commandDenied(notThisOne(program, listed, asOperatorWrites(program, search)));
};

/**
 * Finds the one file that a program name stands for. The name decides what is searched for, and the list decides by
 * name, since a program with several names (busybox) is a shell under one of them. A path is only another way to say
 * the name: it must be a listed path, or, if absolute, lead to the very file that the name leads to.
 */
export const resolveProgram = async (program: string, search: ProgramSearch): Promise<ResolvedProgram> => {
  const name = posix.basename(program);
  const isPath = program.includes("/");
  // The allowlist is checked first, so that callers cannot find out which other programs are installed (FAIL-C6).
  if (
    program === "" ||
    program.includes("\0") ||
    !isListed(name, search.allowlist) ||
    name !== program.split("/").at(-1)
  ) {
    throw refuseProgram(program, search);
  }
  const isRelative = isPath && !posix.isAbsolute(program);
  if (isRelative && search.cwd === undefined) throw refusePath(program, search);
  // Not normalised: the folder before `..` may be a link.
  const path = isRelative ? `${search.cwd}/${program}` : program;
  const candidates = await findListed(name, search);
  const found = isPath ? await findByPath(path, candidates, isRelative) : candidates[0];
  if (found === undefined) throw isPath ? refusePath(program, search) : notFound(program);
  const isSameName = posix.basename(found.real) === posix.basename(found.path);
  const startsReal = isSameName && !(await isOfEnvironment(found.path));
  return { executable: found.real, startPath: startsReal ? found.real : found.path, name };
};
