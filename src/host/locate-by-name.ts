import { isUtf8 } from "node:buffer";
import { close, constants, fstat, lstatSync, open, realpathSync, type Stats, stat } from "node:fs";
import { realpath } from "node:fs/promises";
import { promisify } from "node:util";
import { type Locate, type Located, MAX_TRIES, vanished } from "./located.ts";

const READ = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

// Without /proc nothing gives the path of a descriptor, so the name is asked again until it is beyond chance that
// somebody swaps links between all the questions and back. One agreement by luck is possible, eight in a row is not.
const AGREEMENTS = 8;

const openAsync = promisify(open);
const fstatAsync = promisify(fstat);
const statAsync = promisify(stat);

interface Identity {
  readonly dev: bigint;
  readonly ino: bigint;
}

// In one go, without letting other work in between: time is what a swap needs.
const agrees = (realPath: string, held: Identity): boolean => {
  try {
    for (let i = 0; i < AGREEMENTS; i++) {
      if (realpathSync.native(realPath) !== realPath) return false;
      const named = lstatSync(realPath, { bigint: true });
      if (named.dev !== held.dev || named.ino !== held.ino) return false;
    }
    return true;
  } catch {
    return false;
  }
};

const shut = (fd: number): void => close(fd, () => {});

const hold = async (fd: number, realPath: string): Promise<Located | undefined> => {
  const [held, stats] = await Promise.all([fstatAsync(fd, { bigint: true }), fstatAsync(fd)]);
  if (!agrees(realPath, held)) return undefined;
  return {
    realPath,
    stats,
    at: realPath,
    openContent: async () => fd,
    confirm: async () => {
      if (!agrees(realPath, held)) throw vanished();
    },
    close: () => shut(fd),
  };
};

/** A pipe, socket or device: seen, never opened, and of no use but to be refused. */
const leaveShut = (realPath: string, stats: Stats): Located => ({
  realPath,
  stats,
  at: realPath,
  openContent: () => Promise.reject(vanished()),
  confirm: () => Promise.reject(vanished()),
  close: () => {},
});

/** For systems without a usable /proc: macOS, the BSDs, some sandboxes. */
export const locateByName: Locate = async (path, judge) => {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const name = await realpath(path, { encoding: "buffer" });
    // Names that are not UTF-8 could be confused with one another once decoded: they are nowhere.
    const realPath = isUtf8(name) ? name.toString() : "";
    judge(realPath);
    const seen = await statAsync(realPath);
    if (!seen.isFile() && !seen.isDirectory()) return leaveShut(realPath, seen);
    const fd = await openAsync(realPath, READ);
    try {
      const located = await hold(fd, realPath);
      if (located !== undefined) return located;
    } catch (error) {
      shut(fd);
      throw error;
    }
    shut(fd);
  }
  throw vanished();
};
