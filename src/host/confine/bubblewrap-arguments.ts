import type { ResolvedProgram } from "./node-arguments.ts";
import type { ExecutableFiles } from "./node-files.ts";

/** Inside; nothing else is in that folder. */
const LAUNCHER_PATH = "/.confined/launch";

interface Descriptors {
  /** From which bubblewrap reads the launcher. */
  readonly launcher: number;
  /** On which it reports the process that it started. */
  readonly info: number;
}

const depthOf = (path: string): number => path.split("/").length;

/** Mounts are made in this order: what lies deeper comes later. */
const mountArgs = (
  { file, libraries }: ExecutableFiles,
  { readable, links = [] }: ResolvedProgram,
): readonly string[] =>
  [{ path: file, real: file }, ...libraries, ...links, ...readable.map((path) => ({ path, real: path }))]
    .sort((one, other) => depthOf(one.path) - depthOf(other.path))
    .flatMap(({ path, real }) => ["--ro-bind", real, path]);

/**
 * Namespaces of its own for everything: what is not mounted is not there, there is no network but a loopback of its own,
 * and no other process. There is no /proc, /dev or /tmp either, and nothing can be written. Of the filter and the limits,
 * the launcher takes care.
 */
export const bubblewrapArgs = (
  files: ExecutableFiles,
  resolved: ResolvedProgram,
  { launcher, info }: Descriptors,
): readonly string[] => [
  "--unshare-all",
  "--die-with-parent",
  "--new-session",
  // One process less, and the program's id is that of the namespace's first process.
  "--as-pid-1",
  "--cap-drop",
  "ALL",
  "--clearenv",
  "--hostname",
  "confined",
  ...mountArgs(files, resolved),
  "--perms",
  "0500",
  "--ro-bind-data",
  String(launcher),
  LAUNCHER_PATH,
  // What is left of the first file system is memory without a bound.
  "--remount-ro",
  "/",
  "--chdir",
  "/",
  "--info-fd",
  String(info),
  "--",
  LAUNCHER_PATH,
];
