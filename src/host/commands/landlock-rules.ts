import { closeSync, constants, fstatSync, openSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { isInside } from "./protected-names.ts";

/** Bits of the kernel's landlock.h. */
const EXECUTE = 1 << 0;
const WRITE_FILE = 1 << 1;
const READ_FILE = 1 << 2;
const READ_DIR = 1 << 3;
const MAKE_CHAR = 1 << 6;
const MAKE_BLOCK = 1 << 11;
const TRUNCATE = 1 << 14;
const IOCTL_DEV = 1 << 15;

const FILE_RIGHTS = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;
export const READ = EXECUTE | READ_FILE | READ_DIR;
export const DEVICE = READ_FILE | WRITE_FILE | IOCTL_DEV;

/** All rights that this kernel can take away: what a rule does not give back is refused. */
export const handledRights = (abi: number): number => {
  const bits = abi >= 5 ? 16 : abi >= 3 ? 15 : abi >= 2 ? 14 : 13;
  return 2 ** bits - 1;
};

export const fullRights = (abi: number): number => handledRights(abi) & ~(MAKE_CHAR | MAKE_BLOCK | IOCTL_DEV);

export type Grant = (descriptor: number, rights: number) => void;

/** Not in `constants`: a descriptor that names a place without opening it. */
const O_PATH = 0o10000000;

/** Gives rights on a path of our own lists; what is not there needs none. */
export const grantPath = (grant: Grant, path: string, rights: number): void => {
  let descriptor: number;
  try {
    descriptor = openSync(path, O_PATH);
  } catch {
    return;
  }
  try {
    grant(descriptor, fstatSync(descriptor).isDirectory() ? rights & ~IOCTL_DEV : rights & FILE_RIGHTS);
  } finally {
    closeSync(descriptor);
  }
};

interface Guarded {
  readonly readOnly: readonly string[];
  readonly hidden: readonly string[];
}

/**
 * A right on a folder holds for all below it, and no rule can take one back. So a folder that holds something
 * protected, or would hold it if it were made, gets only the right to be listed, and its other entries get their
 * rights one by one: in that folder itself nothing can be made, removed or renamed.
 */
export const grantTree = (grant: Grant, path: string, rights: number, guarded: Guarded, at = path): void => {
  if (guarded.hidden.includes(path)) return;
  let descriptor: number;
  try {
    // Never through a link: rights belong to what lies here, not to where a command points it.
    descriptor = openSync(at, O_PATH | constants.O_NOFOLLOW);
  } catch {
    return;
  }
  try {
    const stat = fstatSync(descriptor);
    if (stat.isSymbolicLink()) return;
    const own = guarded.readOnly.includes(path) ? rights & READ : rights;
    const holdsGuarded = [...guarded.hidden, ...guarded.readOnly].some(
      (one) => one !== path && isInside(one, path),
    );
    if (!stat.isDirectory()) grant(descriptor, own & FILE_RIGHTS);
    else if (!holdsGuarded) grant(descriptor, own);
    else {
      grant(descriptor, READ_DIR);
      const folder = `/proc/self/fd/${descriptor}`;
      for (const name of readdirSync(folder))
        grantTree(grant, join(path, name), own, guarded, `${folder}/${name}`);
    }
  } finally {
    closeSync(descriptor);
  }
};
