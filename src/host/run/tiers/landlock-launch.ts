/**
 * Run as a program of its own: confines itself for good, then becomes the command. It reads its instructions from
 * descriptor 3 and reports a failure on descriptor 4.
 */
import { closeSync, existsSync, readFileSync, realpathSync, writeSync } from "node:fs";
import { flushCompileCache } from "node:module";
import {
  ALL_NETWORK,
  ALL_SCOPES,
  handledRights,
  RLIMIT_CORE,
  RLIMIT_DATA,
  RLIMIT_FSIZE,
  RLIMIT_NPROC,
  RLIMIT_RTTIME,
} from "../../os/kernel-abi.ts";
import type { LandlockSpec } from "./landlock.ts";
import {
  allowBeneath,
  become,
  controlTerminal,
  dieWithParent,
  dropCapabilities,
  forbidNewPrivileges,
  installFilter,
  KernelRefusal,
  keepOnlyStandardStreams,
  landlockAbi,
  openRuleset,
  restoreBlocking,
  restoreSignals,
  restrict,
  setLimit,
} from "./landlock-kernel.ts";
import { DEVICE, fullRights, type Grant, grantPath, grantTree, READ } from "./landlock-rules.ts";
import { seccompProgram } from "./seccomp.ts";
import { HOSTS_FILE, NETWORK_FILES, SYSTEM_FILES, SYSTEM_FOLDERS } from "./system-folders.ts";

const DEVICES = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];
/** Facts of the machine; nothing about its processes. */
const MACHINE_FILES = ["cpuinfo", "meminfo", "filesystems", "version", "loadavg"].map(
  (name) => `/proc/${name}`,
);
/**
 * Nothing can be put in the place of the real ones here, so programs see the machine's accounts, and the names of hosts
 * beside `localhost`.
 */
const NAME_FILES = ["/etc/passwd", "/etc/group", HOSTS_FILE];

/** What is closed inside gets no right from the folder around it: none could be taken back. */
const grantReadable = (grant: Grant, path: string, closed: readonly string[]): void => {
  if (existsSync(path)) grantTree(grant, realpathSync.native(path), READ, { readOnly: [], closed });
};

const confineFiles = (spec: LandlockSpec, abi: number): number => {
  const network = spec.profile.network ? 0 : ALL_NETWORK;
  const handled = handledRights(abi);
  const ruleset = openRuleset(abi, handled, network, ALL_SCOPES);
  const grant: Grant = (descriptor, rights) => {
    if ((rights & handled) !== 0) allowBeneath(ruleset, descriptor, rights & handled);
  };
  const {
    writable,
    protectedInside,
    writableAgain = [],
    hidden,
    withheld = [],
    emptied = [],
    readableRoots = [],
  } = spec.profile;
  const guarded = { readOnly: protectedInside, closed: [...hidden, ...withheld] };
  for (const path of SYSTEM_FOLDERS) grantReadable(grant, path, [...guarded.closed, ...emptied]);
  for (const path of spec.readable) grantReadable(grant, path, guarded.closed);
  for (const path of [...SYSTEM_FILES, ...NAME_FILES, ...MACHINE_FILES]) grantPath(grant, path, READ);
  if (spec.profile.network) for (const path of NETWORK_FILES) grantPath(grant, path, READ);
  for (const path of spec.terminal ? [...DEVICES, "/dev/tty"] : DEVICES) grantPath(grant, path, DEVICE);
  for (const path of readableRoots) grantTree(grant, path, READ, guarded);
  for (const path of writable) grantTree(grant, path, fullRights(abi), guarded);
  for (const path of writableAgain) grantTree(grant, path, fullRights(abi), guarded);
  for (const path of spec.privateFolders) grantPath(grant, path, fullRights(abi));
  return ruleset;
};

const launch = (spec: LandlockSpec): never => {
  const abi = Math.min(landlockAbi(), spec.maxAbi ?? Number.POSITIVE_INFINITY);
  if (abi < 1) throw new KernelRefusal("landlock", 0);
  const { network, noFork = false, limits } = spec.profile;
  const filter = seccompProgram({
    noFork,
    landlock: { pid: process.pid, abi, network },
  });
  if (filter === undefined) throw new KernelRefusal("seccomp", 0);
  const ruleset = confineFiles(spec, abi);
  setLimit(RLIMIT_CORE, 0n);
  setLimit(RLIMIT_NPROC, BigInt(spec.processLimit));
  if (limits !== undefined) setLimit(RLIMIT_FSIZE, BigInt(limits.fileBytes));
  if (spec.realtimeLimit !== undefined) setLimit(RLIMIT_RTTIME, BigInt(spec.realtimeLimit));
  dropCapabilities();
  forbidNewPrivileges();
  restrict(ruleset);
  closeSync(ruleset);
  restoreBlocking();
  restoreSignals();
  const [program = "", ...args] = process.argv.slice(2);
  const argv = [spec.calledAs ?? program, ...args];
  const env = Object.entries(spec.env).map(([name, value]) => `${name}=${value}`);
  const dataBytes = limits?.dataBytes;
  const isBoundLater = dataBytes !== undefined && spec.prlimit !== undefined;
  // This process is still Node, which uses more memory than a command may. Under this limit it dies if one of its threads
  // allocates before exec, so where possible prlimit sets the limit on itself instead.
  if (dataBytes !== undefined && !isBoundLater) setLimit(RLIMIT_DATA, BigInt(dataBytes));
  installFilter(filter);
  return isBoundLater
    ? become(spec.prlimit, [spec.prlimit, `--data=${dataBytes}`, "--", ...argv], env)
    : become(program, argv, env);
};

try {
  // Node would do this on exit, but this process never exits: it becomes another program (exec).
  flushCompileCache();
  keepOnlyStandardStreams();
  dieWithParent();
  const spec = JSON.parse(readFileSync(3, "utf8")) as LandlockSpec;
  closeSync(3);
  // The server ended before the kernel was asked to end us with it.
  if (process.ppid !== spec.parent) process.exit(1);
  if (spec.terminal) controlTerminal();
  launch(spec);
} catch (thrown) {
  const { step, errno } = thrown instanceof KernelRefusal ? thrown : { step: String(thrown), errno: 0 };
  writeSync(4, JSON.stringify({ step, errno }));
  process.exit(126);
}
