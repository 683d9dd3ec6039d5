import type { ChildProcess, StdioOptions } from "node:child_process";
import { once } from "node:events";
import { existsSync, lstatSync, readFileSync, writeFileSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { LlmcError } from "../../base/error.ts";
import { spawnSealed } from "../confine/spawn-sealed.ts";
import { isInetSocket } from "../net/socket-family.ts";
import { findSystemProgram } from "../os/system-programs.ts";
import { airGapFilter } from "./gap-filter.ts";

export interface AirGapProgram {
  readonly argv: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** As for `spawn`. An open socket of the machine's network would be a way out, no matter who opened it. */
  readonly stdio: Exclude<StdioOptions, string>;
  /** Folders below those that are hidden which stay visible: where our own sockets are. */
  readonly visible?: readonly string[];
}

export interface AirGapped {
  readonly child: ChildProcess;
  /** Of the program itself. */
  readonly pid: number;
  /** Rejects where the program never ran. */
  readonly gone: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
}

/**
 * Where services of the machine have their Unix sockets, which a network namespace does not close: the resolver sends a
 * packet for whoever asks it for a name, and so do the caches of user names and the managers of containers.
 */
const SERVICE_FOLDERS = ["/run", "/var/run", "/var/lib/sss/pipes"];

/** Where NixOS keeps the programs of the system. */
const PROGRAM_FOLDERS = ["/run/current-system", "/run/wrappers", "/run/opengl-driver"];

/**
 * Of root's powers, those over files and its own processes. With any other it could enter the machine's network again:
 * by becoming another user it would have the rights over the processes of that one, and so their sockets.
 */
const KEPT_CAPABILITIES = [
  "CAP_CHOWN",
  "CAP_DAC_OVERRIDE",
  "CAP_FOWNER",
  "CAP_FSETID",
  "CAP_KILL",
  // In its own network: for backends with low ports.
  "CAP_NET_BIND_SERVICE",
  // Without this one, root can be nobody in a sandbox inside.
  "CAP_SETFCAP",
];

const CONTROL_GROUPS = "/sys/fs/cgroup";

const isRealFolder = (path: string): boolean =>
  lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

const rootArgs: readonly string[] = [
  "--cap-drop",
  "ALL",
  ...KEPT_CAPABILITIES.flatMap((name) => ["--cap-add", name]),
];

/**
 * To root, the kernel's devices stay writable there without any power, and one of their settings names a program that runs
 * outside (uevent_helper). Control groups are made below it. `/proc/sys` cannot be covered: the kernel then lets no sandbox
 * inside have a /proc of its own.
 */
const deviceArgs = (): readonly string[] => [
  ...["--ro-bind", "/sys", "/sys"],
  ...(existsSync(CONTROL_GROUPS) ? ["--dev-bind", CONTROL_GROUPS, CONTROL_GROUPS] : []),
];

/** Descriptors of bubblewrap beside those of the program. */
interface Descriptors {
  readonly status: number;
  /** Where it reads the filter of system calls; undefined where there is none for the machine. */
  readonly filter: number | undefined;
  /** For root: where bubblewrap names the process whose users are to be mapped, and where it waits for that. */
  readonly mapping: { readonly info: number; readonly block: number } | undefined;
}

/**
 * Root gets a user namespace, too, so that the kernel lets it look into no process outside, of whichever user. An ordinary
 * user's is made by bubblewrap itself, with one user in it.
 */
const userNamespaceArgs = ({ mapping }: Descriptors): readonly string[] =>
  mapping === undefined
    ? []
    : [
        "--unshare-user",
        ...["--info-fd", String(mapping.info), "--userns-block-fd", String(mapping.block)],
        ...rootArgs,
      ];

/** All users are who they are outside: root keeps its power over their files. */
const mapUsers = (pid: number): void => {
  for (const kind of ["uid", "gid"]) {
    const lines = readFileSync(`/proc/self/${kind}_map`, "utf8").trim().split("\n");
    const same = lines
      .map((line) => line.trim().split(/\s+/))
      .map(([first, , count]) => [first, first, count]);
    writeFileSync(`/proc/${pid}/${kind}_map`, same.map((line) => line.join(" ")).join("\n"));
  }
};

const airGapArgs = (
  { argv, cwd, visible = [] }: AirGapProgram,
  descriptors: Descriptors,
): readonly string[] => [
  "--unshare-net",
  "--unshare-ipc",
  "--die-with-parent",
  "--dev-bind",
  "/",
  "/",
  ...(isRealFolder("/sys") ? deviceArgs() : []),
  ...userNamespaceArgs(descriptors),
  ...SERVICE_FOLDERS.filter(isRealFolder).flatMap((path) => ["--tmpfs", path]),
  ...PROGRAM_FOLDERS.filter((path) => existsSync(path)).flatMap((path) => ["--ro-bind", path, path]),
  ...visible.flatMap((path) => ["--bind", path, path]),
  "--chdir",
  cwd,
  "--json-status-fd",
  String(descriptors.status),
  ...(descriptors.filter === undefined ? [] : ["--seccomp", String(descriptors.filter)]),
  "--",
  ...argv,
];

const refuse = (cause: unknown): LlmcError =>
  new LlmcError("unavailable", "Air-gapped mode needs a network namespace, which cannot be made here.", {
    hint: "Install bubblewrap and allow it to make user namespaces, or run the server in a container without a network.",
    cause,
  });

const refuseSocket = (): LlmcError =>
  new LlmcError("unavailable", "In air-gapped mode no stream of the program may be a network connection.", {
    hint: "Start it with pipes or at a terminal, or serve over HTTP.",
  });

/**
 * Runs a program with the machine's files but without its network: it has a loopback of its own, and no packet leaves.
 * What the program writes is not restricted here: other rules keep it from writing files that programs outside obey.
 */
export const enterAirGap = async (
  program: AirGapProgram,
  bwrap = process.platform === "linux" ? findSystemProgram("bwrap") : undefined,
): Promise<AirGapped> => {
  if (bwrap === undefined) throw refuse("bubblewrap is not installed.");
  const inet = program.stdio.find((one) => typeof one === "number" && isInetSocket(one));
  if (inet !== undefined) throw refuseSocket();
  const status = program.stdio.length;
  const rules = airGapFilter();
  const filter = rules && status + 1;
  const next = filter === undefined ? status + 1 : status + 2;
  const mapping = process.getuid?.() === 0 ? { info: next, block: next + 1 } : undefined;
  const args = airGapArgs(program, { status, filter, mapping });
  const pipes = [filter, mapping?.info, mapping?.block].filter((one) => one !== undefined);
  // A connection that was left open outside would still be one in here.
  const child = spawnSealed(bwrap, args, {
    stdio: [...program.stdio, "pipe", ...pipes.map(() => "pipe" as const)],
    env: program.env,
    cwd: "/",
  });
  const report = child.stdio[status] as Readable;
  const exited = once(child, "exit") as Promise<[number | null, NodeJS.Signals | null]>;
  exited.catch(() => undefined);
  if (child.pid === undefined) throw refuse((await once(child, "error"))[0]);
  if (filter !== undefined) (child.stdio[filter] as Writable).on("error", () => {}).end(rules);
  const reported = buffer(report);
  const [first] = (await Promise.race([once(report, "data"), exited])) as [Buffer | number | null];
  const pid = first instanceof Buffer ? /"child-pid": (\d+)/.exec(String(first))?.[1] : undefined;
  if (pid === undefined) throw refuse(`bubblewrap ended with ${first}.`);
  if (mapping !== undefined) {
    (child.stdio[mapping.info] as Readable).resume();
    try {
      mapUsers(Number(pid));
    } catch (thrown) {
      child.kill("SIGKILL");
      throw refuse(thrown);
    }
    (child.stdio[mapping.block] as Writable).end("x");
  }
  const whenGone = async (): Promise<Awaited<AirGapped["gone"]>> => {
    const [code, signal] = await exited;
    // bubblewrap reports an exit code only where the program ran.
    if (!String(await reported).includes('"exit-code"') && signal === null) throw refuse(`exit code ${code}`);
    return { code, signal };
  };
  const gone = whenGone();
  gone.catch(() => undefined);
  return { child, pid: Number(pid), gone };
};
