import {
  closeSync,
  constants,
  type Dirent,
  fstatSync,
  lstatSync,
  opendirSync,
  openSync,
  realpathSync,
  rmdirSync,
  type Stats,
  unlinkSync,
} from "node:fs";
import { posix } from "node:path";
import { setImmediate as breathe } from "node:timers/promises";
import { LlmcError } from "../../base/error.ts";
import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import { systemErrorCode } from "../../base/system-error.ts";
import { quoteForMessage } from "../../base/text.ts";
import type { Lease } from "../state/locks/locks.ts";
import { changedMeanwhile } from "./failure.ts";
import type { WriteTarget } from "./write-target.ts";

const OPEN = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

// Each level holds two descriptors.
const MAX_DEPTH = 256;

// Entries that are worked off before other calls get their turn; some milliseconds.
const BATCH = 128;

// New files that keep coming into a directory while it is emptied.
const MAX_PASSES = 16;

/** One thing below a directory. */
export interface TreeEntry {
  /** Relative to the top; for judging and for messages, not for system calls. */
  readonly path: string;
  readonly isDirectory: boolean;
  readonly isFile: boolean;
  /** Of the entry itself; undefined where it has gone. */
  readonly stats: () => Stats | undefined;
}

interface Entry extends TreeEntry {
  /** For system calls. Names need not be UTF-8. */
  readonly at: Buffer;
}

/** How a tree is worked through. */
interface Walk {
  readonly requestedPath: string;
  readonly isPinned: boolean;
  readonly judge: (entry: TreeEntry) => void;
  readonly signal: AbortSignal | undefined;
}

interface OpenDir {
  readonly fd: number;
  readonly at: string | Buffer;
  readonly path: string;
  readonly depth: number;
}

const tooDeep = (requestedPath: string): LlmcError =>
  new LlmcError(
    "invalid_args",
    `${quoteForMessage(requestedPath)} holds directories over ${MAX_DEPTH} deep.`,
    {
      hint: "Take a part further down first.",
    },
  );

/** Without /proc only the name can be asked again, right before every step. */
const requireSame = ({ fd, at }: OpenDir, { isPinned, requestedPath }: Walk): void => {
  if (isPinned) return;
  const real = realpathSync.native(at, { encoding: "buffer" });
  if (!real.equals(Buffer.from(at)) || lstatSync(at).ino !== fstatSync(fd).ino)
    throw changedMeanwhile(requestedPath);
};

/** Opened without following a link; from here on a swap of names above does not matter. */
const openDir = (at: string | Buffer, path: string, depth: number, walk: Walk): OpenDir => {
  if (depth > MAX_DEPTH) throw tooDeep(walk.requestedPath);
  const fd = openSync(at, OPEN);
  const dir = { fd, at: walk.isPinned ? `/proc/self/fd/${fd}` : at, path, depth };
  try {
    requireSame(dir, walk);
    return dir;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
};

const entryOf = (dirent: Dirent, dir: OpenDir): Entry => {
  // The types know no encoding but text.
  const name = dirent.name as unknown as Buffer;
  const at = Buffer.concat([Buffer.from(dir.at), Buffer.from("/"), name]);
  return {
    at,
    stats: () => lstatSync(at, { throwIfNoEntry: false }),
    path: posix.join(dir.path, name.toString()),
    isDirectory: dirent.isDirectory(),
    isFile: dirent.isFile(),
  };
};

/** What is in a directory, in parts, so that a million names need no more memory than a hundred. */
async function* batchesOf(dir: OpenDir, { signal }: Walk): AsyncGenerator<readonly Entry[]> {
  const list = opendirSync(dir.at, { encoding: "buffer" as BufferEncoding, bufferSize: BATCH });
  try {
    for (;;) {
      const batch: Entry[] = [];
      while (batch.length < BATCH) {
        const dirent = list.readSync();
        if (dirent === null) break;
        batch.push(entryOf(dirent, dir));
      }
      if (batch.length === 0) return;
      yield batch;
      await breathe();
      stopIfAborted(signal);
    }
  } finally {
    list.closeSync();
  }
}

const isOneOf = (error: unknown, ...codes: string[]): boolean => codes.includes(systemErrorCode(error) ?? "");

/** A directory of a listing, unless it is gone or something else by now. */
const tryOpen = (entry: Entry, depth: number, walk: Walk): OpenDir | undefined => {
  try {
    return openDir(entry.at, entry.path, depth, walk);
  } catch (error) {
    if (isOneOf(error, "ENOENT", "ENOTDIR", "ELOOP")) return undefined;
    throw error;
  }
};

const scanDir = async (dir: OpenDir, walk: Walk): Promise<void> => {
  try {
    for await (const batch of batchesOf(dir, walk)) {
      for (const entry of batch) {
        walk.judge(entry);
        const below = entry.isDirectory ? tryOpen(entry, dir.depth + 1, walk) : undefined;
        if (below !== undefined) await scanDir(below, walk);
      }
    }
  } finally {
    closeSync(dir.fd);
  }
};

const removeOne = (remove: () => void): number => {
  try {
    remove();
    return 1;
  } catch (error) {
    // Gone already, or another kind of thing by now, or filled again: the next pass sees what is there.
    if (isOneOf(error, "ENOENT", "EISDIR", "ENOTDIR", "ENOTEMPTY", "EEXIST")) return 0;
    throw error;
  }
};

const emptyDir = async (dir: OpenDir, walk: Walk, lease: Pick<Lease, "commit">): Promise<number> => {
  let removed = 0;
  const removeAll = (entries: readonly Entry[], remove: (at: Buffer) => void): void => {
    if (entries.length === 0) return;
    lease.commit(() => {
      for (const { at } of entries) {
        requireSame(dir, walk);
        removed += removeOne(() => remove(at));
      }
    });
  };
  try {
    for (let pass = 0; pass < MAX_PASSES; pass++) {
      let found = 0;
      for await (const batch of batchesOf(dir, walk)) {
        found += batch.length;
        for (const entry of batch) walk.judge(entry);
        removeAll(
          batch.filter((entry) => !entry.isDirectory),
          unlinkSync,
        );
        for (const entry of batch.filter(({ isDirectory }) => isDirectory)) {
          const below = tryOpen(entry, dir.depth + 1, walk);
          if (below === undefined) continue;
          removed += await emptyDir(below, walk, lease);
          removeAll([entry], rmdirSync);
        }
      }
      if (found === 0) return removed;
    }
    throw changedMeanwhile(walk.requestedPath);
  } finally {
    closeSync(dir.fd);
  }
};

type Judge = (entry: TreeEntry) => void;

const walkAt = (
  { requestedPath, dir }: WriteTarget,
  judge: Judge,
  signal: AbortSignal | undefined,
): Walk => ({
  requestedPath,
  isPinned: dir.isPinned,
  judge,
  signal,
});

/** Lets `judge` throw over everything below a directory; links are seen, not followed. */
export const scanTree = (
  target: WriteTarget,
  judge: Judge,
  signal: AbortSignal | undefined,
): Promise<void> => {
  const walk = walkAt(target, judge, signal);
  return scanDir(openDir(target.at, "", 0, walk), walk);
};

/** Empties a directory, descriptor by descriptor, and gives the number of things removed. The directory stays. */
export const emptyTree = (
  target: WriteTarget,
  judge: Judge,
  lease: Lease,
  signal: AbortSignal | undefined,
): Promise<number> => {
  const walk = walkAt(target, judge, signal);
  return emptyDir(openDir(target.at, "", 0, walk), walk, lease);
};

/** For what nobody but us works on. */
const NO_LEASE: Pick<Lease, "commit"> = { commit: (step) => step() };

/**
 * Removes what is at a name in a directory that is held (`/proc/self/fd/…/NAME`), with all that is below it; nothing where
 * it has gone. Node's own `rm` goes by paths, and would follow a folder that a running program exchanges for a link.
 */
export const removeTree = async (at: string | Buffer, requestedPath: string): Promise<void> => {
  const walk: Walk = { requestedPath, isPinned: true, judge: () => {}, signal: undefined };
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    const stats = lstatSync(at, { throwIfNoEntry: false });
    if (stats === undefined) return;
    const name = Buffer.from(at);
    const top = stats.isDirectory()
      ? tryOpen({ at: name, path: "", isDirectory: true, isFile: false, stats: () => stats }, 0, walk)
      : undefined;
    if (top !== undefined) await emptyDir(top, walk, NO_LEASE);
    removeOne(() => (top === undefined ? unlinkSync(at) : rmdirSync(at)));
  }
  throw changedMeanwhile(requestedPath);
};
