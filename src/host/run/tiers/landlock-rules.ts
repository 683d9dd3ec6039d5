import { closeSync, constants, fstatSync, openSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { isInside } from "../../../base/paths.ts";
import {
  EXECUTE,
  handledRights,
  IOCTL_DEV,
  MAKE_BLOCK,
  MAKE_CHAR,
  READ_DIR,
  READ_FILE,
  TRUNCATE,
  WRITE_FILE,
} from "../../os/kernel-abi.ts";
import { O_PATH } from "../../reach/o-path.ts";

const FILE_RIGHTS = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;
export const READ = EXECUTE | READ_FILE | READ_DIR;
export const DEVICE = READ_FILE | WRITE_FILE | IOCTL_DEV;

export const fullRights = (abi: number): number => handledRights(abi) & ~(MAKE_CHAR | MAKE_BLOCK | IOCTL_DEV);

export type Grant = (descriptor: number, rights: number) => void;

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

/** Entries that get their rights one by one, in one folder and in all: each costs about 30 microseconds. */
const MAX_ENTRIES = 20_000;
const MAX_RULES = 50_000;

interface Guarded {
  readonly readOnly: readonly string[];
  /** Hidden or withheld. */
  readonly closed: readonly string[];
}

interface Walk {
  readonly grant: Grant;
  readonly readOnly: ReadonlySet<string>;
  readonly closed: ReadonlySet<string>;
  /** Folders that hold something guarded, at any depth. */
  readonly holding: ReadonlySet<string>;
  rulesLeft: number;
}

const foldersAbove = (paths: readonly string[], root: string): ReadonlySet<string> => {
  const above = new Set<string>();
  for (const path of paths.filter((one) => one !== root && isInside(one, root))) {
    for (let folder = dirname(path); !above.has(folder); folder = dirname(folder)) {
      above.add(folder);
      if (folder === root) break;
    }
  }
  return above;
};

const grantEntries = (walk: Walk, path: string, folder: string, rights: number): void => {
  const entries = readdirSync(folder, { withFileTypes: true });
  const folders = entries.filter((entry) => entry.isDirectory());
  // Too many to name one by one: the files directly in this folder stay closed, because opening them would open the
  // secret too.
  const isTooMuch = entries.length > MAX_ENTRIES || entries.length > walk.rulesLeft;
  for (const { name } of isTooMuch ? folders : entries)
    grantBelow(walk, join(path, name), `${folder}/${name}`, rights);
};

const grantBelow = (walk: Walk, path: string, at: string, rights: number): void => {
  if (walk.closed.has(path) || walk.rulesLeft <= 0) return;
  let descriptor: number;
  try {
    // Never through a link: rights belong to the file here, not to the target of a link that a command created.
    descriptor = openSync(at, O_PATH | constants.O_NOFOLLOW);
  } catch {
    return;
  }
  try {
    const stat = fstatSync(descriptor);
    if (stat.isSymbolicLink()) return;
    walk.rulesLeft--;
    const own = walk.readOnly.has(path) ? rights & READ : rights;
    if (!stat.isDirectory()) walk.grant(descriptor, own & FILE_RIGHTS);
    else if (!walk.holding.has(path)) walk.grant(descriptor, own);
    else {
      walk.grant(descriptor, READ_DIR);
      grantEntries(walk, path, `/proc/self/fd/${descriptor}`, own);
    }
  } finally {
    closeSync(descriptor);
  }
};

/**
 * A right on a folder holds for all below it, and no rule can take one back. So a folder that holds something
 * guarded, or would hold it if it were made, gets only the right to be listed, and its other entries get their
 * rights one by one: in that folder itself nothing can be made, removed or renamed.
 */
export const grantTree = (
  grant: Grant,
  path: string,
  rights: number,
  { readOnly, closed }: Guarded,
): void => {
  const walk = {
    grant,
    readOnly: new Set(readOnly),
    closed: new Set(closed),
    holding: foldersAbove([...readOnly, ...closed], path),
    rulesLeft: MAX_RULES,
  };
  grantBelow(walk, path, path, rights);
};
