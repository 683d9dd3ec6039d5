import { MACHINES } from "../os/bpf.ts";
import { type CallName, SYSTEM_CALLS } from "../os/system-calls.ts";
import { confinedFilter } from "./filter.ts";
import { argumentAt, type Datum, type SystemCall, text, textList } from "./system-call-program.ts";

/** What a file or folder may be used for, under Landlock. */
export interface LandlockRule {
  readonly path: string;
  readonly rights: number;
}

export interface LaunchPlan {
  /** Inside, as all paths here. */
  readonly file: string;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly descriptors: number;
  readonly dataBytes: number | undefined;
  /** For RLIMIT_NPROC, which counts the threads of a user. */
  readonly threads: number;
  /** Left out in namespaces, where nothing else can be seen. */
  readonly landlock?: { readonly abi: number; readonly rules: readonly LandlockRule[] };
  /**
   * Descriptors to close: those that the parent process has open, and gaps in the program's own list, which would be
   * inherited by accident.
   */
  readonly unwanted: readonly number[];
  /** Where failures are reported; the program never has it. It comes after all descriptors that the program gets. */
  readonly reportDescriptor: number;
}

/** Read before anything else: the process is under its bounds. */
export const GO = "g";
/** Written then, so that a launcher whose starter is gone ends here. */
export const READY = "r";

const AT_FDCWD = -100;
const O_CLOEXEC = 0o2000000;
const O_PATH = 0o10000000;
const AT_EMPTY_PATH = 0x1000;
const F_SETFD = 2;
const FD_CLOEXEC = 1;
const SIGKILL = 9;
const PR_SET_PDEATHSIG = 1;
const PR_CAPBSET_DROP = 24;
const PR_SET_NO_NEW_PRIVS = 38;
const PR_CAP_AMBIENT = 47;
const PR_CAP_AMBIENT_CLEAR_ALL = 4;
const RLIMIT_DATA = 2;
const RLIMIT_CORE = 4;
const RLIMIT_NPROC = 6;
const RLIMIT_NOFILE = 7;
const RULE_PATH_BENEATH = 1;
const SET_MODE_FILTER = 1;

type Call = (
  step: string,
  name: CallName,
  args: SystemCall["args"],
  more?: Pick<SystemCall, "result" | "isOptional">,
) => SystemCall;

const callsOf = (arch: string): Call => {
  const column = MACHINES[arch]?.column ?? 0;
  return (step, name, args, more = {}) => ({ step, number: SYSTEM_CALLS[name][column], args, ...more });
};

const openAs = (call: Call, step: string, path: string, descriptor: number): readonly SystemCall[] => {
  const copy = call(step, "dup3", [0, descriptor, O_CLOEXEC]);
  const result = { into: copy, at: argumentAt(0) };
  return [call(step, "openat", [AT_FDCWD, text(path), O_CLOEXEC, 0], { result }), copy];
};

const limit = (call: Call, resource: number, value: number): SystemCall => {
  const pair = Buffer.alloc(16);
  pair.writeBigUInt64LE(BigInt(value), 0);
  pair.writeBigUInt64LE(BigInt(value), 8);
  return call("setrlimit", "prlimit64", [0, resource, { bytes: pair }, 0]);
};

/** For root: its identity stays, its powers go, and no program that it starts gets them back. */
const dropCapabilities = (call: Call): readonly SystemCall[] => {
  const header = Buffer.alloc(8);
  header.writeUInt32LE(0x20080522, 0);
  const optional = { isOptional: true };
  return [
    ...Array.from({ length: 64 }, (_, capability) =>
      call("bounding set", "prctl", [PR_CAPBSET_DROP, capability, 0, 0, 0], optional),
    ),
    call("ambient set", "prctl", [PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0], optional),
    call("capset", "capset", [{ bytes: header }, { bytes: Buffer.alloc(24) }]),
  ];
};

/** All rights on files that this kernel can take away. */
const handledRights = (abi: number): number => 2 ** (abi >= 5 ? 16 : abi >= 3 ? 15 : abi >= 2 ? 14 : 13) - 1;

const makeRuleset = (
  call: Call,
  { abi, rules }: NonNullable<LaunchPlan["landlock"]>,
  descriptor: number,
): readonly SystemCall[] => {
  const attributes = Buffer.alloc(24);
  attributes.writeBigUInt64LE(BigInt(handledRights(abi)), 0);
  attributes.writeBigUInt64LE(0b11n, 8);
  attributes.writeBigUInt64LE(0b11n, 16);
  const size = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
  const copy = call("ruleset", "dup3", [0, descriptor, O_CLOEXEC]);
  return [
    call("landlock_create_ruleset", "landlock_create_ruleset", [{ bytes: attributes }, size, 0], {
      result: { into: copy, at: argumentAt(0) },
    }),
    copy,
    ...rules.flatMap(({ path, rights }) => {
      const rule: Datum = { bytes: Buffer.alloc(12) };
      rule.bytes.writeBigUInt64LE(BigInt(rights), 0);
      return [
        call(`open ${path}`, "openat", [AT_FDCWD, text(path), O_PATH | O_CLOEXEC, 0], {
          result: { into: rule, at: 8 },
        }),
        call(`rule for ${path}`, "landlock_add_rule", [descriptor, RULE_PATH_BENEATH, rule, 0]),
      ];
    }),
  ];
};

const installFilter = (call: Call, plan: LaunchPlan, arch: string): readonly SystemCall[] => {
  const filter = confinedFilter({ programDescriptor: plan.descriptors }, arch);
  if (filter === undefined) throw new Error(`There is no filter for ${arch}.`);
  const program: Datum = { bytes: filter.program };
  const header = Buffer.alloc(16);
  header.writeUInt16LE(filter.program.length / 8, 0);
  return [
    ...filter.ownPidAt.map((at) => call("getpid", "getpid", [], { result: { into: program, at } })),
    call("seccomp", "seccomp", [SET_MODE_FILTER, 0, { bytes: header, pointers: [{ at: 8, to: program }] }]),
  ];
};

/**
 * What a process does to itself before it becomes the confined program. The program's file is open under a number that the
 * new limit of descriptors does not reach, and is closed as it starts: the filter allows to start what that number holds,
 * and nothing can ever be put there again.
 */
export const launchCalls = (plan: LaunchPlan, arch: string = process.arch): readonly SystemCall[] => {
  const call = callsOf(arch);
  const { descriptors, landlock, dataBytes, reportDescriptor: report } = plan;
  const ruleset = descriptors + 1;
  const env = Object.entries(plan.env).map(([name, value]) => `${name}=${value}`);
  return [
    ...plan.unwanted.map((one) => call("close", "close", [one], { isOptional: true })),
    // For what has been opened since; kernels before 5.9 have no such call.
    call("close", "close_range", [report + 1, 0xffffffff, 0], { isOptional: true }),
    call("close on exec", "fcntl", [report, F_SETFD, FD_CLOEXEC]),
    call("parent's death", "prctl", [PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0]),
    call("wait", "read", [report, { bytes: Buffer.alloc(8) }, GO.length]),
    call("report", "write", [report, text(READY), READY.length]),
    ...openAs(call, "open the program", plan.file, descriptors),
    ...(landlock === undefined ? [] : makeRuleset(call, landlock, ruleset)),
    limit(call, RLIMIT_NOFILE, descriptors),
    limit(call, RLIMIT_CORE, 0),
    limit(call, RLIMIT_NPROC, plan.threads),
    ...(dataBytes === undefined ? [] : [limit(call, RLIMIT_DATA, dataBytes)]),
    ...dropCapabilities(call),
    call("no_new_privs", "prctl", [PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0]),
    ...(landlock === undefined
      ? []
      : [call("landlock_restrict_self", "landlock_restrict_self", [ruleset, 0])]),
    ...installFilter(call, plan, arch),
    call("execveat", "execveat", [descriptors, text(""), textList(plan.argv), textList(env), AT_EMPTY_PATH]),
  ];
};
