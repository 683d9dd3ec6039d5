import { isUtf8 } from "node:buffer";
import {
  close,
  constants,
  type Dirent,
  fstat,
  lstatSync,
  readdirSync,
  realpathSync,
  type Stats,
  stat,
} from "node:fs";
import { realpath } from "node:fs/promises";
import { isDeepStrictEqual, promisify } from "node:util";
import { openAsync } from "./descriptor.ts";
import type { Locate, Located } from "./located.ts";

const READ = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

// Without /proc nothing gives the path of a descriptor, so the name is asked again until it is beyond chance that
// somebody swaps links between all the questions and back. One agreement by luck is possible, eight in a row is not.
const AGREEMENTS = 8;

// Atomic rewrites replace a file under its name; a path that changes under every try is given up as missing.
const MAX_TRIES = 32;

const fstatAsync = promisify(fstat);
const statAsync = promisify(stat);

interface Identity {
  readonly dev: bigint;
  readonly ino: bigint;
}

/** In the shape of the system's errors. */
const vanished = (): Error => Object.assign(new Error("It changed on every try."), { code: "ENOENT" });

const isHeldAt = (realPath: string, held: Identity): boolean => {
  if (realpathSync.native(realPath) !== realPath) return false;
  const named = lstatSync(realPath, { bigint: true });
  return named.dev === held.dev && named.ino === held.ino;
};

// Done synchronously, so that a swap has as little time as possible.
const agrees = (ask: () => boolean): boolean => {
  try {
    for (let i = 0; i < AGREEMENTS; i++) if (!ask()) return false;
    return true;
  } catch {
    return false;
  }
};

const listHeld = (realPath: string, held: Identity): Dirent[] => {
  const first = readdirSync(realPath, { withFileTypes: true });
  const isSame = (): boolean =>
    isHeldAt(realPath, held) &&
    isDeepStrictEqual(
      readdirSync(realPath),
      first.map((entry) => entry.name),
    );
  if (!agrees(isSame)) throw vanished();
  return first;
};

const shut = (fd: number): void => close(fd, () => {});

const hold = async (fd: number, realPath: string): Promise<Located | undefined> => {
  const [held, stats] = await Promise.all([fstatAsync(fd, { bigint: true }), fstatAsync(fd)]);
  if (!agrees(() => isHeldAt(realPath, held))) return undefined;
  return {
    realPath,
    stats,
    at: realPath,
    isPinned: false,
    openContent: async () => fd,
    list: async () => listHeld(realPath, held),
    close: () => shut(fd),
  };
};

/** A pipe, socket or device. It is never opened, and only located so that it can be refused. */
const leaveShut = (realPath: string, stats: Stats): Located => ({
  realPath,
  stats,
  at: realPath,
  isPinned: false,
  openContent: () => Promise.reject(vanished()),
  list: () => Promise.reject(vanished()),
  close: () => {},
});

/** For systems without a usable /proc: macOS, the BSDs, some sandboxes. */
export const locateByName: Locate = async (path, judge) => {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const name = await realpath(path, { encoding: "buffer" });
    // Names that are not UTF-8 could become equal when decoded, so they count as missing.
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
