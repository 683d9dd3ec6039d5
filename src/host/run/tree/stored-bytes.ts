import { lstatSync, opendirSync, readFileSync, readlinkSync, type Stats, statSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { systemErrorCode } from "../../../base/system-error.ts";

/** A name on a disk takes part of a block of its folder, and an inode. */
const ENTRY_BYTES = 4096;
/** What the kernel needs for an open file. */
const DESCRIPTOR_BYTES = 1024;
/** Of `Stats.blocks`. */
const BLOCK_BYTES = 512;
/** How the kernel shows a file whose last name was removed. */
const NAMELESS = " (deleted)";

/** What has just gone takes nothing; what cannot be looked at was made so by the program, and takes any amount. */
const bytesOfUnseen = (thrown: unknown): number =>
  ["ENOENT", "ESRCH", "ENOTDIR", "EINVAL"].includes(systemErrorCode(thrown) ?? "")
    ? 0
    : Number.POSITIVE_INFINITY;

/** The names in a folder, without holding all of them. */
function* namesIn(folder: string): Generator<string> {
  const list = opendirSync(folder);
  try {
    for (let entry = list.readSync(); entry !== null; entry = list.readSync()) yield entry.name;
  } finally {
    list.closeSync();
  }
}

const diskBytes = ({ blocks }: Stats): number => blocks * BLOCK_BYTES;

/** Everything that has a name in a folder. */
function* namedParts(top: string): Generator<number> {
  const folders = [top];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    try {
      for (const name of namesIn(folder)) {
        const path = join(folder, name);
        const stats = lstatSync(path, { throwIfNoEntry: false });
        if (stats?.isDirectory() === true) folders.push(path);
        yield ENTRY_BYTES + (stats?.isFile() === true ? diskBytes(stats) : 0);
      }
    } catch (thrown) {
      yield bytesOfUnseen(thrown);
    }
  }
}

/** Files of the folder that have no name any more, and live as long as a thread of the process has them open. */
function* openParts(top: string, pid: number, counted: Set<number>): Generator<number> {
  try {
    for (const thread of namesIn(`/proc/${pid}/task`)) {
      const descriptors = `/proc/${pid}/task/${thread}/fd`;
      for (const descriptor of namesIn(descriptors)) {
        yield DESCRIPTOR_BYTES;
        const path = join(descriptors, descriptor);
        const target = readlinkSync(path);
        if (!target.startsWith(`${top}/`) || !target.endsWith(NAMELESS)) continue;
        const stats = statSync(path);
        if (!counted.has(stats.ino)) yield diskBytes(stats);
        counted.add(stats.ino);
      }
    }
  } catch (thrown) {
    yield bytesOfUnseen(thrown);
  }
}

/** The same of files that it has mapped alone. How much they take cannot be seen, so each is as large as it may be. */
function* mappedParts(top: string, pid: number, fileBytes: number, counted: Set<number>): Generator<number> {
  try {
    for (const line of readFileSync(`/proc/${pid}/maps`, "utf8").split("\n")) {
      if (!line.includes(` ${top}/`) || !line.endsWith(NAMELESS)) continue;
      // Addresses, rights, offset, device, inode, path.
      const inode = Number(line.split(/ +/, 5)[4]);
      if (!counted.has(inode)) yield fileBytes;
      counted.add(inode);
    }
  } catch (thrown) {
    yield bytesOfUnseen(thrown);
  }
}

function* partsOf(top: string, pids: readonly number[], fileBytes: number): Generator<number> {
  yield* namedParts(top);
  for (const pid of pids) {
    const counted = new Set<number>();
    yield* openParts(top, pid, counted);
    yield* mappedParts(top, pid, fileBytes, counted);
  }
}

/** Parts that are counted in one go: about a millisecond. */
const BATCH = 256;

/**
 * The bytes of a disk that processes take by what they write to their own folder, whether it still has a name or not; more
 * than `maxBytes` is not counted to its end.
 */
export const storedBytes = async (
  folder: string,
  pids: readonly number[],
  fileBytes: number,
  maxBytes: number,
): Promise<number> => {
  let sum = 0;
  let parts = 0;
  for (const bytes of partsOf(folder, pids, fileBytes)) {
    sum += bytes;
    if (sum > maxBytes) return sum;
    if (++parts % BATCH === 0) await nextTurn();
  }
  return sum;
};
