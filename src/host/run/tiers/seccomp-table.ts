/** System call numbers: [x86_64, aarch64]; -1 where that machine has no such call. From the kernel's unistd headers. */
export const CALLS = {
  acct: [163, 89],
  vfork: [58, -1],
  add_key: [248, 217],
  adjtimex: [159, 171],
  bpf: [321, 280],
  chmod: [90, -1],
  chown: [92, -1],
  chroot: [161, 51],
  clock_adjtime: [305, 266],
  clock_settime: [227, 112],
  clone: [56, 220],
  clone3: [435, 435],
  creat: [85, -1],
  delete_module: [176, 106],
  fchmod: [91, 52],
  fchmodat: [268, 53],
  fchmodat2: [452, 452],
  fchown: [93, 55],
  fchownat: [260, 54],
  fcntl: [72, 25],
  file_setattr: [469, 469],
  finit_module: [313, 273],
  fork: [57, -1],
  fremovexattr: [199, 16],
  fsconfig: [431, 431],
  fsetxattr: [190, 7],
  fsmount: [432, 432],
  fsopen: [430, 430],
  fspick: [433, 433],
  futimesat: [261, -1],
  init_module: [175, 105],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  io_uring_setup: [425, 425],
  ioctl: [16, 29],
  ioperm: [173, -1],
  iopl: [172, -1],
  ioprio_set: [251, 30],
  kcmp: [312, 272],
  kexec_file_load: [320, 294],
  kexec_load: [246, 104],
  keyctl: [250, 219],
  kill: [62, 129],
  lchown: [94, -1],
  lremovexattr: [198, 15],
  lsetxattr: [189, 6],
  migrate_pages: [256, 238],
  mknod: [133, -1],
  mknodat: [259, 33],
  mount: [165, 40],
  mount_setattr: [442, 442],
  move_mount: [429, 429],
  move_pages: [279, 239],
  mq_open: [240, 180],
  mq_unlink: [241, 181],
  msgctl: [71, 187],
  msgget: [68, 186],
  msgrcv: [70, 188],
  msgsnd: [69, 189],
  open: [2, -1],
  open_by_handle_at: [304, 265],
  open_tree: [428, 428],
  open_tree_attr: [467, 467],
  openat: [257, 56],
  openat2: [437, 437],
  perf_event_open: [298, 241],
  pidfd_getfd: [438, 438],
  pidfd_send_signal: [424, 424],
  pivot_root: [155, 41],
  prlimit64: [302, 261],
  process_madvise: [440, 440],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  ptrace: [101, 117],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  reboot: [169, 142],
  removexattr: [197, 14],
  removexattrat: [466, 466],
  request_key: [249, 218],
  rt_sigqueueinfo: [129, 138],
  rt_tgsigqueueinfo: [297, 240],
  sched_setaffinity: [203, 122],
  sched_setattr: [314, 274],
  sched_setparam: [142, 118],
  sched_setscheduler: [144, 119],
  semctl: [66, 191],
  semget: [64, 190],
  semop: [65, 193],
  semtimedop: [220, 192],
  setdomainname: [171, 162],
  sethostname: [170, 161],
  setns: [308, 268],
  setpriority: [141, 140],
  setrlimit: [160, 164],
  settimeofday: [164, 170],
  setxattr: [188, 5],
  setxattrat: [463, 463],
  shmat: [30, 196],
  shmctl: [31, 195],
  shmget: [29, 194],
  socket: [41, 198],
  socketpair: [53, 199],
  swapoff: [168, 225],
  swapon: [167, 224],
  syslog: [103, 116],
  tgkill: [234, 131],
  tkill: [200, 130],
  truncate: [76, 45],
  umount2: [166, 39],
  unshare: [272, 97],
  userfaultfd: [323, 282],
  utime: [132, -1],
  utimensat: [280, 88],
  utimes: [235, -1],
  vhangup: [153, 58],
} as const satisfies Readonly<Record<string, readonly [number, number]>>;

export type CallName = keyof typeof CALLS;

const callsNamed = (text: string): readonly CallName[] =>
  text
    .trim()
    .split(/\s+/)
    .map((name) => {
      if (!Object.hasOwn(CALLS, name)) throw new Error(`no number of the system call ${name}`);
      return name as CallName;
    });

/**
 * Calls that control the machine, access the memory of other processes or bypass the other rules; no ordinary command
 * needs them. Of an operation queued on an io_uring no filter sees anything.
 */
export const NEVER: readonly CallName[] = callsNamed(`
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
export const BEYOND_LANDLOCK: readonly CallName[] = callsNamed(`
  chmod chown fchmodat fchmodat2 fchown fchownat file_setattr fremovexattr fsetxattr futimesat lchown
  lremovexattr lsetxattr mq_open mq_unlink msgctl msgget msgrcv msgsnd removexattr removexattrat semctl
  semget semop semtimedop setxattr setxattrat shmat shmctl shmget utime utimes
`);
