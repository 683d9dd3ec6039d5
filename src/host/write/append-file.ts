import type { Hash } from "node:crypto";
import { type BigIntStats, closeSync, constants, fstatSync, ftruncateSync, writeSync } from "node:fs";
import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import { shownPath } from "../../policy/paths.ts";
import { fsyncAsync, openAsync } from "../reach/descriptor.ts";
import type { Lease } from "../state/locks/locks.ts";
import { readThrough, sha256Of, startHash } from "./bytes.ts";
import { encodeRaw, formOf, parseExpectation } from "./content.ts";
import type { Preconditions, Written } from "./contract.ts";
import { RETRY, refuseUnwritable, type WriteContext } from "./write-context.ts";
import { differs, install, readForChange, replacedMeanwhile, underFileLock } from "./write-file.ts";
import type { WriteReach } from "./write-reach.ts";
import { requireUnmoved, statOf, type WriteTarget } from "./write-target.ts";

// Never waits: not for the reader of a pipe that came in the file's place.
const APPEND = constants.O_RDWR | constants.O_APPEND | constants.O_NOFOLLOW | constants.O_NONBLOCK;

// Logs may grow while they are read; after that many rounds somebody writes without pause.
const MAX_ROUNDS = 16;

interface Hashed {
  readonly hash: Hash;
  readonly head: Buffer;
  size: number;
}

const hashOn = async (fd: number, hashed: Hashed, signal: AbortSignal | undefined): Promise<void> => {
  const { hash, head } = hashed;
  const take = (chunk: Buffer): void => {
    if (hashed.size === 0) chunk.copy(head);
    hash.update(chunk);
    hashed.size += chunk.length;
  };
  await readThrough(fd, hashed.size, take, signal);
};

const isSameFile = (a: BigIntStats | undefined, b: BigIntStats): boolean =>
  a !== undefined && a.dev === b.dev && a.ino === b.ino;

/**
 * One write at the end. A kill in the middle of a large one can leave a part of it: the kernel writes page by page, so
 * what fits into one page of memory (4 KiB) is there whole or not at all. One that fails for lack of space is taken back.
 */
const writeAtEnd = (fd: number, bytes: Buffer, size: number): void => {
  let done = 0;
  try {
    while (done < bytes.length) done += writeSync(fd, bytes, done);
  } catch (error) {
    // Longer than that, somebody else has written behind it.
    if (fstatSync(fd).size === size + done) ftruncateSync(fd, size);
    throw error;
  }
};

interface Appending {
  readonly target: WriteTarget;
  /** Text takes the encoding of the file; bytes are appended as they are. */
  readonly added: string | Buffer;
  readonly expected: string | undefined;
  readonly signal: AbortSignal | undefined;
}

type Appended = Pick<Written, "bytesWritten" | "sha256">;

const appendTo = async (
  fd: number,
  { target, added, expected, signal }: Appending,
  lease: Lease,
): Promise<Appended | typeof RETRY> => {
  const { requestedPath, dir, at } = target;
  const opened = fstatSync(fd, { bigint: true });
  if (target.stats === undefined || !isSameFile(target.stats, opened)) return RETRY;
  const hashed: Hashed = { hash: startHash(), head: Buffer.alloc(8 * 1024), size: 0 };
  let seen = opened;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    seen = fstatSync(fd, { bigint: true });
    await hashOn(fd, hashed, signal);
    if (expected !== undefined && !hashed.hash.copy().digest("hex").startsWith(expected))
      throw differs(requestedPath);
    const head = hashed.head.subarray(0, Math.min(hashed.size, hashed.head.length));
    const bytes = typeof added === "string" ? encodeRaw(added, formOf(head)) : added;
    stopIfAborted(signal);
    const isDone = lease.commit(() => {
      requireUnmoved(dir, requestedPath);
      // Replaced: what is written to this one would be lost with it.
      if (!isSameFile(statOf(at), opened)) throw replacedMeanwhile(requestedPath);
      const now = fstatSync(fd, { bigint: true });
      if (Number(now.size) !== hashed.size) return false;
      if (expected !== undefined && now.mtimeNs !== seen.mtimeNs) throw replacedMeanwhile(requestedPath);
      writeAtEnd(fd, bytes, hashed.size);
      return true;
    });
    if (!isDone) continue;
    await fsyncAsync(fd);
    return { bytesWritten: bytes.length, sha256: hashed.hash.update(bytes).digest("hex") };
  }
  return RETRY;
};

/**
 * A file with several names is written anew, under this name only: what is written in place changes it under the others,
 * too, where it may be something else, such as a file of a package that a store shares.
 */
const appendToCopy = async (
  { target, added, expected, signal }: Appending,
  lease: Lease,
  reach: WriteReach,
  context: WriteContext,
): Promise<Written | typeof RETRY> => {
  const found = await readForChange(context, target, reach, signal);
  if (found === RETRY) return RETRY;
  const { bytes: old } = found;
  if (expected !== undefined && !sha256Of(old).startsWith(expected)) throw differs(target.requestedPath);
  const end = typeof added === "string" ? encodeRaw(added, formOf(old)) : added;
  const bytes = Buffer.concat([old, end]);
  const written = await install({ target, bytes, mustBeSame: true, signal }, lease, reach, context);
  return written === RETRY ? RETRY : { ...written, bytesWritten: end.length };
};

/** The hash of the whole is had in one pass over the old content, before anything is written. */
export const appendToFile = async (
  context: WriteContext,
  requestedPath: string,
  added: string | Buffer,
  { expectedSha256 }: Preconditions,
  signal: AbortSignal | undefined,
): Promise<Written> => {
  const expected = parseExpectation(expectedSha256);
  const whole = typeof added === "string" ? encodeRaw(added, "utf-8") : added;
  return await underFileLock(context, requestedPath, signal, async (target, lease, reach) => {
    const { stats, at } = target;
    if (stats === undefined)
      return install({ target, bytes: whole, mustBeSame: false, signal }, lease, reach, context);
    refuseUnwritable(target, stats, reach);
    const appending = { target, added, expected, signal };
    if (stats.nlink > 1n) return appendToCopy(appending, lease, reach, context);
    const fd = await openAsync(at, APPEND);
    try {
      const appended = await appendTo(fd, appending, lease);
      const path = shownPath(target.realPath, reach.rules.workspace);
      return appended === RETRY ? RETRY : { path, ...appended, created: false };
    } finally {
      closeSync(fd);
    }
  });
};
