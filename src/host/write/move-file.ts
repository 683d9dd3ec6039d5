import { futimesSync, lstatSync, readlinkSync, renameSync, symlinkSync, unlinkSync } from "node:fs";
import { posix } from "node:path";
import { LlmcError } from "../../base/error.ts";
import { systemErrorCode } from "../../base/system-error.ts";
import { quoteForMessage } from "../../base/text.ts";
import { insideRoots, pathDenied, shownPath } from "../../policy/paths.ts";
import { writeDenied } from "../../policy/reach.ts";
import { writeAll } from "../reach/descriptor.ts";
import type { Lease } from "../state/locks/locks.ts";
import { readThrough } from "./bytes.ts";
import { alreadyExists, changedMeanwhile } from "./failure.ts";
import { moveToFree } from "./steps.ts";
import { createTemp } from "./temp.ts";
import { scanTree, type TreeEntry } from "./tree.ts";
import { RETRY, refuseHidden, underLock, type WriteContext } from "./write-context.ts";
import { readHeld } from "./write-file.ts";
import type { WriteReach } from "./write-reach.ts";
import {
  explainMissing,
  findTarget,
  isUnchanged,
  type Lockable,
  requireUnmoved,
  statOf,
  syncDirectory,
  type WriteTarget,
} from "./write-target.ts";

interface MoveTargets extends Lockable {
  readonly from: WriteTarget;
  readonly to: WriteTarget;
}

type Stats = NonNullable<WriteTarget["stats"]>;

interface Move extends MoveTargets {
  readonly stats: Stats;
  readonly lease: Lease;
  readonly reach: WriteReach;
  readonly signal: AbortSignal | undefined;
}

const pointless = (requestedPath: string, why: string): LlmcError =>
  new LlmcError("invalid_args", `${quoteForMessage(requestedPath)} ${why}.`, {
    hint: "Name another target.",
  });

const findMoveTargets = async (source: string, target: string, reach: WriteReach): Promise<MoveTargets> => {
  const from = await findTarget(source, reach, false);
  try {
    const to = await findTarget(target, reach, false);
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

const refuseMove = async ({ from, to }: MoveTargets, reach: WriteReach): Promise<Stats> => {
  reach.refuseRemoval(from.requestedPath, from.realPath);
  // What is put above a protected path decides what is found there.
  reach.refuseRemoval(to.requestedPath, to.realPath);
  if (from.stats === undefined) throw await explainMissing(from, reach);
  if (insideRoots(to.realPath, [from.realPath]))
    throw pointless(from.requestedPath, "cannot be moved into itself");
  if (to.stats !== undefined) {
    throw alreadyExists(
      to.requestedPath,
      to.stats.isDirectory()
        ? "To move something into that directory, give the full target path, including the new name."
        : "Nothing is overwritten by a move: choose another name, or remove that one first.",
    );
  }
  const { stats } = from;
  if (!stats.isFile() && !stats.isDirectory() && !stats.isSymbolicLink()) {
    throw pathDenied(from.requestedPath, "kind", reach.rules);
  }
  refuseHidden(from, stats, reach);
  const file = lstatSync(from.at, { throwIfNoEntry: false });
  if (file?.isFile() === true && reach.isObeyedFile(file)) throw writeDenied(from.requestedPath, "obeyed");
  return stats;
};

/** Right before the step. */
const requireUnchanged = ({ from, to, stats }: Move): void => {
  requireUnmoved(from.dir, from.requestedPath);
  requireUnmoved(to.dir, to.requestedPath);
  const now = statOf(from.at);
  const isSame = stats.isDirectory()
    ? now?.dev === stats.dev && now.ino === stats.ino
    : isUnchanged(now, stats);
  if (!isSame) throw changedMeanwhile(from.requestedPath);
};

/** Removes the source after its copy is in place; if that fails, the copy is removed again. */
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
    requireUnchanged(move);
    symlinkSync(readlinkSync(move.from.at, { encoding: "buffer" }), move.to.at);
    removeSource(move);
  });

const copyAcross = async (move: Move, { journal }: WriteContext): Promise<void> => {
  const { from, to, stats, lease, signal } = move;
  const fill = async (out: number): Promise<void> => {
    const copy = (fd: number): Promise<number> => readThrough(fd, 0, (chunk) => writeAll(out, chunk), signal);
    if ((await readHeld(from, stats, copy)) === RETRY) throw changedMeanwhile(from.requestedPath);
    futimesSync(out, Number(stats.atimeNs) / 1e9, Number(stats.mtimeNs) / 1e9);
  };
  const temp = await createTemp(
    { requestedPath: to.requestedPath, dir: to.dir, key: to.realPath, like: stats, fill },
    journal,
  );
  try {
    lease.commit(() => {
      requireUnchanged(move);
      moveToFree(temp.at, to.at);
      removeSource(move);
    });
  } finally {
    temp.discard();
  }
};

const moveFile = async (move: Move, context: WriteContext): Promise<void> => {
  try {
    move.lease.commit(() => {
      requireUnchanged(move);
      moveToFree(move.from.at, move.to.at);
    });
  } catch (error) {
    if (systemErrorCode(error) !== "EXDEV") throw error;
    await copyAcross(move, context);
  }
};

/** A move must not take withheld files, repositories or our own files along, or turn a file into something that is obeyed. */
const judgeInside = ({ from, to, reach }: Move, entry: TreeEntry): void => {
  const old = posix.join(from.realPath, entry.path);
  const next = posix.join(to.realPath, entry.path);
  const refusal = reach.protects(old) ?? reach.protects(next);
  if (refusal !== undefined) throw writeDenied(from.requestedPath, refusal, entry.path);
  // A command that is running finds them covered only where they were.
  const file = entry.isFile ? entry.stats() : undefined;
  if (file === undefined) return;
  if (reach.isWithheld(old, file)) throw writeDenied(from.requestedPath, "secret", entry.path);
  if (reach.isObeyedFile(file)) throw writeDenied(from.requestedPath, "obeyed", entry.path);
};

const moveDirectory = async (move: Move): Promise<void> => {
  const { from, to, lease, signal } = move;
  await scanTree(from, (entry) => judgeInside(move, entry), signal);
  try {
    lease.commit(() => {
      requireUnchanged(move);
      // Between this check and the rename only an empty directory could be lost, because the system replaces nothing
      // else.
      if (statOf(to.at) !== undefined) throw alreadyExists(to.requestedPath);
      renameSync(from.at, to.at);
    });
  } catch (error) {
    if (systemErrorCode(error) !== "EXDEV") throw error;
    throw new LlmcError(
      "invalid_args",
      `${quoteForMessage(from.requestedPath)} is a directory on another disk.`,
      {
        hint: "Make the directory at the target, and move the files one by one.",
        cause: error,
      },
    );
  }
};

export const moveThing = (
  context: WriteContext,
  source: string,
  target: string,
  signal: AbortSignal | undefined,
): Promise<{ readonly source: string; readonly target: string }> =>
  underLock(
    context,
    source,
    (reach) => findMoveTargets(source, target, reach),
    signal,
    async (ends, lease, reach) => {
      const stats = await refuseMove(ends, reach);
      const move: Move = { ...ends, stats, lease, reach, signal };
      if (stats.isDirectory()) await moveDirectory(move);
      else if (stats.isSymbolicLink()) moveLink(move);
      else await moveFile(move, context);
      await syncDirectory(move.to.dir);
      await syncDirectory(move.from.dir);
      const { workspace } = reach.rules;
      return {
        source: shownPath(move.from.realPath, workspace),
        target: shownPath(move.to.realPath, workspace),
      };
    },
  );
