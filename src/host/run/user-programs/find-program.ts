import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { access, open, readFile, realpath, stat } from "node:fs/promises";
import { posix } from "node:path";
import { LlmcError } from "../../../base/error.ts";
import { isInside } from "../../../base/paths.ts";
import { quoteForMessage } from "../../../base/text.ts";
import { SYSTEM_PATH } from "../../os/system-programs.ts";
import { SYSTEM_FOLDERS } from "../tiers/system-folders.ts";
import { toolChainOf } from "../tiers/tool-chain.ts";
import { programFolders, SEARCHED, type User } from "./program-folders.ts";

/** What a program of the user's needs to run as a command. */
export interface UserProgram {
  readonly name: string;
  readonly path: string;
  readonly realPath: string;
  /** Names the content of a program in the workspace, where it can change; empty elsewhere. */
  readonly content: string;
  /** As a person would call the folder it was found in. */
  readonly location: string;
  /** For the allowlist: the name where a system folder has it, the path otherwise. */
  readonly entry: string;
  /** What starts it, where it is a script. */
  readonly interpreter: string | undefined;
  /** Folders that must be readable besides the system's and the workspace. */
  readonly readPaths: readonly string[];
  /** Another program of this name, in a system folder, which the user's shell finds later. */
  readonly inSystem: string | undefined;
  /** Another program of this name, in the packages or the virtual environment of the workspace. */
  readonly inWorkspace: string | undefined;
}

interface Candidate {
  readonly path: string;
  readonly location: string;
}

const isExecutable = async (path: string): Promise<boolean> => {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
};

/** rustup puts itself in the location of each program and looks for the real one in the user's home. */
const isProxy = async (path: string): Promise<boolean> =>
  posix.basename(path) !== "rustup" && posix.basename(await realpath(path)) === "rustup";

const candidatesFor = async (name: string, user: User): Promise<readonly Candidate[]> => {
  const all = (await programFolders(user)).map(({ folder, location }) => ({
    path: posix.join(folder, name),
    location,
  }));
  const usable = await Promise.all(
    all.map(async ({ path }) => (await isExecutable(path)) && !(await isProxy(path))),
  );
  return all.filter((_one, at) => usable[at]);
};

const digestOf = async (path: string): Promise<string> =>
  createHash("sha256")
    .update(await readFile(path))
    .digest("hex");

/** The first line of a script says what starts it; longer ones do not work anywhere. */
const FIRST_LINE_BYTES = 256;

const firstLine = async (path: string): Promise<string> => {
  const file = await open(path, "r").catch(() => undefined);
  if (file === undefined) return "";
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(FIRST_LINE_BYTES), 0, FIRST_LINE_BYTES, 0);
    return buffer.subarray(0, bytesRead).toString().split("\n")[0] ?? "";
  } finally {
    await file.close();
  }
};

/** The interpreter as the script names it: a path, or a name that `env` looks up. Other options of `env` are not read. */
const namedInterpreter = (line: string): string | undefined => {
  const [program, ...args] = /^#!\s*(.+)$/.exec(line)?.[1]?.trim().split(/\s+/) ?? [];
  if (program === undefined || posix.basename(program) !== "env") return program;
  const rest = args[0] === "-S" ? args.slice(1) : args;
  const name = rest.find((arg) => !/^\w+=/.test(arg));
  return name !== undefined && /^[\w.+-]*\w$/.test(name) && !name.startsWith("-") ? name : undefined;
};

const isSystem = (path: string): boolean => SYSTEM_FOLDERS.some((folder) => isInside(path, folder));

const findInterpreter = async (path: string, user: User): Promise<string | undefined> => {
  const named = namedInterpreter(await firstLine(path));
  if (named === undefined) return undefined;
  // A script of the workspace names what it likes; only a program becomes readable by it.
  if (posix.isAbsolute(named)) return (await isExecutable(named)) ? named : undefined;
  const beside = posix.join(posix.dirname(path), named);
  if (await isExecutable(beside)) return beside;
  const found = await candidatesFor(named, user);
  return found[0]?.path;
};

/** Whether callers may write there. Roots that contain the system's own folders say nothing about those. */
const isWritable = (path: string, { workspace, otherRoots = [] }: User): boolean =>
  isInside(path, workspace) || (!isSystem(path) && otherRoots.some((root) => isInside(path, root)));

/** A file of the workspace names and links to what it likes: what it opens must be a program of the user's own. */
const isUsersProgram = async (path: string, user: User): Promise<boolean> => {
  if (isSystem(path)) return true;
  const found = await candidatesFor(posix.basename(path), user);
  const real = await Promise.all(found.map((one) => realpath(one.path).catch(() => one.path)));
  return [...found.map((one) => one.path), ...real].some((one) => one === path && !isWritable(one, user));
};

const readPathsFor = async (
  written: readonly string[],
  user: User,
  isOfWorkspace: boolean,
): Promise<readonly string[]> => {
  const real = await Promise.all(written.map((path) => realpath(path).catch(() => path)));
  const all = [...written, ...real];
  const isTaken = await Promise.all(
    all.map(async (path) => !isOfWorkspace || (await isUsersProgram(path, user))),
  );
  const paths = all.filter((_path, at) => isTaken[at]);
  const chains = paths.map((path) => toolChainOf(path, user.home));
  const folders = await Promise.all(chains.map((path) => realpath(path).catch(() => path)));
  return [...new Set(folders)].filter(
    (path, _at, all) =>
      !isSystem(path) &&
      !isWritable(path, user) &&
      !all.some((other) => other !== path && isInside(path, other)),
  );
};

/** What programs have downloaded for the user's projects, in folders that hold no credentials. */
const DOWNLOADS: Readonly<Record<string, readonly string[]>> = {
  cargo: [".cargo/registry", ".cargo/git"],
  go: ["go/pkg/mod"],
  gradle: [".gradle/caches"],
};

const downloadsOf = async (name: string, { home }: User): Promise<readonly string[]> => {
  const folders = (DOWNLOADS[name] ?? []).map((folder) => realpath(posix.join(home, folder)).catch(() => ""));
  return (await Promise.all(folders)).filter((folder) => folder !== "");
};

const notFound = (name: string): LlmcError =>
  new LlmcError("file_not_found", `There is no program ${quoteForMessage(name)} that llmc could allow.`, {
    hint: `Searched: ${SEARCHED.join(", ")}. Install it, or give its absolute path.`,
  });

const chosenFrom = async (written: string, user: User): Promise<readonly Candidate[]> => {
  if (!written.includes("/")) return candidatesFor(written, user);
  const path = posix.resolve(user.workspace, written);
  return (await isExecutable(path)) ? [{ path, location: posix.dirname(path) }] : [];
};

/** Finds a program by name or path, as the user would, and says what it needs. */
export const findUserProgram = async (written: string, user: User): Promise<UserProgram> => {
  const candidates = await chosenFrom(written, user);
  const [found] = candidates;
  if (found === undefined || written === "" || written.includes("\0")) throw notFound(written);
  const { path, location } = found;
  const name = posix.basename(path);
  const interpreter = await findInterpreter(path, user);
  const realPath = await realpath(path);
  const isOfWorkspace = isWritable(path, user) || isWritable(realPath, user);
  const isByName = SYSTEM_PATH.includes(posix.dirname(path));
  const otherIn = (where: string): string | undefined =>
    candidates.find((one) => one.location === where && one.path !== path)?.path;
  return {
    name,
    path,
    realPath,
    content: isOfWorkspace ? await digestOf(realPath) : "",
    location,
    // Who wrote a path means that one, whatever else has the name.
    entry: isByName && !written.includes("/") ? name : path,
    interpreter,
    readPaths: [
      ...(await readPathsFor(
        [path, ...(interpreter === undefined ? [] : [interpreter])],
        user,
        isOfWorkspace,
      )),
      ...(await downloadsOf(name, user)),
    ],
    inSystem: isByName ? undefined : otherIn("the system"),
    inWorkspace: isInside(path, user.workspace) ? undefined : otherIn("the workspace"),
  };
};
