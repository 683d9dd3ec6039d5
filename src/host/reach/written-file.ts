import { createHash } from "node:crypto";
import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync } from "node:fs";
import { isMissing } from "../../base/system-error.ts";
import { systemPath } from "./byte-path.ts";

/** What is at a path: a file with this hash, a folder, or something that cannot be changed in place, such as a link. */
type KnownContent = { readonly sha256: string } | "folder" | "other";

/** What was put at a path. What was moved is known by what is there after the move. */
export type WrittenContent = Exclude<KnownContent, "other"> | "moved";

/** The very file that was written, in the state in which it was left. */
export interface WrittenFile {
  readonly identity: string;
  readonly content: KnownContent;
}

const READ = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY | constants.O_NOFOLLOW;

/** Start-up files are short; the content of a longer one is not compared, and it counts as somebody else's. */
const MAX_COMPARED_BYTES = 16 * 1024 * 1024;

interface Found {
  readonly isFolder: boolean;
  readonly isFile: boolean;
  readonly size: bigint;
  readonly identity: string;
}

/**
 * What is done to a file changes its ctime, which no program can set; but a store through a mapping does so only when
 * its page is written back, so the content is compared as well. A folder stays the same when files are put into it,
 * since each of them is judged by itself.
 */
const findAt = (path: string): Found | undefined => {
  try {
    const stats = lstatSync(systemPath(path), { bigint: true });
    const isFolder = stats.isDirectory();
    const state = isFolder ? "folder" : stats.ctimeNs;
    const identity = `${stats.dev}:${stats.ino}:${stats.birthtimeNs}:${state}`;
    return { isFolder, isFile: stats.isFile(), size: stats.size, identity };
  } catch (thrown) {
    if (isMissing(thrown)) return undefined;
    throw thrown;
  }
};

export const sha256Of = (content: string | Buffer): string =>
  createHash("sha256").update(content).digest("hex");

/** By its descriptor and without waiting: the folder may have been exchanged for one with a FIFO of this name. */
const readRegular = (path: string): Buffer => {
  const fd = openSync(systemPath(path), READ);
  try {
    return fstatSync(fd).isFile() ? readFileSync(fd) : Buffer.alloc(0);
  } finally {
    closeSync(fd);
  }
};

/** Undefined where it is too long to be compared. */
const contentAt = (path: string, { isFolder, isFile, size }: Found): KnownContent | undefined => {
  if (isFolder) return "folder";
  if (!isFile) return "other";
  if (size > BigInt(MAX_COMPARED_BYTES)) return undefined;
  return { sha256: sha256Of(readRegular(path)) };
};

const isSame = (one: KnownContent, other: KnownContent | undefined): boolean =>
  typeof one === "object" && typeof other === "object" ? one.sha256 === other.sha256 : one === other;

/** What is at a path right after it was written; undefined where nothing is, or nothing that can be compared. */
export const writtenAt = (path: string, content: WrittenContent): WrittenFile | undefined => {
  const found = findAt(path);
  if (found === undefined) return undefined;
  const known = content === "moved" ? contentAt(path, found) : content;
  return known === undefined ? undefined : { identity: found.identity, content: known };
};

/** Whether what was written is still there, and nobody has touched it since. */
export const wasLeftAlone = (path: string, written: WrittenFile | undefined): boolean => {
  if (written === undefined) return false;
  try {
    const found = findAt(path);
    return (
      found !== undefined &&
      found.identity === written.identity &&
      isSame(written.content, contentAt(path, found))
    );
  } catch {
    return false;
  }
};
