import { type CallName, callNumber } from "../../os/system-calls.ts";
import { type Datum, type SystemCall, text } from "../system-call-program.ts";

/** What belongs to whom in a self-test; the paths and processes exist. */
export interface Targets {
  /** A file of the user's. */
  readonly file: string;
  /** A file that the program may read: its own. */
  readonly program: string;
  /** Another process of the same user. */
  readonly pid: number;
  /** A listening TCP socket that the program inherits, and its port. */
  readonly listener: number;
  readonly port: number;
  /** A listening Unix socket that it inherits, as a front does, and one of another program of the user. */
  readonly link: number;
  readonly socketPath: string;
  /** The limit of descriptors that it runs under. */
  readonly descriptors: number;
}

export type AttemptKind = "files" | "network" | "processes" | "kernel" | "limits";

export interface Attempt {
  readonly kind: AttemptKind;
  readonly name: string;
  readonly call: CallName | number;
  readonly args: SystemCall["args"];
  /** Outside of a sandbox, it would end or double the program that tries. */
  readonly isFinal?: boolean;
}

const AT_FDCWD = -100;
const [O_WRONLY, O_CREAT] = [1, 0o100];
const AT_EMPTY_PATH = 0x1000;
const [AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_VSOCK] = [1, 2, 10, 16, 17, 40];
const [SOCK_STREAM, SOCK_DGRAM, SOCK_RAW] = [1, 2, 3];
const MSG_FASTOPEN = 0x20000000;
const PTRACE_SEIZE = 0x4206;
const [CLONE_NEWUSER, CLONE_NEWNET, SIGCHLD] = [0x10000000, 0x40000000, 17];
const [TIOCSTI, TIOCLINUX] = [0x5412, 0x541c];
const F_SETOWN = 8;
const RLIMIT_NOFILE = 7;

const empty = (bytes: number): Datum => ({ bytes: Buffer.alloc(bytes) });

const loopback = (port: number): Datum => {
  const address = Buffer.alloc(16);
  address.writeUInt16LE(AF_INET, 0);
  address.writeUInt16BE(port, 2);
  address.set([127, 0, 0, 1], 4);
  return { bytes: address };
};

const unixAddress = (path: string): Datum => {
  const address = Buffer.alloc(110);
  address.writeUInt16LE(AF_UNIX, 0);
  address.write(path, 2, 107, "utf8");
  return { bytes: address };
};

type Row = readonly [name: string, call: Attempt["call"], args: SystemCall["args"]];

const of = (kind: AttemptKind, rows: readonly Row[], isFinal = false): readonly Attempt[] =>
  rows.map(([name, call, args]) => ({ kind, name, call, args, ...(isFinal ? { isFinal } : {}) }));

const fileRows = ({ file, program, pid }: Targets): readonly Row[] => [
  ["read /etc/passwd", "openat", [AT_FDCWD, text("/etc/passwd"), 0]],
  ["read a file of the user", "openat", [AT_FDCWD, text(file), 0]],
  ["read /proc/1/environ", "openat", [AT_FDCWD, text("/proc/1/environ"), 0]],
  ["read another process's environment", "openat", [AT_FDCWD, text(`/proc/${pid}/environ`), 0]],
  ["read another process's memory", "openat", [AT_FDCWD, text(`/proc/${pid}/mem`), 0]],
  ["write to a file of the user", "openat", [AT_FDCWD, text(file), O_WRONLY]],
  ["write to its own program", "openat", [AT_FDCWD, text(program), O_WRONLY]],
  ["create a file beside it", "openat", [AT_FDCWD, text(`${file}.made`), O_WRONLY | O_CREAT, 0o600]],
  ["create a file in /", "openat", [AT_FDCWD, text("/llmc-self-test/"), O_WRONLY | O_CREAT, 0o600]],
  ["open by openat2", "openat2", [AT_FDCWD, text(file), empty(24), 24]],
  ["open by handle", "open_by_handle_at", [AT_FDCWD, empty(8), 0]],
  ["make a folder", "mkdirat", [AT_FDCWD, text(`${file}.folder`), 0o700]],
  ["remove a file", "unlinkat", [AT_FDCWD, text(`${file}.not-there`), 0]],
  ["rename a file", "renameat", [AT_FDCWD, text(`${file}.not-there`), AT_FDCWD, text(`${file}.other`)]],
  ["link a file", "linkat", [AT_FDCWD, text(`${file}.not-there`), AT_FDCWD, text(`${file}.other`), 0]],
  ["make a symbolic link", "symlinkat", [text("x"), AT_FDCWD, text(`${file}.not-there/link`)]],
  ["make a device", "mknodat", [AT_FDCWD, text(`${file}.not-there/device`), 0o020600, 0x103]],
  ["change a mode", "fchmodat", [AT_FDCWD, text(`${file}.not-there`), 0o777]],
  ["change an owner", "fchownat", [AT_FDCWD, text(`${file}.not-there`), 0, 0, 0]],
  ["truncate a file", "truncate", [text(`${file}.not-there`), 0]],
  ["change a time", "utimensat", [AT_FDCWD, text(`${file}.not-there`), 0, 0]],
  ["set an extended attribute", "setxattr", [text(`${file}.not-there`), text("user.x"), text("x"), 1, 0]],
  ["make a file in memory", "memfd_create", [text("x"), 0]],
  ["watch files", "inotify_init1", [0]],
  ["watch a file system", "fanotify_init", [0, 0]],
];

const networkRows = ({ listener, port, link, socketPath }: Targets): readonly Row[] => [
  ["make a TCP socket", "socket", [AF_INET, SOCK_STREAM, 0]],
  ["make a UDP socket", "socket", [AF_INET, SOCK_DGRAM, 0]],
  ["make a TCP socket for IPv6", "socket", [AF_INET6, SOCK_STREAM, 0]],
  ["make a raw socket", "socket", [AF_INET, SOCK_RAW, 1]],
  ["make a Unix socket", "socket", [AF_UNIX, SOCK_STREAM, 0]],
  ["make a Unix socket for datagrams", "socket", [AF_UNIX, SOCK_DGRAM, 0]],
  ["make a netlink socket", "socket", [AF_NETLINK, SOCK_RAW, 0]],
  ["make a packet socket", "socket", [AF_PACKET, SOCK_RAW, 0]],
  ["make a socket to the hypervisor", "socket", [AF_VSOCK, SOCK_STREAM, 0]],
  ["make a pair of sockets", "socketpair", [AF_UNIX, SOCK_DGRAM, 0, empty(8)]],
  ["bind an inherited socket", "bind", [listener, loopback(0), 16]],
  ["connect an inherited listener", "connect", [listener, loopback(port), 16]],
  [
    "connect an inherited listener by TCP fast open",
    "sendto",
    [listener, text("x"), 1, MSG_FASTOPEN, loopback(port), 16],
  ],
  ["connect to another Unix socket", "connect", [link, unixAddress(socketPath), 110]],
  ["send to another Unix socket", "sendto", [link, text("x"), 1, 0, unixAddress(socketPath), 110]],
  ["bind another Unix socket", "bind", [link, unixAddress(`${socketPath}.made`), 110]],
];

const processRows = ({ pid }: Targets): readonly Row[] => [
  ["signal another process", "kill", [pid, 0]],
  ["signal its process group", "kill", [0, 0]],
  ["signal every process", "kill", [-1, 0]],
  ["signal a thread of another process", "tgkill", [pid, pid, 0]],
  ["trace another process", "ptrace", [PTRACE_SEIZE, pid, 0, 0]],
  ["read another process's memory directly", "process_vm_readv", [pid, 0, 0, 0, 0, 0]],
  ["write another process's memory directly", "process_vm_writev", [pid, 0, 0, 0, 0, 0]],
  ["get a handle of another process", "pidfd_open", [pid, 0]],
  ["take a descriptor of another process", "pidfd_getfd", [-1, 0, 0]],
  ["compare itself with another process", "kcmp", [pid, pid, 0, 0, 0]],
];

const KERNEL_ROWS: readonly Row[] = [
  ["mount", "mount", [0, 0, 0, 0, 0]],
  ["unmount", "umount2", [0, 0]],
  ["change the root", "pivot_root", [0, 0]],
  ["chroot", "chroot", [0]],
  ["clone a mount", "open_tree", [-1, 0, 0]],
  ["move a mount", "move_mount", [-1, 0, -1, 0, 0]],
  ["change a mount", "mount_setattr", [-1, 0, 0, 0, 0]],
  ["make a user namespace", "unshare", [CLONE_NEWUSER]],
  ["make a network namespace", "unshare", [CLONE_NEWNET]],
  ["enter a namespace", "setns", [-1, 0]],
  ["keyctl", "keyctl", [-1, 0, 0, 0, 0]],
  ["add a key", "add_key", [0, 0, 0, 0, 0]],
  ["ask for a key", "request_key", [0, 0, 0, 0]],
  ["bpf", "bpf", [-1, 0, 0]],
  ["io_uring", "io_uring_setup", [0, 0]],
  ["userfaultfd", "userfaultfd", [1]],
  ["perf", "perf_event_open", [0, 0, 0, -1, 0]],
  ["load a module", "init_module", [0, 0, 0]],
  ["remove a module", "delete_module", [0, 0]],
  ["load a kernel", "kexec_load", [0, 17, 0, -1]],
  ["reboot", "reboot", [0, 0, 0, 0]],
  ["swap", "swapon", [0, 0]],
  ["change the host name", "sethostname", [0, -1]],
  ["set the clock", "settimeofday", [1, 0]],
  ["read the kernel's log", "syslog", [10, 0, 0]],
  ["quota", "quotactl", [-1, 0, 0, 0]],
  ["account", "acct", [1]],
  ["change the personality", "personality", [-1]],
  ["use ports of the machine", "ioperm", [0, 0, 0]],
  ["use all ports of the machine", "iopl", [9]],
  ["lock memory", "mlockall", [1 << 20]],
  ["become root", "setuid", [0]],
  ["become another user", "setresuid", [0, 0, 0]],
  ["get capabilities back", "capset", [0, 0]],
  ["change its own security", "prctl", [38, 0, 0, 0, 0]],
  ["type into the terminal", "ioctl", [0, TIOCSTI, text("x")]],
  ["control the console", "ioctl", [0, TIOCLINUX, text("x")]],
  ["have signals sent", "fcntl", [0, F_SETOWN, 1]],
  ["shared memory", "shmget", [0, 0, 0]],
  ["semaphores", "semget", [0, 0, 0]],
  ["message queues", "msgget", [1, 0]],
  ["named message queues", "mq_open", [text("x"), 0, 0, 0]],
  ["a call that no kernel has yet", 1000, []],
];

const limitRows = ({ descriptors }: Targets): readonly Row[] => {
  const more = Buffer.alloc(16);
  more.writeBigUInt64LE(BigInt(descriptors), 0);
  more.writeBigUInt64LE(BigInt(descriptors), 8);
  return [
    ["change a limit", "prlimit64", [0, RLIMIT_NOFILE, { bytes: more }, 0]],
    ["change a limit in the old way", "setrlimit", [RLIMIT_NOFILE, { bytes: more }]],
    ["become more important", "setpriority", [0, 0, 0]],
    ["change its scheduler", "sched_setscheduler", [0, 0, empty(4)]],
    ["choose its CPUs", "sched_setaffinity", [0, 0, 0]],
    ["become more important to the disk", "ioprio_set", [1, 0, 0]],
  ];
};

const finalRows = ({ program, descriptors }: Targets): readonly Row[] => [
  ["start a shell", "execve", [text("/bin/sh"), 0, 0]],
  ["start itself again", "execve", [text(program), 0, 0]],
  ["start itself again by execveat", "execveat", [AT_FDCWD, text(program), 0, 0, 0]],
  ["start an open file", "execveat", [0, text(""), 0, 0, AT_EMPTY_PATH]],
  ["put a file where its program was", "dup3", [0, descriptors, 0]],
  ["start what is there", "execveat", [descriptors, text(""), 0, 0, AT_EMPTY_PATH]],
  ["fork", "clone", [SIGCHLD, 0, 0, 0, 0]],
  ["fork into a namespace", "clone", [CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0]],
];

/** Everything that a confined program must not do. Arguments are such that nothing happens where the kernel allows it. */
export const attemptsOn = (targets: Targets): readonly Attempt[] => [
  ...of("files", fileRows(targets)),
  ...of("network", networkRows(targets)),
  ...of("processes", processRows(targets)),
  ...of("kernel", KERNEL_ROWS),
  ...of("limits", limitRows(targets)),
  ...of("processes", finalRows(targets), true),
];

/** On this machine: a call may not exist on it. */
export const numberOf = (call: Attempt["call"], arch?: string): number =>
  typeof call === "number" ? call : callNumber(call, arch);
