import { closeSync, openSync, readFileSync, readSync } from "node:fs";

// Shared by all calls, which never wait between filling and reading it. The text has some 60 bytes for a plain file.
const INFO = Buffer.alloc(512);

/**
 * The mount that a descriptor's file lives on. Parsed by hand, because this runs on every read and takes half the time.
 */
export const mountOf = (fd: number): string | undefined => {
  const info = openSync(`/proc/self/fdinfo/${fd}`, "r");
  try {
    const text = INFO.toString("latin1", 0, readSync(info, INFO, 0, INFO.length, null));
    return /^mnt_id:\s*(\d+)/m.exec(text)?.[1];
  } finally {
    closeSync(info);
  }
};

const ownMounts = (): Set<string> =>
  new Set(readFileSync("/proc/self/mountinfo", "utf8").match(/^\d+/gm) ?? []);

/**
 * Whether a mount is one that this process sees. A link through `/proc/PID/root` or `/proc/PID/cwd` can reach files of
 * another mount namespace, and the kernel names those by their path over there: it may look like one inside our roots
 * while the file is not.
 */
export const createMountCheck = (): ((mount: string) => boolean) => {
  let known = ownMounts();
  return (mount) => {
    if (known.has(mount)) return true;
    known = ownMounts();
    return known.has(mount);
  };
};

/** File systems behind which there is a network, a user's program or a host that may not answer. */
const DISTANT = /^(nfs|cifs|smb|9p|virtiofs|fuse|ceph|afs|gfs|lustre|glusterfs|autofs|davfs|vboxsf|prl_fs)/;

export const hasDistantMounts = (): boolean => {
  try {
    const types = readFileSync("/proc/self/mounts", "utf8")
      .split("\n")
      .map((line) => line.split(" ")[2] ?? "");
    return types.some((type) => DISTANT.test(type));
  } catch {
    return true;
  }
};
