import { type BigIntStats, closeSync, constants, fstatSync, open, renameSync } from "node:fs";
import { promisify } from "node:util";
import { LlmcError } from "../../base/error.ts";
import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import { systemErrorCode } from "../../base/system-error.ts";
import { quoteForMessage } from "../../base/text.ts";
import { shownPath } from "../../policy/paths.ts";
import type { Lease } from "../state/locks/locks.ts";
import { readThrough, readWhole, sha256Of, startHash, writeAll } from "./bytes.ts";
import { decodeText, encodeRaw, encodeText, parseExpectation } from "./content.ts";
import type { Preconditions, Written } from "./contract.ts";
import { isDirectory, shaMismatch } from "./failure.ts";
import type { WriteGround } from "./ground.ts";
import {
  explainMissing,
  findPlace,
  isUnchanged,
  lookAt,
  type Place,
  requireInPlace,
  syncDirectory,
} from "./place.ts";
import { moveToFree } from "./steps.ts";
import { createTemp } from "./temp.ts";
import { AGAIN, type Bench, refuseUnwritable, underLock } from "./workbench.ts";

const openAsync = promisify(open);
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Reads what was looked at, and nothing else: a file that is another one before or after is looked at again. */
export const readHeld = async <T>(
  { at }: Place,
  stats: BigIntStats,
  work: (fd: number) => Promise<T>,
): Promise<T | typeof AGAIN> => {
  const fd = await openAsync(at, READ);
  try {
    if (!isUnchanged(fstatSync(fd, { bigint: true }), stats)) return AGAIN;
    const result = await work(fd);
    return isUnchanged(fstatSync(fd, { bigint: true }), stats) ? result : AGAIN;
  } finally {
    closeSync(fd);
  }
};

export const differs = (words: string): LlmcError =>
  shaMismatch(words, "is not the file that was read: its hash differs");

export const replacedMeanwhile = (words: string): LlmcError =>
  shaMismatch(words, "was changed by somebody else in the same moment");

/** The words of a file to be: a slash at the end means a directory. */
export const findFile = async (words: string, ground: WriteGround): Promise<Place> => {
  const place = await findPlace(words, ground, true);
  if (!words.endsWith("/")) return place;
  place.close();
  throw isDirectory(words, "Leave out the slash at the end to name a file.");
};

interface Installation {
  readonly place: Place;
  readonly bytes: Buffer;
  /** Whether the file there must still be the one that was looked at. */
  readonly mustBeSame: boolean;
  readonly signal: AbortSignal | undefined;
}

/** Puts a whole new file in the place of the old one, or where there is none. */
export const install = async (
  { place, bytes, mustBeSame, signal }: Installation,
  lease: Lease,
  { journal }: Bench,
): Promise<undefined | typeof AGAIN> => {
  const { words, dir, at, stats, realPath } = place;
  const fill = (fd: number): Promise<void> => writeAll(fd, bytes);
  const temp = await createTemp({ words, dir, key: realPath, like: stats, fill }, journal);
  try {
    stopIfAborted(signal);
    lease.commit(() => {
      requireInPlace(dir, words);
      if (stats === undefined) return moveToFree(temp.at, at);
      // Somebody who keeps to no lock can still slip in between these two, for a few microseconds.
      if (mustBeSame && !isUnchanged(lookAt(at), stats)) throw replacedMeanwhile(words);
      renameSync(temp.at, at);
    });
  } catch (error) {
    if (stats === undefined && systemErrorCode(error) === "EEXIST") return AGAIN;
    throw error;
  } finally {
    temp.discard();
  }
  await syncDirectory(dir);
  return undefined;
};

export const rewriteFile = async (
  bench: Bench,
  words: string,
  text: string,
  { expectedSha256 }: Preconditions,
  signal: AbortSignal | undefined,
): Promise<Written> => {
  const expected = parseExpectation(expectedSha256);
  const bytes = encodeRaw(text, "utf-8");
  return await underLock(
    bench,
    words,
    (ground) => findFile(words, ground),
    signal,
    async (place, lease, ground) => {
      const { stats } = place;
      if (stats !== undefined) {
        refuseUnwritable(place, stats, ground);
        if (expected !== undefined) {
          const hash = startHash();
          const read = await readHeld(place, stats, (fd) =>
            readThrough(fd, 0, (chunk) => void hash.update(chunk), signal),
          );
          if (read === AGAIN) return AGAIN;
          if (!hash.digest("hex").startsWith(expected)) throw differs(words);
        }
      }
      const mustBeSame = expected !== undefined;
      if ((await install({ place, bytes, mustBeSame, signal }, lease, bench)) === AGAIN) return AGAIN;
      return {
        path: shownPath(place.realPath, ground.rules.workspace),
        bytesWritten: bytes.length,
        sha256: sha256Of(bytes),
        created: stats === undefined,
      };
    },
  );
};

/** The whole of a file that is to be changed, after every refusal. */
export const readForChange = async (
  bench: Bench,
  place: Place,
  ground: WriteGround,
  signal: AbortSignal | undefined,
): Promise<{ readonly bytes: Buffer; readonly stats: BigIntStats } | typeof AGAIN> => {
  const { words, stats } = place;
  if (stats === undefined) throw await explainMissing(place, ground);
  refuseUnwritable(place, stats, ground);
  if (stats.size > BigInt(bench.maxTextBytes)) {
    throw new LlmcError(
      "file_too_large",
      `${quoteForMessage(words)} has ${stats.size} bytes; files over ${bench.maxTextBytes} are not edited.`,
    );
  }
  const bytes = await readHeld(place, stats, (fd) => readWhole(fd, Number(stats.size), signal));
  return bytes === AGAIN ? AGAIN : { bytes, stats };
};

export const updateFile = async (
  bench: Bench,
  words: string,
  change: (text: string) => string,
  { expectedSha256 }: Preconditions,
  signal: AbortSignal | undefined,
): Promise<Written> => {
  const expected = parseExpectation(expectedSha256);
  return await underLock(
    bench,
    words,
    (ground) => findFile(words, ground),
    signal,
    async (place, lease, ground) => {
      const read = await readForChange(bench, place, ground, signal);
      if (read === AGAIN) return AGAIN;
      const oldSha = sha256Of(read.bytes);
      if (expected !== undefined && !oldSha.startsWith(expected)) throw differs(words);
      const old = decodeText(read.bytes, words);
      const text = change(old.text);
      const path = shownPath(place.realPath, ground.rules.workspace);
      if (text === old.text) return { path, bytesWritten: 0, sha256: oldSha, created: false };
      const bytes = encodeText({ text, form: old.form });
      if ((await install({ place, bytes, mustBeSame: true, signal }, lease, bench)) === AGAIN) return AGAIN;
      return { path, bytesWritten: bytes.length, sha256: sha256Of(bytes), created: false };
    },
  );
};
