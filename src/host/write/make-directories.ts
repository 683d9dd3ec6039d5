import { mkdirSync, rmdirSync } from "node:fs";
import { posix } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { systemErrorCode } from "../../base/system-error.ts";
import { shownPath } from "../../policy/paths.ts";
import type { Located } from "../reach/located.ts";
import type { Lease } from "../state/locks/locks.ts";
import { alreadyExists, notADirectory } from "./failure.ts";
import { underLock, type WriteContext } from "./write-context.ts";
import type { WriteReach } from "./write-reach.ts";
import {
  type ExistingParent,
  explainDeadEnd,
  findExistingParent,
  requireUnmoved,
  syncDirectory,
} from "./write-target.ts";

const makeOne = (dir: Located, name: string, requestedPath: string, lease: Lease): boolean => {
  try {
    lease.commit(() => {
      requireUnmoved(dir, requestedPath);
      mkdirSync(`${dir.at}/${name}`);
    });
    return true;
  } catch (error) {
    if (systemErrorCode(error) === "EEXIST") return false;
    throw error;
  }
};

/** Opened and checked like any other directory, because somebody may have planted a link under the name. */
const openBelow = async (
  dir: Located,
  name: string,
  requestedPath: string,
  reach: WriteReach,
): Promise<Located> => {
  const judge = (realPath: string): void => reach.refuseOutside(requestedPath, realPath);
  const below = await reach.locate(`${dir.at}/${name}`, judge).catch(async (error: unknown) => {
    throw await explainDeadEnd(error, requestedPath, posix.join(dir.realPath, name), reach);
  });
  if (below.stats.isDirectory()) return below;
  below.close();
  throw notADirectory(requestedPath);
};

/**
 * Makes the missing directories one by one, each through the descriptor of the one above. Returns the last, which the
 * caller closes, beside the one that was found first; `made` gets the real paths of the new ones, outermost first.
 */
export const makeMissing = async (
  { requestedPath, dir: top, missing }: ExistingParent,
  reach: WriteReach,
  lease: Lease,
  made: string[],
): Promise<Located> => {
  // Before the first is made, so that a refusal leaves nothing behind.
  let path = top.realPath;
  for (const name of missing) {
    path = posix.join(path, name);
    reach.refuseTarget(requestedPath, path);
    // Each is judged with all folders above it: other calls get their turn in between.
    await nextTurn();
  }
  let dir = top;
  for (const name of missing) {
    try {
      if (makeOne(dir, name, requestedPath, lease)) {
        made.push(posix.join(dir.realPath, name));
        await syncDirectory(dir);
      }
      const below = await openBelow(dir, name, requestedPath, reach);
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
export const removeMade = async (made: readonly string[], reach: WriteReach): Promise<void> => {
  for (const path of made.toReversed()) {
    try {
      reach.refuseTarget(path, path);
      const above = await reach.locate(posix.dirname(path), (realPath) =>
        reach.refuseOutside(path, realPath),
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
  context: WriteContext,
  requestedPath: string,
  { existOk }: { readonly existOk: boolean },
  signal: AbortSignal | undefined,
): Promise<{ readonly path: string; readonly created: boolean }> =>
  underLock(
    context,
    requestedPath,
    (reach) => findExistingParent(requestedPath, reach),
    signal,
    async (parent, lease, reach) => {
      const { dir, missing } = parent;
      if (missing.length === 0 && !existOk) throw alreadyExists(requestedPath);
      if (!dir.stats.isDirectory()) throw notADirectory(requestedPath);
      const made: string[] = [];
      const last = await makeMissing(parent, reach, lease, made);
      const path = shownPath(last.realPath, reach.rules.workspace);
      if (last !== dir) last.close();
      // Another process may have created the last directory first.
      const created = made.length > 0 && made.at(-1) === last.realPath;
      if (!created && !existOk) throw alreadyExists(requestedPath);
      return { path, created };
    },
  );
