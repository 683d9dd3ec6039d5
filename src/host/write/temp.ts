import { randomBytes } from "node:crypto";
import { type BigIntStats, closeSync, fchmodSync, fchownSync, fstatSync, openSync } from "node:fs";
import { posix } from "node:path";
import { LlmcError } from "../../base/error.ts";
import { systemErrorCode } from "../../base/system-error.ts";
import { quoteForMessage } from "../../base/text.ts";
import { NEW_FILE } from "../own-files/replace-file.ts";
import { fsyncAsync, openAsync } from "../reach/descriptor.ts";
import type { Located } from "../reach/located.ts";
import { changedMeanwhile } from "./failure.ts";
import type { WriteJournal } from "./journal.ts";
import { removeIfThere } from "./steps.ts";
import { requireUnmoved, statOf } from "./write-target.ts";

/** A new file, whole and synced, under a name that nobody could guess, beside the one it is to become. */
export interface Temp {
  readonly name: string;
  readonly at: string;
  readonly stats: BigIntStats;
  /** Removes it if it is still there. Always called in the end. */
  discard(): void;
}

export interface TempRequest {
  readonly requestedPath: string;
  readonly dir: Located;
  /** What the caller has locked. */
  readonly key: string;
  /** The file whose mode and owner it takes over; undefined: those of a new file. */
  readonly like: BigIntStats | undefined;
  readonly fill: (fd: number) => Promise<void>;
}

export const newTempName = (): string => `.llmc-tmp-${randomBytes(12).toString("hex")}`;

// What Node has no call for is not kept: access control lists, extended attributes, flags.
const takeOver = (fd: number, like: BigIntStats, requestedPath: string): void => {
  const own = fstatSync(fd, { bigint: true });
  if (own.uid !== like.uid || own.gid !== like.gid) {
    try {
      fchownSync(fd, Number(like.uid), Number(like.gid));
    } catch (error) {
      throw new LlmcError(
        "permission_denied",
        `${quoteForMessage(requestedPath)} belongs to another user or group, which a rewrite could not keep.`,
        { hint: "Its owner has to change it; text can still be appended.", cause: error },
      );
    }
  }
  // After the owner, since a change of owner takes special bits away.
  fchmodSync(fd, Number(like.mode & 0o7777n));
};

const fillAndSync = async (fd: number, { like, fill, requestedPath }: TempRequest): Promise<BigIntStats> => {
  try {
    await fill(fd);
    if (like !== undefined) takeOver(fd, like, requestedPath);
    await fsyncAsync(fd);
    return fstatSync(fd, { bigint: true });
  } finally {
    closeSync(fd);
  }
};

/** Without /proc the file may be made elsewhere, in a bad moment: then it stays empty, and nothing is written. */
const openUnpinned = ({ dir, requestedPath }: TempRequest, at: string, mode: number): number => {
  requireUnmoved(dir, requestedPath);
  const fd = openSync(at, NEW_FILE, mode);
  try {
    requireUnmoved(dir, requestedPath);
    if (statOf(at)?.ino !== fstatSync(fd, { bigint: true }).ino) throw changedMeanwhile(requestedPath);
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
};

export const createTemp = async (request: TempRequest, journal: WriteJournal): Promise<Temp> => {
  const { dir, key, like } = request;
  const name = newTempName();
  const at = `${dir.at}/${name}`;
  const done = journal.noteTemp({ temp: posix.join(dir.realPath, name), key });
  const discard = (): void => {
    try {
      removeIfThere(at);
      done();
    } catch (error) {
      // It stays noted, and goes at the next start. What failed before it is what the caller has to know.
      if (systemErrorCode(error) === undefined) throw error;
    }
  };
  try {
    // Until it has its owner and mode, nobody else may read what may be secret in the file it replaces.
    const mode = like === undefined ? 0o644 : 0o600;
    const fd = dir.isPinned ? await openAsync(at, NEW_FILE, mode) : openUnpinned(request, at, mode);
    return { name, at, stats: await fillAndSync(fd, request), discard };
  } catch (error) {
    discard();
    throw error;
  }
};
