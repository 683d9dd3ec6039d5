import { mkdirSync, rmdirSync } from "node:fs";
import { posix } from "node:path";
import { systemErrorCode } from "../../base/system-error.ts";
import { shownPath } from "../../policy/paths.ts";
import type { Located } from "../reach/located.ts";
import type { Lease } from "../state/locks/locks.ts";
import { alreadyExists, notADirectory } from "./failure.ts";
import type { WriteGround } from "./ground.ts";
import { type Deepest, explainDeadEnd, findDeepest, requireInPlace, syncDirectory } from "./place.ts";
import { type Bench, underLock } from "./workbench.ts";

const makeOne = (dir: Located, name: string, words: string, lease: Lease): boolean => {
  try {
    lease.commit(() => {
      requireInPlace(dir, words);
      mkdirSync(`${dir.at}/${name}`);
    });
    return true;
  } catch (error) {
    if (systemErrorCode(error) === "EEXIST") return false;
    throw error;
  }
};

/** Opened and judged like any other: what is there under the name may be a link that somebody was quick to plant. */
const openBelow = async (
  dir: Located,
  name: string,
  words: string,
  ground: WriteGround,
): Promise<Located> => {
  const judge = (realPath: string): void => ground.refuseOutside(words, realPath);
  const below = await ground.locate(`${dir.at}/${name}`, judge).catch(async (error: unknown) => {
    throw await explainDeadEnd(error, words, posix.join(dir.realPath, name), ground);
  });
  if (below.stats.isDirectory()) return below;
  below.close();
  throw notADirectory(words);
};

/**
 * Makes the missing directories one by one, each through the descriptor of the one above. Gives the last, which the
 * caller closes, beside the one that was found first; `made` gets the real paths of the new ones, outermost first.
 */
export const makeMissing = async (
  { words, dir: top, missing }: Deepest,
  ground: WriteGround,
  lease: Lease,
  made: string[],
): Promise<Located> => {
  // Before the first is made, so that a refusal leaves nothing behind.
  missing.forEach((_, i) => {
    ground.refuseTarget(words, posix.join(top.realPath, ...missing.slice(0, i + 1)));
  });
  let dir = top;
  for (const name of missing) {
    try {
      if (makeOne(dir, name, words, lease)) {
        made.push(posix.join(dir.realPath, name));
        await syncDirectory(dir);
      }
      const below = await openBelow(dir, name, words, ground);
      if (dir !== top) dir.close();
      dir = below;
    } catch (error) {
      if (dir !== top) dir.close();
      throw error;
    }
  }
  return dir;
};

/** Takes back what `makeMissing` made, innermost first, as far as it is empty still. */
export const removeMade = async (made: readonly string[], ground: WriteGround): Promise<void> => {
  for (const path of made.toReversed()) {
    try {
      ground.refuseTarget(path, path);
      const above = await ground.locate(posix.dirname(path), (realPath) =>
        ground.refuseOutside(path, realPath),
      );
      try {
        if (above.realPath === posix.dirname(path)) rmdirSync(`${above.at}/${posix.basename(path)}`);
      } finally {
        above.close();
      }
    } catch {
      // An empty directory that stays harms nobody.
    }
  }
};

export const makeDirectories = (
  bench: Bench,
  words: string,
  { existOk }: { readonly existOk: boolean },
  signal: AbortSignal | undefined,
): Promise<{ readonly path: string; readonly created: boolean }> =>
  underLock(
    bench,
    words,
    (ground) => findDeepest(words, ground),
    signal,
    async (deepest, lease, ground) => {
      const { dir, missing } = deepest;
      if (missing.length === 0 && !existOk) throw alreadyExists(words);
      if (!dir.stats.isDirectory()) throw notADirectory(words);
      const made: string[] = [];
      const last = await makeMissing(deepest, ground, lease, made);
      const path = shownPath(last.realPath, ground.rules.workspace);
      if (last !== dir) last.close();
      // Another process may have been quicker with the last one.
      const created = made.length > 0 && made.at(-1) === last.realPath;
      if (!created && !existOk) throw alreadyExists(words);
      return { path, created };
    },
  );
