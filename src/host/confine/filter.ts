import {
  ALLOW,
  argument,
  EACCES,
  ENOSYS,
  EPERM,
  EROFS,
  encodeFilter,
  filterStart,
  give,
  type Instruction,
  JUMP_ANY_BIT,
  JUMP_EQUAL,
  load,
  MACHINES,
  mask,
  refuseOthers,
  refusePointer,
  unless,
  when,
} from "../os/bpf.ts";
import { ALLOWED, CALL_NUMBERS, type ConfinedCall } from "./filter-calls.ts";

export interface FilterOptions {
  /** The descriptor that holds the program, above the limit of descriptors: it is started once and never again. */
  readonly programDescriptor: number;
  /** Whether it may make sockets to connect to the Unix sockets that it can see. */
  readonly connects: boolean;
}

/** Stands for the process's own id, which the launcher writes over it. */
const OWN_PID = 0x7ead_beef;

const CLONE_THREAD = 0x10000;
/** CLONE_NEWTIME, NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET; CLONE_PTRACE and CLONE_PARENT. */
const CLONE_REFUSED = 0x7e020080 | 0x2000 | 0x8000;
const AT_EMPTY_PATH = 0x1000;
const O_ACCMODE = 0o3;
/** Also the bit of O_TMPFILE that is its own. */
const O_CREATES = 0o100 | 0o1000 | 0o20000000;
const AF_UNIX = 1;
const SOCKET_KINDS = 0xf;
const SOCK_STREAM = 1;
/** Connects and sends at once: on a listener that was shut down, it would open a connection from the listener's network. */
const MSG_FASTOPEN = 0x20000000;

const FCNTL = [0, 1, 2, 3, 4, 1030]; // F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC
const IOCTL = [0x5401, 0x5413, 0x541b, 0x5421, 0x5450, 0x5451]; // TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX
const PR_SET_NAME = 15;
const PR_SET_VMA = 0x53564d41;
const SOL_SOCKET = 1;
const IPPROTO_TCP = 6;
const SOCKET_OPTIONS = [2, 7, 8, 9, 13]; // SO_REUSEADDR, SO_SNDBUF, SO_RCVBUF, SO_KEEPALIVE, SO_LINGER
const TCP_OPTIONS = [1, 4, 5, 6]; // TCP_NODELAY, TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_KEEPCNT

const refuseBits = (index: number, bits: number): Instruction[] => [
  load(argument(index)),
  ...when(JUMP_ANY_BIT, bits, [give(EPERM)]),
];

const readOnlyFlags = (index: number): Instruction[] => refuseBits(index, O_ACCMODE | O_CREATES);

const toSelf = (): readonly Instruction[] => refuseOthers(0, [OWN_PID]);

type Rules = readonly (readonly [ConfinedCall, readonly Instruction[]])[];

const socketRules = (connects: boolean): Rules =>
  connects
    ? [
        [
          "socket",
          [
            load(argument(0)),
            ...unless(JUMP_EQUAL, AF_UNIX, [give(EACCES)]),
            load(argument(1)),
            mask(SOCKET_KINDS),
            ...unless(JUMP_EQUAL, SOCK_STREAM, [give(EACCES)]),
          ],
        ],
        ["connect", []],
      ]
    : [
        ["socket", [give(EACCES)]],
        ["connect", [give(EACCES)]],
      ];

const rulesFor = ({ programDescriptor, connects }: FilterOptions): Rules => [
  ["openat", readOnlyFlags(2)],
  ["open", readOnlyFlags(1)],
  [
    "clone",
    [
      ...refuseBits(0, CLONE_REFUSED),
      load(argument(0)),
      ...unless(JUMP_ANY_BIT, CLONE_THREAD, [give(EPERM)]),
    ],
  ],
  // Its flags are in memory that a filter cannot read; the C library falls back to clone.
  ["clone3", [give(ENOSYS)]],
  [
    "execveat",
    [
      load(argument(0)),
      ...unless(JUMP_EQUAL, programDescriptor, [give(EPERM)]),
      load(argument(4)),
      ...unless(JUMP_EQUAL, AT_EMPTY_PATH, [give(EPERM)]),
    ],
  ],
  // Node makes the folder of its compiled code before it reads it; told this, it looks whether the folder is there.
  ["mkdir", [give(EROFS)]],
  ["mkdirat", [give(EROFS)]],
  ["kill", toSelf()],
  ["tgkill", toSelf()],
  ["fcntl", refuseOthers(1, FCNTL)],
  ["ioctl", refuseOthers(1, IOCTL)],
  ["prctl", refuseOthers(0, [PR_SET_NAME, PR_SET_VMA])],
  // Its own limits may be read.
  ["prlimit64", [load(argument(0)), ...unless(JUMP_EQUAL, 0, [give(EPERM)]), ...refusePointer(2)]],
  ["sendto", [...refusePointer(4), ...refuseBits(3, MSG_FASTOPEN)]],
  ["sendmsg", refuseBits(2, MSG_FASTOPEN)],
  [
    "setsockopt",
    [
      load(argument(1)),
      ...when(JUMP_EQUAL, SOL_SOCKET, refuseOthers(2, SOCKET_OPTIONS)),
      ...unless(JUMP_EQUAL, IPPROTO_TCP, [give(EPERM)]),
      ...refuseOthers(2, TCP_OPTIONS),
    ],
  ],
  ...socketRules(connects),
];

export interface ConfinedFilter {
  readonly program: Buffer;
  /** Offsets at which the process's own id belongs. */
  readonly ownPidAt: readonly number[];
}

/** A list of what is allowed: every other call, and each that the kernel gets in the future, is refused with EPERM. */
export const confinedFilter = (
  options: FilterOptions,
  arch: string = process.arch,
): ConfinedFilter | undefined => {
  const machine = MACHINES[arch];
  if (machine === undefined) return undefined;
  const program: Instruction[] = [...filterStart(machine.audit)];
  const rules: Rules = [...rulesFor(options), ...ALLOWED.map((name) => [name, []] as const)];
  for (const [name, block] of rules) {
    const number = CALL_NUMBERS[name][machine.column];
    if (number >= 0) program.push(...when(JUMP_EQUAL, number, [...block, give(ALLOW)]));
  }
  program.push(give(EPERM));
  return {
    program: encodeFilter(program),
    ownPidAt: program.flatMap(([, , , k], index) => (k === OWN_PID ? [index * 8 + 4] : [])),
  };
};
