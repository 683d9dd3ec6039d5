import { futimesSync, readlinkSync, renameSync, symlinkSync, unlinkSync } from "node:fs";
import { posix } from "node:path";
import { LlmcError } from "../../base/error.ts";
import { systemErrorCode } from "../../base/system-error.ts";
import { quoteForMessage } from "../../base/text.ts";
import { insideRoots, pathDenied, shownPath } from "../../policy/paths.ts";
import { writeDenied } from "../../policy/reach.ts";
import type { Lease } from "../state/locks/locks.ts";
import { readThrough, writeAll } from "./bytes.ts";
import { alreadyExists, changedMeanwhile } from "./failure.ts";
import type { WriteGround } from "./ground.ts";
import { readHeld } from "./one.ts";
import {
  explainMissing,
  type Found,
  findPlace,
  isUnchanged,
  lookAt,
  type Place,
  requireInPlace,
  syncDirectory,
} from "./place.ts";
import { moveToFree } from "./steps.ts";
import { createTemp } from "./temp.ts";
import { scanTree, type TreeEntry } from "./tree.ts";
import { AGAIN, type Bench, refuseHidden, underLock } from "./workbench.ts";

interface Ends extends Found {
  readonly from: Place;
  readonly to: Place;
}

type Stats = NonNullable<Place["stats"]>;

interface Move extends Ends {
  readonly stats: Stats;
  readonly lease: Lease;
  readonly ground: WriteGround;
  readonly signal: AbortSignal | undefined;
}

const pointless = (words: string, why: string): LlmcError =>
  new LlmcError("invalid_args", `${quoteForMessage(words)} ${why}.`, { hint: "Name another target." });

const findEnds = async (source: string, target: string, ground: WriteGround): Promise<Ends> => {
  const from = await findPlace(source, ground, false);
  try {
    const to = await findPlace(target, ground, false);
    const close = (): void => {
      from.close();
      to.close();
    };
    if (from.realPath !== to.realPath) return { from, to, keys: [from.realPath, to.realPath], close };
    to.close();
    throw pointless(source, "cannot be moved onto itself");
  } catch (error) {
    from.close();
    throw error;
  }
};

const refuseEnds = async ({ from, to }: Ends, ground: WriteGround): Promise<Stats> => {
  ground.refuseRemoval(from.words, from.realPath);
  // What is put above a protected path decides what is found there.
  ground.refuseRemoval(to.words, to.realPath);
  if (from.stats === undefined) throw await explainMissing(from, ground);
  if (insideRoots(to.realPath, [from.realPath])) throw pointless(from.words, "cannot be moved into itself");
  if (to.stats !== undefined) {
    throw alreadyExists(
      to.words,
      to.stats.isDirectory()
        ? "To move something into that directory, name the full target with the name it shall have."
        : "Nothing is overwritten by a move: choose another name, or remove that one first.",
    );
  }
  const { stats } = from;
  if (!stats.isFile() && !stats.isDirectory() && !stats.isSymbolicLink()) {
    throw pathDenied(from.words, "kind", ground.rules);
  }
  refuseHidden(from, stats, ground);
  return stats;
};

/** Right before the step. */
const requireEnds = ({ from, to, stats }: Move): void => {
  requireInPlace(from.dir, from.words);
  requireInPlace(to.dir, to.words);
  const now = lookAt(from.at);
  const isSame = stats.isDirectory()
    ? now?.dev === stats.dev && now.ino === stats.ino
    : isUnchanged(now, stats);
  if (!isSame) throw changedMeanwhile(from.words);
};

/** After its copy is in place; a source that stays takes the copy back. */
const removeSource = ({ from, to }: Move): void => {
  try {
    unlinkSync(from.at);
  } catch (error) {
    unlinkSync(to.at);
    throw error;
  }
};

const moveLink = (move: Move): void =>
  move.lease.commit(() => {
    requireEnds(move);
    symlinkSync(readlinkSync(move.from.at, { encoding: "buffer" }), move.to.at);
    removeSource(move);
  });

const copyAcross = async (move: Move, { journal }: Bench): Promise<void> => {
  const { from, to, stats, lease, signal } = move;
  const fill = async (out: number): Promise<void> => {
    const copy = (fd: number): Promise<number> => readThrough(fd, 0, (chunk) => writeAll(out, chunk), signal);
    if ((await readHeld(from, stats, copy)) === AGAIN) throw changedMeanwhile(from.words);
    futimesSync(out, Number(stats.atimeNs) / 1e9, Number(stats.mtimeNs) / 1e9);
  };
  const temp = await createTemp(
    { words: to.words, dir: to.dir, key: to.realPath, like: stats, fill },
    journal,
  );
  try {
    lease.commit(() => {
      requireEnds(move);
      moveToFree(temp.at, to.at);
      removeSource(move);
    });
  } finally {
    temp.discard();
  }
};

const moveFile = async (move: Move, bench: Bench): Promise<void> => {
  try {
    move.lease.commit(() => {
      requireEnds(move);
      moveToFree(move.from.at, move.to.at);
    });
  } catch (error) {
    if (systemErrorCode(error) !== "EXDEV") throw error;
    await copyAcross(move, bench);
  }
};

/** A new place must not make readable what was withheld, nor into a command what was not, nor take ours away. */
const judgeInside = ({ from, to, ground }: Move, entry: TreeEntry): void => {
  const old = posix.join(from.realPath, entry.path);
  const next = posix.join(to.realPath, entry.path);
  // A repository that goes along as it is keeps its git directory; the moved thing itself was judged before.
  const refusal = [ground.protects(old), ground.protects(next)].find(
    (id) => id !== undefined && id !== "git",
  );
  if (refusal !== undefined) throw writeDenied(from.words, refusal, entry.path);
  if (entry.isFile && ground.isWithheld(old) && !ground.isWithheld(next)) {
    throw writeDenied(from.words, "secret", entry.path);
  }
};

const moveDirectory = async (move: Move): Promise<void> => {
  const { from, to, lease, signal } = move;
  await scanTree(from, (entry) => judgeInside(move, entry), signal);
  try {
    lease.commit(() => {
      requireEnds(move);
      // Between this look and the rename only an empty directory could get lost: the system replaces no other.
      if (lookAt(to.at) !== undefined) throw alreadyExists(to.words);
      renameSync(from.at, to.at);
    });
  } catch (error) {
    if (systemErrorCode(error) !== "EXDEV") throw error;
    throw new LlmcError("invalid_args", `${quoteForMessage(from.words)} is a directory on another disk.`, {
      hint: "Make the directory at the target, and move the files one by one.",
      cause: error,
    });
  }
};

export const moveThing = (
  bench: Bench,
  source: string,
  target: string,
  signal: AbortSignal | undefined,
): Promise<{ readonly source: string; readonly target: string }> =>
  underLock(
    bench,
    source,
    (ground) => findEnds(source, target, ground),
    signal,
    async (ends, lease, ground) => {
      const stats = await refuseEnds(ends, ground);
      const move: Move = { ...ends, stats, lease, ground, signal };
      if (stats.isDirectory()) await moveDirectory(move);
      else if (stats.isSymbolicLink()) moveLink(move);
      else await moveFile(move, bench);
      await syncDirectory(move.to.dir);
      await syncDirectory(move.from.dir);
      const { workspace } = ground.rules;
      return {
        source: shownPath(move.from.realPath, workspace),
        target: shownPath(move.to.realPath, workspace),
      };
    },
  );
