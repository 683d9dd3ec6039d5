import { type BigIntStats, closeSync, constants, fstatSync, renameSync } from "node:fs";
import { LlmcError } from "../../base/error.ts";
import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import { systemErrorCode } from "../../base/system-error.ts";
import { quoteForMessage } from "../../base/text.ts";
import { shownPath } from "../../policy/paths.ts";
import { openAsync, writeAll } from "../reach/descriptor.ts";
import type { Lease } from "../state/locks/locks.ts";
import { readThrough, readWhole, sha256Of, startHash } from "./bytes.ts";
import { type DecodedText, decodeText, encodeRaw, encodeText, parseExpectation } from "./content.ts";
import type { Preconditions, TextChange, Written } from "./contract.ts";
import { isDirectory, shaMismatch } from "./failure.ts";
import { moveToFree } from "./steps.ts";
import { createTemp } from "./temp.ts";
import { RETRY, refuseUnwritable, underLock, type WriteContext } from "./write-context.ts";
import type { WriteReach } from "./write-reach.ts";
import {
  explainMissing,
  findTarget,
  isUnchanged,
  requireUnmoved,
  statOf,
  syncDirectory,
  type WriteTarget,
} from "./write-target.ts";

const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Reads the file that was located and no other: if it has been replaced before or after, it is located again. */
export const readHeld = async <T>(
  { at }: WriteTarget,
  stats: BigIntStats,
  work: (fd: number) => Promise<T>,
): Promise<T | typeof RETRY> => {
  const fd = await openAsync(at, READ);
  try {
    if (!isUnchanged(fstatSync(fd, { bigint: true }), stats)) return RETRY;
    const result = await work(fd);
    return isUnchanged(fstatSync(fd, { bigint: true }), stats) ? result : RETRY;
  } finally {
    closeSync(fd);
  }
};

export const differs = (requestedPath: string): LlmcError =>
  shaMismatch(requestedPath, "is not the file that was read: its hash differs");

export const replacedMeanwhile = (requestedPath: string): LlmcError =>
  shaMismatch(requestedPath, "was changed by another program at the same time");

/** The target of a file that is to be written: a slash at the end of the path means a directory. */
export const findFile = async (requestedPath: string, reach: WriteReach): Promise<WriteTarget> => {
  const target = await findTarget(requestedPath, reach, true);
  if (!requestedPath.endsWith("/")) return target;
  target.close();
  throw isDirectory(requestedPath, "Leave out the slash at the end to name a file.");
};

interface Installation {
  readonly target: WriteTarget;
  readonly bytes: Buffer;
  /** Whether the existing file must still be the one that was located. */
  readonly mustBeSame: boolean;
  readonly signal: AbortSignal | undefined;
}

/** Changes one file under its lock. */
export const underFileLock = <T>(
  context: WriteContext,
  requestedPath: string,
  signal: AbortSignal | undefined,
  work: (target: WriteTarget, lease: Lease, reach: WriteReach) => Promise<T | typeof RETRY>,
): Promise<T> => underLock(context, requestedPath, (reach) => findFile(requestedPath, reach), signal, work);

/** Replaces the old file, or creates a file, by writing a complete new one. */
export const install = async (
  { target, bytes, mustBeSame, signal }: Installation,
  lease: Lease,
  reach: WriteReach,
  { journal }: WriteContext,
): Promise<Written | typeof RETRY> => {
  const { requestedPath, dir, at, stats, realPath } = target;
  const fill = (fd: number): Promise<void> => writeAll(fd, bytes);
  const temp = await createTemp({ requestedPath, dir, key: realPath, like: stats, fill }, journal);
  try {
    stopIfAborted(signal);
    lease.commit(() => {
      requireUnmoved(dir, requestedPath);
      if (stats === undefined) return moveToFree(temp.at, at);
      // A program that does not use our locks can still change the file between these two steps, which are microseconds
      // apart.
      if (mustBeSame && !isUnchanged(statOf(at), stats)) throw replacedMeanwhile(requestedPath);
      renameSync(temp.at, at);
    });
  } catch (error) {
    if (stats === undefined && systemErrorCode(error) === "EEXIST") return RETRY;
    throw error;
  } finally {
    temp.discard();
  }
  await syncDirectory(dir);
  return {
    path: shownPath(realPath, reach.rules.workspace),
    bytesWritten: bytes.length,
    sha256: sha256Of(bytes),
    created: stats === undefined,
  };
};

export const rewriteFile = async (
  context: WriteContext,
  requestedPath: string,
  text: string,
  { expectedSha256 }: Preconditions,
  signal: AbortSignal | undefined,
): Promise<Written> => {
  const expected = parseExpectation(expectedSha256);
  const bytes = encodeRaw(text, "utf-8");
  return await underFileLock(context, requestedPath, signal, async (target, lease, reach) => {
    const { stats } = target;
    if (stats !== undefined) refuseUnwritable(target, stats, reach);
    if (stats !== undefined && expected !== undefined) {
      const hash = startHash();
      const read = await readHeld(target, stats, (fd) =>
        readThrough(fd, 0, (chunk) => void hash.update(chunk), signal),
      );
      if (read === RETRY) return RETRY;
      if (!hash.digest("hex").startsWith(expected)) throw differs(requestedPath);
    }
    const mustBeSame = expected !== undefined;
    return install({ target, bytes, mustBeSame, signal }, lease, reach, context);
  });
};

/** The whole of a file that is to be changed, after every refusal. */
export const readForChange = async (
  context: WriteContext,
  target: WriteTarget,
  reach: WriteReach,
  signal: AbortSignal | undefined,
): Promise<{ readonly bytes: Buffer; readonly stats: BigIntStats } | typeof RETRY> => {
  const { requestedPath, stats } = target;
  if (stats === undefined) throw await explainMissing(target, reach);
  refuseUnwritable(target, stats, reach);
  if (stats.size > BigInt(context.maxTextBytes)) {
    throw new LlmcError(
      "file_too_large",
      `${quoteForMessage(requestedPath)} has ${stats.size} bytes; files over ${context.maxTextBytes} are not edited.`,
    );
  }
  const bytes = await readHeld(target, stats, (fd) => readWhole(fd, Number(stats.size), signal));
  return bytes === RETRY ? RETRY : { bytes, stats };
};

/** The bytes of a changed text; it may not outgrow what can be edited again. */
export const encodeChanged = (
  { maxTextBytes }: WriteContext,
  requestedPath: string,
  changed: DecodedText,
): Buffer => {
  const bytes = encodeText(changed);
  if (bytes.length <= maxTextBytes) return bytes;
  throw new LlmcError(
    "file_too_large",
    `${quoteForMessage(requestedPath)} would have ${bytes.length} bytes; edited files end at ${maxTextBytes}. Nothing was written.`,
  );
};

export const updateFile = async (
  context: WriteContext,
  requestedPath: string,
  change: TextChange,
  { expectedSha256 }: Preconditions,
  signal: AbortSignal | undefined,
): Promise<Written> => {
  const expected = parseExpectation(expectedSha256);
  return await underFileLock(context, requestedPath, signal, async (target, lease, reach) => {
    const read = await readForChange(context, target, reach, signal);
    if (read === RETRY) return RETRY;
    const oldSha = sha256Of(read.bytes);
    if (expected !== undefined && !oldSha.startsWith(expected)) throw differs(requestedPath);
    const old = decodeText(read.bytes, requestedPath);
    const text = await change(old.text, context.maxTextBytes);
    const path = shownPath(target.realPath, reach.rules.workspace);
    if (text === old.text) return { path, bytesWritten: 0, sha256: oldSha, created: false };
    const bytes = encodeChanged(context, requestedPath, { text, form: old.form });
    return install({ target, bytes, mustBeSame: true, signal }, lease, reach, context);
  });
};
