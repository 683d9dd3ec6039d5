import {
  ALL_NETWORK,
  ALL_SCOPES,
  CAPABILITIES,
  capabilityHeader,
  FILTER_ADDRESS_AT,
  filterHeader,
  handledRights,
  limitPair,
  noCapabilities,
  PR_CAP_AMBIENT,
  PR_CAP_AMBIENT_CLEAR_ALL,
  PR_CAPBSET_DROP,
  PR_SET_NO_NEW_PRIVS,
  PR_SET_PDEATHSIG,
  pathRule,
  RLIMIT_CORE,
  RLIMIT_DATA,
  RLIMIT_NOFILE,
  RLIMIT_NPROC,
  RULE_DESCRIPTOR_AT,
  RULE_PATH_BENEATH,
  rulesetAttributes,
  SECCOMP_SET_MODE_FILTER,
  SIGKILL,
} from "../os/kernel-abi.ts";
import { type CallName, callNumber } from "../os/system-calls.ts";
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

type Call = (
  step: string,
  name: CallName,
  args: SystemCall["args"],
  more?: Pick<SystemCall, "result" | "isOptional">,
) => SystemCall;

const callsOf =
  (arch: string): Call =>
  (step, name, args, more = {}) => ({ step, number: callNumber(name, arch), args, ...more });

const openAs = (call: Call, step: string, path: string, descriptor: number): readonly SystemCall[] => {
  const copy = call(step, "dup3", [0, descriptor, O_CLOEXEC]);
  const result = { into: copy, at: argumentAt(0) };
  return [call(step, "openat", [AT_FDCWD, text(path), O_CLOEXEC, 0], { result }), copy];
};

const limit = (call: Call, resource: number, value: number): SystemCall =>
  call("setrlimit", "prlimit64", [0, resource, { bytes: limitPair(BigInt(value)) }, 0]);

/** For root: its identity stays, its powers go, and no program that it starts gets them back. */
const dropCapabilities = (call: Call): readonly SystemCall[] => {
  const optional = { isOptional: true };
  return [
    ...Array.from({ length: CAPABILITIES }, (_, capability) =>
      call("bounding set", "prctl", [PR_CAPBSET_DROP, capability, 0, 0, 0], optional),
    ),
    call("ambient set", "prctl", [PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0], optional),
    call("capset", "capset", [{ bytes: capabilityHeader() }, { bytes: noCapabilities() }]),
  ];
};

const makeRuleset = (
  call: Call,
  { abi, rules }: NonNullable<LaunchPlan["landlock"]>,
  descriptor: number,
): readonly SystemCall[] => {
  const attributes = rulesetAttributes(abi, {
    files: handledRights(abi),
    network: ALL_NETWORK,
    scopes: ALL_SCOPES,
  });
  const copy = call("ruleset", "dup3", [0, descriptor, O_CLOEXEC]);
  return [
    call(
      "landlock_create_ruleset",
      "landlock_create_ruleset",
      [{ bytes: attributes }, attributes.length, 0],
      {
        result: { into: copy, at: argumentAt(0) },
      },
    ),
    copy,
    ...rules.flatMap(({ path, rights }) => {
      const rule: Datum = { bytes: pathRule(rights) };
      return [
        call(`open ${path}`, "openat", [AT_FDCWD, text(path), O_PATH | O_CLOEXEC, 0], {
          result: { into: rule, at: RULE_DESCRIPTOR_AT },
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
  const header: Datum = {
    bytes: filterHeader(filter.program),
    pointers: [{ at: FILTER_ADDRESS_AT, to: program }],
  };
  return [
    ...filter.ownPidAt.map((at) => call("getpid", "getpid", [], { result: { into: program, at } })),
    call("seccomp", "seccomp", [SECCOMP_SET_MODE_FILTER, 0, header]),
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
