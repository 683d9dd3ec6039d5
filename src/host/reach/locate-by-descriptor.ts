import { isUtf8 } from "node:buffer";
import {
  close,
  closeSync,
  constants,
  fstatSync,
  openSync,
  readdir,
  readdirSync,
  readlinkSync,
} from "node:fs";
import { promisify } from "node:util";
import { lstatAsync, openAsync } from "./descriptor.ts";
import type { Locate, Located } from "./located.ts";
import { createMountCheck, hasDistantMounts, mountOf } from "./mounts.ts";
import { O_PATH } from "./o-path.ts";

const READ = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

// How the kernel marks the path of something removed or replaced; but a file may also really have such a name.
const DELETED = " (deleted)";

// What may wait for a disk or a network runs in the thread pool, at some 40 µs a piece. What the kernel answers from
// memory, as it does on a descriptor that it has just looked up, is asked at once.
const readdirAsync = promisify(readdir);

const leadsTo = async (path: string, fd: number): Promise<boolean> => {
  try {
    const held = fstatSync(fd, { bigint: true });
    const named = await lstatAsync(path, { bigint: true });
    return held.dev === named.dev && held.ino === named.ino;
  } catch {
    return false;
  }
};

/** A directory this small on a local disk is read in less time than the thread pool takes to begin. */
const SMALL_DIRECTORY_BYTES = 16 * 1024;

const hold = (fd: number, realPath: string, stats: Located["stats"], isLocal: boolean): Located => {
  let content: number | undefined;
  const at = `/proc/self/fd/${fd}`;
  return {
    realPath,
    stats,
    at,
    isPinned: true,
    openContent: async () => {
      // It has just been looked up, so only a network mount could still block.
      content ??= isLocal ? openSync(at, READ) : await openAsync(at, READ);
      return content;
    },
    list: async () =>
      isLocal && stats.size <= SMALL_DIRECTORY_BYTES
        ? readdirSync(at, { withFileTypes: true })
        : readdirAsync(at, { withFileTypes: true }),
    close: () => {
      closeSync(fd);
      if (content === undefined) return;
      // Nobody waits for the close, and closing a descriptor that was only read loses nothing.
      if (isLocal) closeSync(content);
      else close(content, () => {});
    },
  };
};

export const createLocateByDescriptor = (): Locate => {
  const isOurs = createMountCheck();
  // Looking a name up on a local disk takes microseconds, and the thread pool some forty; a network that hangs would
  // block all other calls, so the thread pool is used if one is mounted.
  const isLocal = !hasDistantMounts();
  const lookUp = (path: string) => (isLocal ? openSync(path, O_PATH) : openAsync(path, O_PATH));

  const nameOf = (fd: number): string => {
    const name = readlinkSync(`/proc/self/fd/${fd}`, { encoding: "buffer" });
    // Names that are not UTF-8 could become equal when decoded, so they count as missing.
    return isUtf8(name) && isOurs(mountOf(fd) ?? "") ? name.toString() : "";
  };

  return async (path, judge) => {
    const fd = await lookUp(path);
    try {
      let realPath = nameOf(fd);
      judge(realPath);
      if (realPath.endsWith(DELETED) && !(await leadsTo(realPath, fd))) {
        // Replaced since it was opened, as every atomic rewrite does: still whole, and judged by the name it had.
        realPath = realPath.slice(0, -DELETED.length);
        judge(realPath);
      }
      return hold(fd, realPath, fstatSync(fd), isLocal);
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  };
};

/** Needs Linux with a whole /proc: some sandboxes and kernels emulate only half of it. */
export const canLocateByDescriptor = (): boolean => {
  if (process.platform !== "linux") return false;
  let fd: number | undefined;
  try {
    fd = openSync("/", O_PATH);
    return readlinkSync(`/proc/self/fd/${fd}`) === "/" && createMountCheck()(mountOf(fd) ?? "");
  } catch {
    return false;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
};
