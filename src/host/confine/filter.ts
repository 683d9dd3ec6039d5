import {
  argument,
  type CallRules,
  EACCES,
  ENOSYS,
  EPERM,
  EROFS,
  encodeFilter,
  filterProgram,
  give,
  type Instruction,
  JUMP_ANY_BIT,
  JUMP_EQUAL,
  load,
  refuseOthers,
  refusePointer,
  unless,
  when,
} from "../os/bpf.ts";
import { type CallName, CLONE_THREAD, callsNamed, O_ACCMODE } from "../os/system-calls.ts";

/**
 * What a Node program without files, network and children of its own calls, as a tracer shows it: memory, threads,
 * signals to itself, time, descriptors that it has, reading files that it may see. Each works on the process itself or on
 * a descriptor; those that can do more have rules of their own.
 */
export const ALLOWED: readonly CallName[] = callsNamed(`
  accept accept4 access arch_prctl brk capget clock_getres clock_gettime clock_nanosleep close dup dup2 dup3
  epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd2 exit exit_group faccessat faccessat2 fstat
  fstatfs futex getcpu getcwd getdents64 getegid geteuid getgid getpeername getpgrp getpid getppid
  getrandom getrlimit getrusage getsockname getsockopt gettid gettimeofday getuid listen lseek lstat madvise membarrier
  mmap mprotect mremap munmap nanosleep newfstatat pipe2 pkey_alloc pkey_free pkey_mprotect poll ppoll pread64
  preadv pselect6 read readlink readlinkat readv recvfrom recvmsg restart_syscall rseq rt_sigaction
  rt_sigprocmask rt_sigreturn sched_getaffinity sched_getparam sched_getscheduler sched_yield select
  set_robust_list set_tid_address shutdown sigaltstack stat statfs statx sysinfo time uname write writev
`);

export interface FilterOptions {
  /** The descriptor that holds the program, above the limit of descriptors: it is started once and never again. */
  readonly programDescriptor: number;
}

/** Stands for the process's own id, which the launcher writes over it. */
const OWN_PID = 0x7ead_beef;

/** CLONE_NEWTIME, NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET; CLONE_PTRACE and CLONE_PARENT. */
const CLONE_REFUSED = 0x7e020080 | 0x2000 | 0x8000;
const AT_EMPTY_PATH = 0x1000;
/** Also the bit of O_TMPFILE that is its own. */
const O_CREATES = 0o100 | 0o1000 | 0o20000000;
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

const rulesFor = ({ programDescriptor }: FilterOptions): CallRules => [
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
  // Node makes the folder of its compiled code before it reads it; with this error, it checks whether the folder
  // exists.
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
  ["socket", [give(EACCES)]],
  ["connect", [give(EACCES)]],
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
  const rules: CallRules = [...rulesFor(options), ...ALLOWED.map((name) => [name, []] as const)];
  const program = filterProgram(rules, EPERM, arch);
  if (program === undefined) return undefined;
  return {
    program: encodeFilter(program),
    ownPidAt: program.flatMap(([, , , k], index) => (k === OWN_PID ? [index * 8 + 4] : [])),
  };
};
