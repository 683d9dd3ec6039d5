import { existsSync, lstatSync, openSync, readlinkSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { CommandGround, CommandRequest } from "./contract.ts";
import { commandEnvironment } from "./environment.ts";
import { limited, withTerminal } from "./limits.ts";
import type { PrivatePlace } from "./private-place.ts";
import type { TreeMark } from "./process-scan.ts";
import type { Launch } from "./process-tree.ts";
import { isInside } from "./protected-names.ts";
import { NETWORK_FILES, SYSTEM_FILES, SYSTEM_FOLDERS } from "./system-folders.ts";
import { toolChainOf } from "./tool-chain.ts";

/** What lies at one place inside; the deeper place is mounted later, and at the same place the later kind wins. */
interface Mount {
  readonly path: string;
  readonly args: readonly string[];
}

const TEMP = "/tmp";
const HOME = "/tmp/home";
/** It is memory: a command must not take all of it. */
const TEMP_BYTES = String(1024 ** 3);

const readOnly = (path: string, source = path): Mount => ({ path, args: ["--ro-bind", source, path] });
const writable = (path: string): Mount => ({ path, args: ["--bind", path, path] });

const depthOf = (path: string): number => (path === "/" ? 0 : path.split("/").length - 1);

const systemMount = (path: string): Mount[] => {
  if (!existsSync(path)) return [];
  return lstatSync(path).isSymbolicLink() && SYSTEM_FOLDERS.some((folder) => folder === path)
    ? [{ path, args: ["--symlink", readlinkSync(path), path] }]
    : [readOnly(path)];
};

/**
 * Folders between a writable root and a protected name become mounts themselves: a mount cannot be renamed, else
 * `mv sub other; mkdir sub` would put a fresh, writable one in the protected one's place.
 */
const pinnedAbove = (path: string, roots: readonly string[]): Mount[] => {
  const root = roots.find((folder) => folder !== path && isInside(path, folder));
  if (root === undefined) return [];
  const pinned: Mount[] = [];
  for (let folder = dirname(path); folder !== root && isInside(folder, root); folder = dirname(folder))
    pinned.unshift(writable(folder));
  return pinned;
};

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/** Nothing can be mounted on it; where it leads is hidden by its own name. */
const isLink = (path: string): boolean =>
  lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;

/** Empty, or with no rights at all, so that a command that wants to look inside is told. */
const hiddenMount = (path: string, place: PrivatePlace, rights: "0500" | "0000"): Mount =>
  isFolder(path) ? { path, args: ["--perms", rights, "--tmpfs", path] } : readOnly(path, place.emptyFile);

const mountsFor = (program: string, ground: CommandGround, place: PrivatePlace): readonly Mount[] => {
  const isWritable = (path: string): boolean => ground.writable.some((root) => isInside(path, root));
  const system = [...SYSTEM_FOLDERS, ...SYSTEM_FILES, ...(ground.network ? NETWORK_FILES : [])];
  const visible = [...SYSTEM_FOLDERS, ...(ground.readable ?? [])];
  const isVisible = isWritable(program) || visible.some((folder) => isInside(program, folder));
  const isThere = (path: string): boolean => existsSync(path);
  const guarded = [...ground.readOnly, ...ground.hidden].filter(isThere);
  const pinned = new Map(
    guarded.flatMap((path) => pinnedAbove(path, ground.writable)).map((mount) => [mount.path, mount]),
  );
  return [
    ...(isWritable(TEMP)
      ? []
      : [{ path: TEMP, args: ["--size", TEMP_BYTES, "--perms", "1777", "--tmpfs", TEMP] }]),
    ...(isWritable("/etc")
      ? []
      : [readOnly("/etc/passwd", place.passwdFile), readOnly("/etc/group", place.groupFile)]),
    ...system.filter((path) => !isWritable(path)).flatMap(systemMount),
    ...(isVisible ? [] : [readOnly(toolChainOf(program))]),
    ...(ground.readable ?? []).filter(isThere).map((path) => readOnly(path)),
    ...ground.writable.filter(isThere).map(writable),
    ...pinned.values(),
    { path: "/proc", args: ["--proc", "/proc"] },
    { path: "/dev", args: ["--dev", "/dev"] },
    ...ground.readOnly.filter(isThere).map((path) => readOnly(path)),
    ...ground.hidden
      .filter((path) => isThere(path) && !isLink(path))
      .map((path) => hiddenMount(path, place, "0500")),
    ...(ground.withheld ?? []).filter(isThere).map((path) => hiddenMount(path, place, "0000")),
  ].sort((one, other) => depthOf(one.path) - depthOf(other.path));
};

/** Whether a home in memory has no place, because the real temporary folder is part of the ground. */
export const sharesTemp = ({ writable }: CommandGround): boolean =>
  writable.some((root) => isInside(TEMP, root));

const bubblewrapArgs = (
  request: CommandRequest,
  ground: CommandGround,
  place: PrivatePlace,
): readonly string[] => {
  const [program] = request.argv;
  const hiddenFolders = [...ground.hidden, ...(ground.withheld ?? [])].filter(
    (path) => isFolder(path) && !isLink(path),
  );
  return [
    "--unshare-all",
    ...(ground.network ? ["--share-net"] : []),
    "--die-with-parent",
    // A program that controls a terminal makes its session itself; the terminal is ours, never the user's.
    ...(request.terminal === true ? [] : ["--new-session"]),
    "--cap-drop",
    "ALL",
    ...mountsFor(program, ground, place).flatMap((mount) => mount.args),
    ...(sharesTemp(ground) ? ["--bind", place.home, place.home] : ["--dir", HOME]),
    // Last, when everything that lies inside has its place. To root, the kernel's settings in /proc stay writable
    // without any power, and one of them (core_pattern) names a program that runs outside.
    ...["/proc", ...hiddenFolders].flatMap((path) => ["--remount-ro", path]),
    ...(place.seccompFile === undefined ? [] : ["--seccomp", "3"]),
    "--json-status-fd",
    "4",
    "--chdir",
    request.cwd,
    "--",
    ...withTerminal(request.argv, request.terminal),
  ];
};

/** The first process of the sandbox, from bubblewrap's first words. */
const initFrom = (report: string): number | undefined => {
  const pid = /"child-pid": (\d+)/.exec(report)?.[1];
  return pid === undefined ? undefined : Number(pid);
};

/** Whether the program itself ran: bubblewrap tells an exit code only then. */
export const ranInside = (report: string): boolean => report.includes('"exit-code"');

/** Namespaces: what is not mounted is not there, and the end of the first process is the end of all. */
export const bubblewrapLaunch = (
  request: CommandRequest,
  ground: CommandGround,
  place: PrivatePlace,
  mark: TreeMark,
): Launch => {
  const env = sharesTemp(ground)
    ? commandEnvironment(place.home, TEMP, request.env)
    : commandEnvironment(HOME, TEMP, request.env);
  const filter = ground.network ? place.networkSeccompFile : place.seccompFile;
  const inner = ["bwrap", ...bubblewrapArgs(request, ground, place)] as const;
  return {
    ...limited(inner, mark, place.prlimit),
    cwd: "/",
    env: { ...env, LLMC_COMMAND_ID: mark.id },
    ...(filter === undefined ? {} : { input: openSync(filter, "r") }),
    reports: true,
    mark,
    namespaceInit: initFrom,
  };
};
