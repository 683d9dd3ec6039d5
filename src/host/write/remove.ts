import { rmdirSync, unlinkSync } from "node:fs";
import { posix } from "node:path";
import { shownPath } from "../../policy/paths.ts";
import { writeDenied } from "../../policy/reach.ts";
import type { Lease } from "../state/locks/locks.ts";
import { isDirectory } from "./failure.ts";
import type { WriteGround } from "./ground.ts";
import { explainMissing, findPlace, type Place, requireInPlace, syncDirectory } from "./place.ts";
import { emptyTree, scanTree, type TreeEntry } from "./tree.ts";
import { type Bench, refuseHidden, underLock } from "./workbench.ts";

/** Nothing in a directory that goes may be ours, or a secret that the caller cannot see. */
const judgeInside = ({ words, realPath }: Place, ground: WriteGround, entry: TreeEntry): void => {
  const path = posix.join(realPath, entry.path);
  const refusal = ground.protects(path);
  // A whole clone may go; parts of its git directory were judged by their own names.
  if (refusal !== undefined && refusal !== "git") throw writeDenied(words, refusal, entry.path);
  if (entry.isFile && ground.isSecret(path)) throw writeDenied(words, "secret", entry.path);
};

const removeDirectory = async (
  place: Place,
  ground: WriteGround,
  lease: Lease,
  signal: AbortSignal | undefined,
): Promise<number> => {
  const judge = (entry: TreeEntry): void => judgeInside(place, ground, entry);
  // All of it first: a refusal after half of the work would help nobody.
  await scanTree(place, judge, signal);
  return await emptyTree(place, judge, lease, signal);
};

export const removeThing = (
  bench: Bench,
  words: string,
  { recursive }: { readonly recursive: boolean },
  signal: AbortSignal | undefined,
): Promise<{ readonly path: string; readonly removed: number }> =>
  underLock(
    bench,
    words,
    (ground) => findPlace(words, ground, false),
    signal,
    async (place, lease, ground) => {
      const { stats, at, dir, realPath } = place;
      ground.refuseRemoval(words, realPath);
      if (stats === undefined) throw await explainMissing(place, ground);
      refuseHidden(place, stats, ground);
      if (stats.isDirectory() && !recursive) {
        throw isDirectory(words, "Set recursive to remove it with all that is in it.");
      }
      const below = stats.isDirectory() ? await removeDirectory(place, ground, lease, signal) : 0;
      lease.commit(() => {
        requireInPlace(dir, words);
        if (stats.isDirectory()) rmdirSync(at);
        else unlinkSync(at);
      });
      await syncDirectory(dir);
      return { path: shownPath(realPath, ground.rules.workspace), removed: below + 1 };
    },
  );
