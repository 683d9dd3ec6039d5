import {
  ALLOW,
  argument,
  EACCES,
  EAFNOSUPPORT,
  EINVAL,
  ENOSYS,
  ENOTTY,
  EPERM,
  encodeFilter,
  filterProgram,
  give,
  type Instruction,
  JUMP_ANY_BIT,
  JUMP_EQUAL,
  load,
  mask,
  refuseOthers,
  refusePointer,
  refuseValues,
  unless,
  when,
} from "../../os/bpf.ts";
import {
  AF_NETLINK,
  AF_UNIX,
  type CallName,
  CLONE_THREAD,
  callsNamed,
  INET_FAMILIES,
  O_ACCMODE,
  SOCK_STREAM,
  SOCKET_KINDS,
  TERMINAL_REQUESTS,
} from "../../os/system-calls.ts";

/**
 * Calls that control the machine, access the memory of other processes or bypass the other rules; no ordinary command
 * needs them. Of an operation queued on an io_uring no filter sees anything.
 */
const NEVER: readonly CallName[] = callsNamed(`
  acct add_key adjtimex bpf chroot clock_adjtime clock_settime delete_module finit_module fsconfig fsmount
  fsopen fspick init_module io_uring_enter io_uring_register io_uring_setup ioperm iopl kcmp
  kexec_file_load kexec_load keyctl migrate_pages mount mount_setattr move_mount move_pages
  open_by_handle_at open_tree open_tree_attr perf_event_open pidfd_getfd pivot_root process_madvise
  process_vm_readv process_vm_writev ptrace quotactl quotactl_fd reboot request_key setdomainname
  sethostname setns settimeofday swapoff swapon syslog umount2 unshare userfaultfd vhangup
`);

/**
 * Changes to a file by its path or owner that Landlock does not govern, and objects shared between all processes of a
 * user: by its number, which can be guessed, such an object is reached without asking for it by name.
 */
const BEYOND_LANDLOCK: readonly CallName[] = callsNamed(`
  chmod chown fchmodat fchmodat2 fchown fchownat file_setattr fremovexattr fsetxattr futimesat lchown
  lremovexattr lsetxattr mq_open mq_unlink msgctl msgget msgrcv msgsnd removexattr removexattrat semctl
  semget semop semtimedop setxattr setxattrat shmat shmctl shmget utime utimes
`);

export interface FilterOptions {
  /** The program may have threads, and starts no other program. */
  readonly noFork?: boolean;
  /** If omitted, the command runs in namespaces. */
  readonly landlock?: LandlockGaps;
}

/** What the filter adds where no namespaces stand around the command. */
interface LandlockGaps {
  /** The command's own process, which may always signal itself. */
  readonly pid: number;
  /** Kernel rules on truncating (ABI 3) and on signals (ABI 6) came after the first Landlock. */
  readonly abi: number;
  /** Whether it may use the machine's network. */
  readonly network: boolean;
}

/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET. */
const NAMESPACES = 0x7e020000;
const RLIMIT_RTTIME = 15;
/** Set-user-ID and set-group-ID. */
const SPECIAL_BITS = 0o6000;
const O_CREAT = 0o100;
/** The bit of O_TMPFILE that is its own. */
const O_TMPFILE = 0o20000000;
const SOCK_SEQPACKET = 5;
const SET_OWNER = [8 /* F_SETOWN */, 15 /* F_SETOWN_EX */];
/**
 * What programs do with their own descriptors, locks and pipes. Others reach beyond the command: with a lease, whoever can
 * read a file keeps everybody else from opening it, for most of a minute each time (F_SETLEASE, F_SETDELEG).
 */
const DESCRIPTOR_COMMANDS = [
  0 /* F_DUPFD */, 1 /* F_GETFD */, 2 /* F_SETFD */, 3 /* F_GETFL */, 4 /* F_SETFL */, 5 /* F_GETLK */,
  6 /* F_SETLK */, 7 /* F_SETLKW */, 8 /* F_SETOWN */, 9 /* F_GETOWN */, 10 /* F_SETSIG */, 11 /* F_GETSIG */,
  15 /* F_SETOWN_EX */, 16 /* F_GETOWN_EX */, 17 /* F_GETOWNER_UIDS */, 36 /* F_OFD_GETLK */,
  37 /* F_OFD_SETLK */, 38 /* F_OFD_SETLKW */, 1025 /* F_GETLEASE */, 1027 /* F_DUPFD_QUERY */,
  1028 /* F_CREATED_QUERY */, 1030 /* F_DUPFD_CLOEXEC */, 1031 /* F_SETPIPE_SZ */, 1032 /* F_GETPIPE_SZ */,
  1033 /* F_ADD_SEALS */, 1034 /* F_GET_SEALS */,
];
/** Requests to terminals ("T") and to sockets, by their second byte; Landlock keeps commands from other devices. */
const REQUEST_KIND = 0xff00;
const TERMINAL_KIND = 0x5400;
const SOCKET_KIND = 0x8900;
/**
 * What ordinary programs ask of files besides. Most other requests change attributes of a file, for which a descriptor that
 * was opened for reading is enough (FS_IOC_SETFLAGS, FS_IOC_ENABLE_VERITY, and those of single file systems).
 */
const FILE_REQUESTS = [
  0x2 /* FIGETBSZ */, 0x40049409 /* FICLONE */, 0x4020940d /* FICLONERANGE */,
  0x80086601 /* FS_IOC_GETFLAGS */, 0x80087601 /* FS_IOC_GETVERSION */, 0x801c581f /* FS_IOC_FSGETXATTR */,
  0xc020660b /* FS_IOC_FIEMAP */,
];
const SET_OWNER_REQUESTS = [0x8901 /* FIOSETOWN */, 0x8902 /* SIOCSPGRP */];
const O_TRUNC = 0o1000;

/**
 * Pairs that stay connected for ever, for child processes. One end of any other pair (of datagrams, or raw, which the
 * kernel turns into datagrams) can be bound, and sent to from elsewhere: it is as good as a socket.
 */
const connectedPairs: readonly Instruction[] = [
  load(argument(0)),
  ...unless(JUMP_EQUAL, AF_UNIX, [give(EACCES)]),
  load(argument(1)),
  mask(SOCKET_KINDS),
  ...when(JUMP_EQUAL, SOCK_STREAM, [give(ALLOW)]),
  ...unless(JUMP_EQUAL, SOCK_SEQPACKET, [give(EACCES)]),
];

type Rules = Map<CallName, readonly Instruction[]>;

const refuseSpecialBits = (modeIndex: number): Instruction[] => [
  load(argument(modeIndex)),
  ...when(JUMP_ANY_BIT, SPECIAL_BITS, [give(EPERM)]),
];

/** The mode counts only where a file is made. */
const refuseSpecialFiles = (flagsIndex: number): Instruction[] => [
  load(argument(flagsIndex)),
  ...when(JUMP_ANY_BIT, O_CREAT | O_TMPFILE, refuseSpecialBits(flagsIndex + 1)),
];

/** A file that runs as its owner, left in a workspace, is a way in for everybody else on the machine. */
const noSpecialFiles = (): Rules =>
  new Map<CallName, readonly Instruction[]>([
    ["chmod", refuseSpecialBits(1)],
    ["fchmod", refuseSpecialBits(1)],
    ["fchmodat", refuseSpecialBits(2)],
    ["fchmodat2", refuseSpecialBits(2)],
    ["creat", refuseSpecialBits(1)],
    ["mknod", refuseSpecialBits(1)],
    ["mknodat", refuseSpecialBits(2)],
    ["open", refuseSpecialFiles(1)],
    ["openat", refuseSpecialFiles(2)],
    // Its mode is in memory that a filter cannot read; programs fall back to openat.
    ["openat2", [give(ENOSYS)]],
  ]);

/**
 * Over a Unix socket, one command hands an open folder to another, which then finds there what its own mounts withhold;
 * and the machine's network brings the desktop's sockets along. Children are reached by pairs of sockets. All other
 * families are kernel code that no command needs and that is poorly tested.
 */
const networkFamilies = (): Instruction[] => [
  ...refuseValues(0, [AF_UNIX], EACCES),
  ...INET_FAMILIES.flatMap((family) => when(JUMP_EQUAL, family, [give(ALLOW)])),
  ...unless(JUMP_EQUAL, AF_NETLINK, [give(EAFNOSUPPORT)]),
  // Of netlink, routes and addresses alone.
  load(argument(2)),
  ...unless(JUMP_EQUAL, 0, [give(EAFNOSUPPORT)]),
];

const commonRules = (noFork: boolean): Rules => {
  const rules: Rules = new Map([...NEVER.map((name) => [name, [give(EPERM)]] as const), ...noSpecialFiles()]);
  // Its flags are in memory that a filter cannot read; the C library falls back to clone.
  rules.set("clone3", [give(ENOSYS)]);
  rules.set("clone", [
    load(argument(0)),
    ...when(JUMP_ANY_BIT, NAMESPACES, [give(EPERM)]),
    ...(noFork ? unless(JUMP_ANY_BIT, CLONE_THREAD, [give(EPERM)]) : []),
  ]);
  if (noFork) for (const name of ["fork", "vfork"] as const) rules.set(name, [give(EPERM)]);
  rules.set("ioctl", refuseValues(1, TERMINAL_REQUESTS));
  rules.set("fcntl", refuseOthers(1, DESCRIPTOR_COMMANDS, EINVAL));
  rules.set("socket", networkFamilies());
  rules.set("socketpair", connectedPairs);
  return rules;
};

const truncatesReadOnly = (flagsIndex: number): Instruction[] => [
  load(argument(flagsIndex)),
  mask(O_TRUNC | O_ACCMODE),
  ...when(JUMP_EQUAL, O_TRUNC, [give(EPERM)]),
];

/** Without mounts that are read-only, only known requests pass. */
const knownRequests = (refused: readonly number[]): Instruction[] => [
  ...refuseValues(1, refused),
  mask(REQUEST_KIND),
  ...[TERMINAL_KIND, SOCKET_KIND].flatMap((kind) => when(JUMP_EQUAL, kind, [give(ALLOW)])),
  ...refuseOthers(1, FILE_REQUESTS, ENOTTY),
];

const landlockRules = ({ pid, abi, network }: LandlockGaps, noFork: boolean): Rules => {
  const rules = commonRules(noFork);
  for (const name of BEYOND_LANDLOCK) rules.set(name, [give(EPERM)]);
  // A descriptor opened for reading is enough to change the mode: of a hook, of what llmc obeys, of any file of the user.
  rules.set("fchmod", [give(EPERM)]);
  rules.set("ioctl", knownRequests(TERMINAL_REQUESTS));
  // With a path of NULL it is about an open descriptor; else it reaches any file of the user.
  rules.set("utimensat", refusePointer(1));
  if (!network) rules.set("socket", [give(EACCES)]);
  // A file that waits in a message to oneself has neither a name nor a descriptor, so nobody could count it.
  if (!network && noFork) for (const name of ["sendmsg", "sendmmsg"] as const) rules.set(name, [give(EPERM)]);
  rules.set("prlimit64", [
    load(argument(0)),
    ...unless(JUMP_EQUAL, 0, [give(EPERM)]),
    // The mark by which the tree is found again must stay: this limit may be read, not set.
    load(argument(1)),
    ...when(JUMP_EQUAL, RLIMIT_RTTIME, refusePointer(2)),
  ]);
  rules.set("setrlimit", refuseValues(0, [RLIMIT_RTTIME]));
  for (const name of ["sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler"] as const)
    rules.set(name, refuseOthers(0, [0, pid]));
  for (const name of ["setpriority", "ioprio_set"] as const) rules.set(name, refuseOthers(1, [0, pid]));
  if (abi < 3) {
    rules.set("truncate", [give(EPERM)]);
    rules.set("open", [...truncatesReadOnly(1), ...refuseSpecialFiles(1)]);
    rules.set("openat", [...truncatesReadOnly(2), ...refuseSpecialFiles(2)]);
  }
  if (abi < 6) {
    for (const name of ["kill", "tgkill", "tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo"] as const)
      rules.set(name, refuseOthers(0, [0, pid]));
    rules.set("pidfd_send_signal", [give(EPERM)]);
    // The owner of a descriptor can be sent any signal when an event occurs on it.
    rules.set("fcntl", [...refuseValues(1, SET_OWNER), ...refuseOthers(1, DESCRIPTOR_COMMANDS, EINVAL)]);
    rules.set("ioctl", knownRequests([...TERMINAL_REQUESTS, ...SET_OWNER_REQUESTS]));
  }
  return rules;
};

const rulesFor = ({ noFork = false, landlock }: FilterOptions): Rules =>
  landlock === undefined ? commonRules(noFork) : landlockRules(landlock, noFork);

/**
 * The classic BPF program, as the kernel and bubblewrap take it; undefined on architectures whose system call numbers
 * are not in the table.
 */
export const seccompProgram = (options: FilterOptions, arch: string = process.arch): Buffer | undefined => {
  const program = filterProgram([...rulesFor(options)], ALLOW, arch);
  return program && encodeFilter(program);
};
