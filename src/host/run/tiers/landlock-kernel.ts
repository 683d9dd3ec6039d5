import koffi from "koffi";
import {
  CAPABILITIES,
  capabilityHeader,
  FILTER_ADDRESS_AT,
  filterHeader,
  LANDLOCK_VERSION,
  limitPair,
  noCapabilities,
  PR_CAP_AMBIENT,
  PR_CAP_AMBIENT_CLEAR_ALL,
  PR_CAPBSET_DROP,
  PR_SET_NO_NEW_PRIVS,
  PR_SET_PDEATHSIG,
  PR_SET_SECCOMP,
  pathRule,
  RULE_PATH_BENEATH,
  rulesetAttributes,
  SECCOMP_MODE_FILTER,
  SIGKILL,
} from "../../os/kernel-abi.ts";
import { callNumber } from "../../os/system-calls.ts";
import { sealDescriptors } from "../tree/seal-descriptors.ts";

/** The few C calls of the launcher; all act on the calling thread, which is the one that becomes the command. */
const libc = koffi.load(null);
const createRuleset = libc.func("syscall", "long", ["long", "void *", "size_t", "uint32_t"]);
const addRule = libc.func("syscall", "long", ["long", "int", "int", "void *", "uint32_t"]);
const restrictSelf = libc.func("syscall", "long", ["long", "int", "uint32_t"]);
const prctl = libc.func("prctl", "int", ["int", "ulong", "ulong", "ulong", "ulong"]);
const prctlPointer = libc.func("prctl", "int", ["int", "ulong", "void *", "ulong", "ulong"]);
const capset = libc.func("capset", "int", ["void *", "void *"]);
const prlimit = libc.func("prlimit", "int", ["int", "int", "void *", "void *"]);
const fcntl = libc.func("fcntl", "int", ["int", "int", "int"]);
const ioctl = libc.func("ioctl", "int", ["int", "ulong", "int"]);
const signal = libc.func("signal", "void *", ["int", "size_t"]);
const execve = libc.func("execve", "int", ["str", "str *", "str *"]);

const CREATE_RULESET = callNumber("landlock_create_ruleset");
const ADD_RULE = callNumber("landlock_add_rule");
const RESTRICT_SELF = callNumber("landlock_restrict_self");

export class KernelRefusal extends Error {
  readonly step: string;
  readonly errno: number;

  constructor(step: string, errno: number) {
    super(`${step}: errno ${errno}`);
    this.step = step;
    this.errno = errno;
  }
}

const must = (step: string, result: unknown): number => {
  if (Number(result) < 0) throw new KernelRefusal(step, koffi.errno());
  return Number(result);
};

/** Version of Landlock in this kernel; below 1 where there is none. */
export const landlockAbi = (): number => Number(createRuleset(CREATE_RULESET, null, 0, LANDLOCK_VERSION));

export const openRuleset = (abi: number, files: number, network: number, scopes: number): number => {
  const attributes = rulesetAttributes(abi, { files, network, scopes });
  return must("landlock_create_ruleset", createRuleset(CREATE_RULESET, attributes, attributes.length, 0));
};

export const allowBeneath = (ruleset: number, descriptor: number, rights: number): void => {
  const rule = pathRule(rights, descriptor);
  must("landlock_add_rule", addRule(ADD_RULE, ruleset, RULE_PATH_BENEATH, rule, 0));
};

export const restrict = (ruleset: number): void => {
  must("landlock_restrict_self", restrictSelf(RESTRICT_SELF, ruleset, 0));
};

export const forbidNewPrivileges = (): void => {
  must("no_new_privs", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
};

/** The kernel ends this process with the server, also when the server is killed. */
export const dieWithParent = (): void => {
  must("pdeathsig", prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0));
};

/** For root: its identity stays, its powers go, and no program that it starts gets them back. */
export const dropCapabilities = (): void => {
  for (let capability = 0; capability < CAPABILITIES; capability++)
    prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  must("capset", capset(capabilityHeader(), noCapabilities()));
};

export const setLimit = (resource: number, value: bigint): void => {
  must("setrlimit", prlimit(0, resource, limitPair(value), null));
};

export const installFilter = (program: Buffer): void => {
  const header = filterHeader(program);
  header.writeBigUInt64LE(BigInt(koffi.address(program)), FILTER_ADDRESS_AT);
  must("seccomp", prctlPointer(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, header, 0, 0));
};

/** Node marks even its standard streams to be closed when another program takes over, but not all that it inherited. */
export const keepOnlyStandardStreams = (): void => {
  for (const descriptor of [0, 1, 2]) must("fcntl", fcntl(descriptor, 2, 0));
  sealDescriptors();
};

const F_GETFL = 3;
const F_SETFL = 4;
const O_NONBLOCK = 0o4000;

/** Node opens its streams so that they do not block, which programs take for an error: `yes` ends at a full pipe. */
export const restoreBlocking = (): void => {
  for (const descriptor of [0, 1, 2]) {
    const flags = must("fcntl", fcntl(descriptor, F_GETFL, 0));
    must("fcntl", fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK));
  }
};

const TIOCSCTTY = 0x540e;

/** Makes the terminal that is our stdin the one of our session, which has none yet. */
export const controlTerminal = (): void => {
  must("TIOCSCTTY", ioctl(0, TIOCSCTTY, 0));
};

/** Node ignores SIGPIPE, and what is ignored stays so in the program: `yes | head` would not end. */
export const restoreSignals = (): void => {
  signal(13, 0);
};

/** Returns only where it failed. */
export const become = (program: string, argv: readonly string[], env: readonly string[]): never => {
  execve(program, [...argv, null], [...env, null]);
  throw new KernelRefusal("execve", koffi.errno());
};
