/**
 * Numbers and structures of the kernel's headers by which a process gives up rights before it becomes another program:
 * the launcher of confined programs writes them into a table of system calls, that of commands calls the C library.
 */

/** Bits of landlock.h: what may be done with a file, or below a folder. */
export const EXECUTE = 1 << 0;
export const WRITE_FILE = 1 << 1;
export const READ_FILE = 1 << 2;
export const READ_DIR = 1 << 3;
export const MAKE_CHAR = 1 << 6;
export const MAKE_BLOCK = 1 << 11;
export const TRUNCATE = 1 << 14;
export const IOCTL_DEV = 1 << 15;

/** All rights on files that a version of Landlock can take away: what no rule gives back is refused. */
export const handledRights = (abi: number): number => {
  const bits = abi >= 5 ? 16 : abi >= 3 ? 15 : abi >= 2 ? 14 : 13;
  return 2 ** bits - 1;
};

/** Both kinds of TCP (bind, connect) and both scopes (abstract sockets, signals). */
export const ALL_NETWORK = 0b11;
export const ALL_SCOPES = 0b11;

interface Handled {
  readonly files: number;
  readonly network: number;
  readonly scopes: number;
}

/** `struct landlock_ruleset_attr`, as long as the version of Landlock knows it. */
export const rulesetAttributes = (abi: number, { files, network, scopes }: Handled): Buffer => {
  const attributes = Buffer.alloc(abi >= 6 ? 24 : abi >= 4 ? 16 : 8);
  [files, network, scopes]
    .slice(0, attributes.length / 8)
    .forEach((bits, index) => void attributes.writeBigUInt64LE(BigInt(bits), 8 * index));
  return attributes;
};

/** Asks `landlock_create_ruleset` for the version of Landlock, without attributes. */
export const LANDLOCK_VERSION = 1;
export const RULE_PATH_BENEATH = 1;
/** Where a rule has the descriptor of its file or folder. */
export const RULE_DESCRIPTOR_AT = 8;

/** `struct landlock_path_beneath_attr`; the descriptor may be written later. */
export const pathRule = (rights: number, descriptor = 0): Buffer => {
  const rule = Buffer.alloc(12);
  rule.writeBigUInt64LE(BigInt(rights), 0);
  rule.writeInt32LE(descriptor, RULE_DESCRIPTOR_AT);
  return rule;
};

export const RLIMIT_FSIZE = 1;
export const RLIMIT_DATA = 2;
export const RLIMIT_CORE = 4;
export const RLIMIT_NPROC = 6;
export const RLIMIT_NOFILE = 7;
export const RLIMIT_RTTIME = 15;

/** `struct rlimit64` with the same soft and hard limit. */
export const limitPair = (value: bigint): Buffer => {
  const pair = Buffer.alloc(16);
  pair.writeBigUInt64LE(value, 0);
  pair.writeBigUInt64LE(value, 8);
  return pair;
};

export const PR_SET_PDEATHSIG = 1;
export const PR_CAPBSET_DROP = 24;
export const PR_SET_NO_NEW_PRIVS = 38;
export const PR_CAP_AMBIENT = 47;
export const PR_CAP_AMBIENT_CLEAR_ALL = 4;
export const SIGKILL = 9;

/** More than any kernel has. */
export const CAPABILITIES = 64;

/** `struct __user_cap_header_struct` of the third version, for the calling thread. */
export const capabilityHeader = (): Buffer => {
  const header = Buffer.alloc(8);
  header.writeUInt32LE(0x20080522, 0);
  return header;
};

/** Two of `struct __user_cap_data_struct`, without any capability. */
export const noCapabilities = (): Buffer => Buffer.alloc(24);

/** Where `struct sock_fprog` has the address of the filter. */
export const FILTER_ADDRESS_AT = 8;
/** The operation of the system call `seccomp`; `prctl` has numbers of its own for the same. */
export const SECCOMP_SET_MODE_FILTER = 1;
export const PR_SET_SECCOMP = 22;
export const SECCOMP_MODE_FILTER = 2;

/** `struct sock_fprog` without that address. */
export const filterHeader = (program: Buffer): Buffer => {
  const header = Buffer.alloc(16);
  header.writeUInt16LE(program.length / 8, 0);
  return header;
};
