import { randomBytes } from "node:crypto";
import {
  chmodSync,
  closeSync,
  constants,
  opendirSync,
  openSync,
  renameSync,
  rmdirSync,
  unlinkSync,
} from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import { systemErrorCode } from "../../../base/system-error.ts";
import { O_PATH } from "../../reach/o-path.ts";

/** Entries that are removed in one go. */
const BATCH = 128;

interface Folder {
  readonly descriptor: number;
  /** Leads to it whatever becomes of its name. */
  readonly at: string;
}

const descriptorPath = (descriptor: number): string => `/proc/self/fd/${descriptor}`;

/** Opens a folder, never through a link, and takes away what keeps its owner out of it. */
const openFolder = (path: string | Buffer): Folder => {
  const held = openSync(path, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    chmodSync(descriptorPath(held), 0o700);
    const descriptor = openSync(descriptorPath(held), constants.O_RDONLY | constants.O_DIRECTORY);
    return { descriptor, at: descriptorPath(descriptor) };
  } finally {
    closeSync(held);
  }
};

const below = ({ at }: Folder, name: Buffer): Buffer => Buffer.concat([Buffer.from(`${at}/`), name]);

/** Removes the files in a folder but for one, and hands over each folder. Returns whether there was anything. */
const emptyOfFiles = async (
  folder: Folder,
  onFolder: (path: Buffer) => void,
  kept?: string,
): Promise<boolean> => {
  const list = opendirSync(folder.at, { encoding: "buffer" as BufferEncoding });
  let count = 0;
  try {
    for (let entry = list.readSync(); entry !== null; entry = list.readSync()) {
      // The types know no encoding but text.
      const name = entry.name as unknown as Buffer;
      if (name.toString() === kept) continue;
      const path = below(folder, name);
      if (entry.isDirectory()) onFolder(path);
      else unlinkSync(path);
      if (++count % BATCH === 0) await nextTurn();
    }
  } finally {
    list.closeSync();
  }
  return count > 0;
};

const emptyTree = async (top: Folder, last: string | undefined): Promise<void> => {
  const [mark, state] = [randomBytes(6).toString("hex"), { moved: 0 }];
  const toTop = (path: Buffer): void => {
    // Else it cannot be moved: its entry for the folder above changes.
    closeSync(openFolder(path).descriptor);
    renameSync(path, `${top.at}/${mark}-${state.moved++}`);
  };
  for (let isLeft = true; isLeft; ) {
    const folders: Buffer[] = [];
    isLeft = await emptyOfFiles(top, (path) => void folders.push(path), last);
    for (const path of folders) {
      const folder = openFolder(path);
      try {
        // Nothing is followed downwards, so that it may be deeper than a path can be long.
        await emptyOfFiles(folder, toTop);
      } finally {
        closeSync(folder.descriptor);
      }
      rmdirSync(path);
    }
  }
};

/**
 * Removes a folder and what a hostile program may have left in it: by descriptors, of any depth, without rights. The file
 * called `last` goes last, so that who is ended meanwhile leaves it there.
 */
export const removeTree = async (path: string, last?: string): Promise<void> => {
  try {
    const top = openFolder(path);
    try {
      await emptyTree(top, last);
      await emptyTree(top, undefined);
    } finally {
      closeSync(top.descriptor);
    }
    rmdirSync(path);
  } catch (thrown) {
    if (systemErrorCode(thrown) !== "ENOENT") throw thrown;
  }
};
