import type { ChildProcess, StdioOptions } from "node:child_process";
import { once } from "node:events";
import { existsSync, lstatSync, readFileSync } from "node:fs";
import type { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { LlmcError } from "../../base/error.ts";
import { spawnSealed } from "../confine/spawn-sealed.ts";
import { findSystemProgram } from "../os/system-programs.ts";

export interface AirGapProgram {
  readonly argv: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** As for `spawn`; listeners that were opened outside are passed on here. */
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

/** Of root's powers, those over files and its own processes. With any other it could enter the machine's network again. */
const KEPT_CAPABILITIES = [
  "CAP_CHOWN",
  "CAP_DAC_OVERRIDE",
  "CAP_FOWNER",
  "CAP_FSETID",
  "CAP_KILL",
  // Without this one, root can be nobody in a sandbox inside.
  "CAP_SETFCAP",
  "CAP_SETGID",
  "CAP_SETUID",
];

const isRealFolder = (path: string): boolean =>
  lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

const rootArgs: readonly string[] = [
  "--cap-drop",
  "ALL",
  ...KEPT_CAPABILITIES.flatMap((name) => ["--cap-add", name]),
];

const airGapArgs = (
  { argv, cwd, visible = [] }: AirGapProgram,
  infoDescriptor: number,
  isRoot: boolean,
): readonly string[] => [
  "--unshare-net",
  "--unshare-ipc",
  "--die-with-parent",
  "--dev-bind",
  "/",
  "/",
  ...(isRoot ? rootArgs : []),
  ...SERVICE_FOLDERS.filter(isRealFolder).flatMap((path) => ["--tmpfs", path]),
  ...PROGRAM_FOLDERS.filter((path) => existsSync(path)).flatMap((path) => ["--ro-bind", path, path]),
  ...visible.flatMap((path) => ["--bind", path, path]),
  "--chdir",
  cwd,
  "--json-status-fd",
  String(infoDescriptor),
  "--",
  ...argv,
];

const refuse = (cause: unknown): LlmcError =>
  new LlmcError("unavailable", "Air-gapped mode needs a network namespace, which cannot be made here.", {
    hint: "Install bubblewrap and allow it to make user namespaces, or run the server in a container without a network.",
    cause,
  });

/**
 * Runs a program with the machine's files but without its network: there is a loopback of its own, and no packet leaves.
 * Listeners that it inherits still accept. What the program writes is no matter of this: a file that somebody else obeys
 * later, outside, is what the rules about writing are for.
 */
export const enterAirGap = async (
  program: AirGapProgram,
  bwrap = process.platform === "linux" ? findSystemProgram("bwrap") : undefined,
): Promise<AirGapped> => {
  if (bwrap === undefined) throw refuse("bubblewrap is not installed.");
  const status = program.stdio.length;
  const args = airGapArgs(program, status, process.getuid?.() === 0);
  // A connection that was left open outside would still be one in here.
  const child = spawnSealed(bwrap, args, {
    stdio: [...program.stdio, "pipe"],
    env: program.env,
    cwd: "/",
  });
  const report = child.stdio[status] as Readable;
  const exited = once(child, "exit") as Promise<[number | null, NodeJS.Signals | null]>;
  exited.catch(() => undefined);
  if (child.pid === undefined) throw refuse((await once(child, "error"))[0]);
  const reported = buffer(report);
  const [first] = (await Promise.race([once(report, "data"), exited])) as [Buffer | number | null];
  const pid = first instanceof Buffer ? /"child-pid": (\d+)/.exec(String(first))?.[1] : undefined;
  if (pid === undefined) throw refuse(`bubblewrap ended with ${first}.`);
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

/** Whether this process has no network but its own loopback. */
export const isAirGapped = (): boolean => {
  try {
    const [, , ...devices] = readFileSync("/proc/self/net/dev", "utf8").trim().split("\n");
    return devices.every((line) => line.trim().startsWith("lo:"));
  } catch {
    return false;
  }
};
