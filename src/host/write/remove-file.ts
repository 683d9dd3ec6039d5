import { rmdirSync, unlinkSync } from "node:fs";
import { posix } from "node:path";
import { shownPath } from "../../policy/paths.ts";
import { writeDenied } from "../../policy/reach.ts";
import type { Lease } from "../state/locks/locks.ts";
import { isDirectory } from "./failure.ts";
import { emptyTree, scanTree, type TreeEntry } from "./tree.ts";
import { refuseHidden, underLock, type WriteContext } from "./write-context.ts";
import type { WriteReach } from "./write-reach.ts";
import {
  explainMissing,
  findTarget,
  requireUnmoved,
  syncDirectory,
  type WriteTarget,
} from "./write-target.ts";

/** A directory that is removed must not contain llmc's own files or secrets that the caller cannot see. */
const judgeInside = ({ requestedPath, realPath }: WriteTarget, reach: WriteReach, entry: TreeEntry): void => {
  const path = posix.join(realPath, entry.path);
  const refusal = reach.protects(path);
  // A whole clone may go; parts of its git directory were judged by their own names.
  if (refusal !== undefined && refusal !== "git") throw writeDenied(requestedPath, refusal, entry.path);
  if (entry.isFile && reach.isSecret(path)) throw writeDenied(requestedPath, "secret", entry.path);
};

const removeDirectory = async (
  target: WriteTarget,
  reach: WriteReach,
  lease: Lease,
  signal: AbortSignal | undefined,
): Promise<number> => {
  const judge = (entry: TreeEntry): void => judgeInside(target, reach, entry);
  // All of it first: a refusal after half of the work would help nobody.
  await scanTree(target, judge, signal);
  return await emptyTree(target, judge, lease, signal);
};

export const removeThing = (
  context: WriteContext,
  requestedPath: string,
  { recursive }: { readonly recursive: boolean },
  signal: AbortSignal | undefined,
): Promise<{ readonly path: string; readonly removed: number }> =>
  underLock(
    context,
    requestedPath,
    (reach) => findTarget(requestedPath, reach, false),
    signal,
    async (target, lease, reach) => {
      const { stats, at, dir, realPath } = target;
      reach.refuseRemoval(requestedPath, realPath);
      if (stats === undefined) throw await explainMissing(target, reach);
      refuseHidden(target, stats, reach);
      if (stats.isDirectory() && !recursive) {
        throw isDirectory(requestedPath, "Set recursive to remove it with all that is in it.");
      }
      const below = stats.isDirectory() ? await removeDirectory(target, reach, lease, signal) : 0;
      lease.commit(() => {
        requireUnmoved(dir, requestedPath);
        if (stats.isDirectory()) rmdirSync(at);
        else unlinkSync(at);
      });
      await syncDirectory(dir);
      return { path: shownPath(realPath, reach.rules.workspace), removed: below + 1 };
    },
  );
