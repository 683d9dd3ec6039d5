import { closeSync, constants, lstatSync, openSync, realpathSync } from "node:fs";
import type { Located } from "../reach/located.ts";
import { O_PATH } from "../reach/o-path.ts";

// A link is not followed, and is not a directory.
const HOLD = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** A letter for each byte: names need not be UTF-8. */
const toBytes = (latin1: string): Buffer => Buffer.from(latin1, "latin1");

interface Held {
  /** Below the root, with a slash at the end. */
  readonly prefix: string;
  readonly at: string;
  readonly fd: number | undefined;
}

/** Steps from directory to directory below the root, one name at a time, so that no link is ever followed. */
const createSteps = (root: Located) => {
  const held: Held[] = [];
  const leaveOne = (): void => {
    const fd = held.pop()?.fd;
    if (fd !== undefined) closeSync(fd);
  };
  return {
    /** A path to a directory that is held until the next call; undefined if it does not exist. */
    enter: (directory: string): string | undefined => {
      while (!directory.startsWith(held.at(-1)?.prefix ?? "")) leaveOne();
      let { prefix, at } = held.at(-1) ?? { prefix: "", at: root.at };
      while (prefix !== directory) {
        const end = directory.indexOf("/", prefix.length) + 1;
        const name = directory.slice(prefix.length, end - 1);
        try {
          const fd = openSync(toBytes(`${at}/${name}`), HOLD);
          prefix = directory.slice(0, end);
          at = `/proc/self/fd/${fd}`;
          held.push({ prefix, at, fd });
        } catch {
          return undefined;
        }
      }
      return at;
    },
    leave: (): void => {
      while (held.length > 0) leaveOne();
    },
  };
};

const checkPinned = (root: Located, names: readonly Buffer[]): ReadonlySet<Buffer> => {
  const steps = createSteps(root);
  const there = new Set<Buffer>();
  // In order, so that what has a directory in common comes together.
  const sorted = names.map((name) => ({ name, path: name.toString("latin1") }));
  sorted.sort((a, b) => (a.path < b.path ? -1 : 1));
  try {
    for (const { name, path } of sorted) {
      const start = path.lastIndexOf("/") + 1;
      const at = steps.enter(path.slice(0, start));
      if (at === undefined) continue;
      const found = lstatSync(toBytes(`${at}/${path.slice(start)}`), { throwIfNoEntry: false });
      if (found?.isFile() === true) there.add(name);
    }
    return there;
  } finally {
    steps.leave();
  }
};

const isThereByName = (root: Located, name: Buffer): boolean => {
  const expected = Buffer.concat([Buffer.from(root.realPath === "/" ? "/" : `${root.realPath}/`), name]);
  try {
    return realpathSync.native(expected, { encoding: "buffer" }).equals(expected);
  } catch {
    return false;
  }
};

/**
 * Those of these names, in bytes and below a held directory, that are files there, without any link on the way. ripgrep
 * walks directories, and one that is swapped for a link during the walk exposes names outside the roots, which must not
 * be reported.
 */
export const findBelow = (root: Located, names: readonly Buffer[]): ReadonlySet<Buffer> =>
  root.isPinned ? checkPinned(root, names) : new Set(names.filter((name) => isThereByName(root, name)));
