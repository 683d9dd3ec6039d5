/** System call numbers: [x86_64, aarch64]; -1 where that machine has no such call. From the kernel's unistd headers. */
export const CALL_NUMBERS = {
  accept: [43, 202],
  accept4: [288, 242],
  access: [21, -1],
  arch_prctl: [158, -1],
  brk: [12, 214],
  capget: [125, 90],
  capset: [126, 91],
  clock_getres: [229, 114],
  clock_gettime: [228, 113],
  clock_nanosleep: [230, 115],
  clone: [56, 220],
  clone3: [435, 435],
  close: [3, 57],
  close_range: [436, 436],
  connect: [42, 203],
  dup: [32, 23],
  dup2: [33, -1],
  dup3: [292, 24],
  epoll_create1: [291, 20],
  epoll_ctl: [233, 21],
  epoll_pwait: [281, 22],
  epoll_pwait2: [441, 441],
  epoll_wait: [232, -1],
  eventfd2: [290, 19],
  execve: [59, 221],
  execveat: [322, 281],
  exit: [60, 93],
  exit_group: [231, 94],
  faccessat: [269, 48],
  faccessat2: [439, 439],
  fcntl: [72, 25],
  fstat: [5, 80],
  fstatfs: [138, 44],
  futex: [202, 98],
  getcpu: [309, 168],
  getcwd: [79, 17],
  getdents64: [217, 61],
  getegid: [108, 177],
  geteuid: [107, 175],
  getgid: [104, 176],
  getpeername: [52, 205],
  getpgrp: [111, -1],
  getpid: [39, 172],
  getppid: [110, 173],
  getrandom: [318, 278],
  getrlimit: [97, 163],
  getrusage: [98, 165],
  getsockname: [51, 204],
  getsockopt: [55, 209],
  gettid: [186, 178],
  gettimeofday: [96, 169],
  getuid: [102, 174],
  ioctl: [16, 29],
  kill: [62, 129],
  landlock_add_rule: [445, 445],
  landlock_create_ruleset: [444, 444],
  landlock_restrict_self: [446, 446],
  listen: [50, 201],
  lseek: [8, 62],
  lstat: [6, -1],
  madvise: [28, 233],
  membarrier: [324, 283],
  mkdir: [83, -1],
  mkdirat: [258, 34],
  mmap: [9, 222],
  mprotect: [10, 226],
  mremap: [25, 216],
  munmap: [11, 215],
  nanosleep: [35, 101],
  newfstatat: [262, 79],
  open: [2, -1],
  openat: [257, 56],
  pipe2: [293, 59],
  pkey_alloc: [330, 289],
  pkey_free: [331, 290],
  pkey_mprotect: [329, 288],
  poll: [7, -1],
  ppoll: [271, 73],
  prctl: [157, 167],
  pread64: [17, 67],
  preadv: [295, 69],
  prlimit64: [302, 261],
  pselect6: [270, 72],
  read: [0, 63],
  readlink: [89, -1],
  readlinkat: [267, 78],
  readv: [19, 65],
  recvfrom: [45, 207],
  recvmsg: [47, 212],
  restart_syscall: [219, 128],
  rseq: [334, 293],
  rt_sigaction: [13, 134],
  rt_sigprocmask: [14, 135],
  rt_sigreturn: [15, 139],
  sched_getaffinity: [204, 123],
  sched_getparam: [143, 121],
  sched_getscheduler: [145, 120],
  sched_yield: [24, 124],
  seccomp: [317, 277],
  select: [23, -1],
  sendmsg: [46, 211],
  sendto: [44, 206],
  set_robust_list: [273, 99],
  set_tid_address: [218, 96],
  setsockopt: [54, 208],
  shutdown: [48, 210],
  sigaltstack: [131, 132],
  socket: [41, 198],
  stat: [4, -1],
  statfs: [137, 43],
  statx: [332, 291],
  sysinfo: [99, 179],
  tgkill: [234, 131],
  time: [201, -1],
  uname: [63, 160],
  write: [1, 64],
  writev: [20, 66],
} as const satisfies Readonly<Record<string, readonly [number, number]>>;

export type ConfinedCall = keyof typeof CALL_NUMBERS;

const named = (names: string): readonly ConfinedCall[] =>
  names
    .trim()
    .split(/\s+/)
    .map((name) => {
      if (!Object.hasOwn(CALL_NUMBERS, name)) throw new Error(`no number of the system call ${name}`);
      return name as ConfinedCall;
    });

/**
 * What a Node program without files, network and children of its own calls, as a tracer shows it: memory, threads,
 * signals to itself, time, descriptors that it has, reading files that it may see. Each works on the process itself or on
 * a descriptor; those that can do more have rules of their own.
 */
export const ALLOWED: readonly ConfinedCall[] = named(`
  accept accept4 access arch_prctl brk capget clock_getres clock_gettime clock_nanosleep close dup dup2 dup3
  epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd2 exit exit_group faccessat faccessat2 fstat
  fstatfs futex getcpu getcwd getdents64 getegid geteuid getgid getpeername getpgrp getpid getppid
  getrandom getrlimit getrusage getsockname getsockopt gettid gettimeofday getuid listen lseek lstat madvise membarrier
  mmap mprotect mremap munmap nanosleep newfstatat pipe2 pkey_alloc pkey_free pkey_mprotect poll ppoll pread64
  preadv pselect6 read readlink readlinkat readv recvfrom recvmsg restart_syscall rseq rt_sigaction
  rt_sigprocmask rt_sigreturn sched_getaffinity sched_getparam sched_getscheduler sched_yield select
  set_robust_list set_tid_address shutdown sigaltstack stat statfs statx sysinfo time uname write writev
`);
