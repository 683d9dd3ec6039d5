import { existsSync, lstatSync, openSync, readlinkSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { isInside } from "../../../base/paths.ts";
import { withLimits, withTerminal } from "../tree/limits.ts";
import type { TreeMark } from "../tree/process-scan.ts";
import type { Launch } from "../tree/process-tree.ts";
import { calledArgv } from "./called-as.ts";
import type { CommandRequest, SandboxProfile } from "./contract.ts";
import { commandEnvironment, gitEnvironment } from "./environment.ts";
import { createMountCheck } from "./mount-check.ts";
import type { SandboxFiles } from "./sandbox-files.ts";
import { HOSTS_FILE, NETWORK_FILES, SYSTEM_FILES, SYSTEM_FOLDERS } from "./system-folders.ts";
import { toolChainOf } from "./tool-chain.ts";

/** A mount in the sandbox; deeper mount points come later, and at the same mount point the later kind wins. */
interface Mount {
  readonly path: string;
  readonly args: readonly string[];
  /** The path that must be shown here, for the mount check; undefined where a file of ours is mounted over it. */
  readonly source?: string;
}

const TEMP = "/tmp";
const HOME = "/tmp/home";
const SHARED_MEMORY = "/dev/shm";
/** They are memory: a command must not take all of it. */
const MAX_TEMP_BYTES = 1024 ** 3;

/** Half of what a command may use for its temporary files, and as much again for shared memory. */
const tempBytes = ({ limits }: SandboxProfile): string =>
  String(Math.min(MAX_TEMP_BYTES, Math.floor((limits?.memoryBytes ?? MAX_TEMP_BYTES) / 2)));

const readOnly = (path: string, source = path): Mount => ({
  path,
  args: ["--ro-bind", source, path],
  ...(source === path ? { source } : {}),
});
const writable = (path: string): Mount => ({ path, args: ["--bind", path, path], source: path });

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
const pinnedAbove = (path: string, { writable: roots, protectedInside: closed }: SandboxProfile): Mount[] => {
  const root = roots.find((folder) => folder !== path && isInside(path, folder));
  if (root === undefined) return [];
  const pinned: Mount[] = [];
  for (let folder = dirname(path); folder !== root && isInside(folder, root); folder = dirname(folder))
    pinned.unshift(closed.some((other) => isInside(folder, other)) ? readOnly(folder) : writable(folder));
  return pinned;
};

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/**
 * Nothing can be mounted on a link: its target is hidden or read-only under the target's own name, and the link itself is
 * compared after the run.
 */
const isLink = (path: string): boolean =>
  lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;

/** Empty, or with no rights at all, so that a command that wants to look inside gets an error. */
const hiddenMount = (path: string, file: string, rights: "0500" | "0000"): Mount =>
  isFolder(path)
    ? { path, args: ["--size", "4096", "--perms", rights, "--tmpfs", path] }
    : readOnly(path, file);

const mountsFor = (
  { argv: [program], git }: CommandRequest,
  profile: SandboxProfile,
  files: SandboxFiles,
): readonly Mount[] => {
  const isWritable = (path: string): boolean => profile.writable.some((root) => isInside(path, root));
  const system = [...SYSTEM_FOLDERS, ...SYSTEM_FILES, ...(profile.network ? NETWORK_FILES : [])];
  const { withheld = [], readableRoots = [], emptied = [] } = profile;
  const isVisible =
    isWritable(program) ||
    readableRoots.some((folder) => isInside(program, folder)) ||
    (SYSTEM_FOLDERS.some((folder) => isInside(program, folder)) &&
      !emptied.some((folder) => isInside(program, folder)));
  const isThere = (path: string): boolean => existsSync(path);
  const guarded = [...profile.protectedInside, ...profile.hidden, ...withheld].filter(isThere);
  const withheldFile = profile.refusesWithheld === true ? files.closedFile : files.emptyFile;
  const pinned = new Map(
    guarded.flatMap((path) => pinnedAbove(path, profile)).map((mount) => [mount.path, mount]),
  );
  // Nothing is mounted below what is covered: it would be seen through the cover.
  const covers = [...profile.hidden, ...withheld].filter(isThere);
  return [
    ...(isWritable(TEMP)
      ? []
      : [{ path: TEMP, args: ["--size", tempBytes(profile), "--perms", "1777", "--tmpfs", TEMP] }]),
    ...(isWritable("/etc")
      ? []
      : [readOnly("/etc/passwd", files.passwdFile), readOnly("/etc/group", files.groupFile)]),
    ...system.filter((path) => !isWritable(path)).flatMap(systemMount),
    ...(isWritable("/etc") || profile.network
      ? []
      : [readOnly(HOSTS_FILE, files.hostsFile), readOnly("/etc/nsswitch.conf", files.nameSwitchFile)]),
    ...emptied.filter(isThere).map((path) => hiddenMount(path, files.emptyFile, "0500")),
    ...(isVisible ? [] : [readOnly(toolChainOf(program))]),
    ...readableRoots.filter(isThere).map((path) => readOnly(path)),
    ...profile.writable.filter(isThere).map(writable),
    ...pinned.values(),
    { path: "/proc", args: ["--proc", "/proc"] },
    { path: "/dev", args: ["--dev", "/dev"] },
    {
      path: SHARED_MEMORY,
      args: ["--size", tempBytes(profile), "--perms", "1777", "--tmpfs", SHARED_MEMORY],
    },
    ...profile.protectedInside.filter((path) => isThere(path) && !isLink(path)).map((path) => readOnly(path)),
    ...(profile.writableAgain ?? []).filter(isThere).map(writable),
    ...profile.hidden
      .filter((path) => isThere(path) && !isLink(path))
      .map((path) => hiddenMount(path, files.emptyFile, "0500")),
    ...withheld.filter(isThere).map((path) => hiddenMount(path, withheldFile, "0000")),
    ...(git === undefined ? [] : [readOnly(files.gitUserFile), readOnly(files.gitIgnoreFile)]),
  ]
    .filter(({ path }) => !covers.some((cover) => cover !== path && isInside(path, cover)))
    .sort((one, other) => depthOf(one.path) - depthOf(other.path));
};

/** Whether the real temporary folder is part of the profile, so that no in-memory home can be mounted there. */
export const sharesTemp = ({ writable }: SandboxProfile): boolean =>
  writable.some((root) => isInside(TEMP, root));

/** The filter of system calls that fits. */
const filterFor = ({ noFork }: SandboxProfile, { filters }: SandboxFiles): string | undefined =>
  filters[noFork === true ? "alone" : "free"];

const bubblewrapArgs = (
  request: CommandRequest,
  profile: SandboxProfile,
  files: SandboxFiles,
  mounts: readonly Mount[],
): readonly string[] => {
  const holdsAll = [...profile.writable, ...(profile.readableRoots ?? [])].includes("/");
  const hiddenFolders = [...profile.hidden, ...(profile.emptied ?? []), ...(profile.withheld ?? [])].filter(
    (path) => isFolder(path) && !isLink(path),
  );
  return [
    "--unshare-all",
    ...(profile.network ? ["--share-net"] : []),
    "--die-with-parent",
    // A program that controls a terminal makes its session itself; the terminal is ours, never the user's.
    ...(request.terminal === true ? [] : ["--new-session"]),
    "--cap-drop",
    "ALL",
    ...mounts.flatMap((mount) => mount.args),
    ...(sharesTemp(profile) ? ["--bind", files.home, files.home] : ["--dir", HOME]),
    // Last, when everything inside is mounted. To root, the kernel's settings in /proc stay writable without any power,
    // and one of them (core_pattern) names a program that runs outside. What is left of the first file system, on which
    // everything else is mounted, is memory without a bound.
    ...["/proc", "/dev", ...(holdsAll ? [] : ["/"]), ...hiddenFolders].flatMap((path) => [
      "--remount-ro",
      path,
    ]),
    ...(filterFor(profile, files) === undefined ? [] : ["--seccomp", "3"]),
    "--json-status-fd",
    "4",
    "--block-fd",
    "5",
    "--chdir",
    request.cwd,
    "--",
    ...withTerminal(calledArgv(request), request.terminal),
  ];
};

/** The first process of the sandbox, from the beginning of bubblewrap's report. */
const initFrom = (report: string): number | undefined => {
  const pid = /"child-pid": (\d+)/.exec(report)?.[1];
  return pid === undefined ? undefined : Number(pid);
};

/** Whether the program itself ran: bubblewrap reports an exit code only then. */
export const ranInside = (report: string): boolean => report.includes('"exit-code"');

/** Namespaces: what is not mounted is not there, and the end of the first process is the end of all. */
export const bubblewrapLaunch = (
  request: CommandRequest,
  profile: SandboxProfile,
  files: SandboxFiles,
  mark: TreeMark,
): Launch => {
  const env = sharesTemp(profile)
    ? commandEnvironment(files.home, TEMP, request, profile.network)
    : commandEnvironment(HOME, TEMP, request, profile.network);
  const filter = filterFor(profile, files);
  const mounts = mountsFor(request, profile, files);
  const roots = [
    ...profile.writable,
    ...(profile.readableRoots ?? []),
    ...profile.hidden,
    ...(profile.emptied ?? []),
  ];
  // At the same mount point the later mount wins, so only the last one is visible.
  const expected = new Map(
    mounts
      .filter(({ path }) => roots.some((root) => isInside(path, root)))
      .map((mount) => [mount.path, mount]),
  );
  // Another command may have taken it away for just this moment.
  const guarded = [...profile.protectedInside, ...profile.hidden, ...(profile.withheld ?? [])];
  const unmounted = guarded.filter((path) => !expected.has(path) && !isLink(path));
  const inner = ["bwrap", ...bubblewrapArgs(request, profile, files, mounts)] as const;
  return {
    ...withLimits(inner, mark, files.prlimit, profile.limits),
    cwd: "/",
    env: {
      ...env,
      ...gitEnvironment(request.git, files.gitUserFile),
      LLMC_COMMAND_ID: mark.id,
    },
    ...(filter === undefined ? {} : { input: openSync(filter, "r") }),
    reports: true,
    mark,
    namespaceInit: initFrom,
    mounts: createMountCheck(
      [...expected.values()].map(({ path, source }) => ({ path, source })),
      unmounted,
    ),
  };
};
