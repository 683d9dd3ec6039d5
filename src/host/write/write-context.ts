import { accessSync, constants, lstatSync } from "node:fs";
import { LlmcError } from "../../base/error.ts";
import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import { quoteForMessage } from "../../base/text.ts";
import { pathDenied } from "../../policy/paths.ts";
import { writeDenied } from "../../policy/reach.ts";
import type { Lease, Locks } from "../state/locks/locks.ts";
import { changedMeanwhile, isDirectory, translateWrite } from "./failure.ts";
import type { WriteJournal } from "./journal.ts";
import type { WriteReach } from "./write-reach.ts";
import type { Lockable, WriteTarget } from "./write-target.ts";

/** What every change works with. */
export interface WriteContext {
  /** Waits until it is known what must not be written. */
  readonly ready: () => Promise<void>;
  readonly currentReach: () => WriteReach;
  readonly locks: Locks;
  readonly journal: WriteJournal;
  /** Largest file that is read whole, in bytes. */
  readonly maxTextBytes: number;
}

/** Something changed between the check and the step, and nothing was done: check again. */
export const RETRY: unique symbol = Symbol("again");

// More are needed only where another program writes without pause.
const MAX_TRIES = 8;

/**
 * Every change goes this way: find out what to lock, lock it, find it again, since waiting takes time, and then work.
 * What it throws is an error of ours that names the requested path.
 */
export const underLock = async <F extends Lockable, T>(
  context: WriteContext,
  requestedPath: string,
  find: (reach: WriteReach) => Promise<F>,
  signal: AbortSignal | undefined,
  work: (found: F, lease: Lease, reach: WriteReach) => Promise<T | typeof RETRY>,
): Promise<T> => {
  const attempt = async (): Promise<T | typeof RETRY> => {
    stopIfAborted(signal);
    const reach = context.currentReach();
    const first = await find(reach);
    first.close();
    // What names alone refuse needs no scan, which takes its time where the roots are large.
    await context.ready();
    const locked = async (lease: Lease): Promise<T | typeof RETRY> => {
      stopIfAborted(signal);
      const found = await find(reach);
      try {
        const isSame = found.keys.join("\0") === first.keys.join("\0");
        return isSame ? await work(found, lease, reach) : RETRY;
      } finally {
        found.close();
      }
    };
    return await context.locks.hold(first.keys, locked, signal);
  };
  try {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const result = await attempt();
      if (result !== RETRY) return result;
    }
    throw changedMeanwhile(requestedPath);
  } catch (error) {
    throw translateWrite(error, requestedPath);
  }
};

type Existing = NonNullable<WriteTarget["stats"]>;

/** Before a file is changed, moved or removed by name: the caller must be allowed to read it. */
export const refuseHidden = (
  { requestedPath, realPath, at }: WriteTarget,
  stats: Existing,
  reach: WriteReach,
): void => {
  if (!stats.isFile()) return;
  // Under whatever name: the last scan knows the file itself.
  if (reach.isWithheld(realPath, lstatSync(at, { throwIfNoEntry: false })))
    throw writeDenied(requestedPath, "secret");
  if (reach.isProtectedFile(stats)) throw writeDenied(requestedPath, "config");
};

/** Before the content of something there is changed. */
export const refuseUnwritable = (target: WriteTarget, stats: Existing, reach: WriteReach): void => {
  const { requestedPath, at } = target;
  if (stats.isDirectory()) throw isDirectory(requestedPath, "Name a file in it.");
  if (!stats.isFile()) throw pathDenied(requestedPath, "kind", reach.rules);
  refuseHidden(target, stats, reach);
  // The superuser may write anything, but whoever made the file read-only meant it.
  if ((stats.mode & 0o222n) === 0n) {
    throw new LlmcError("permission_denied", `${quoteForMessage(requestedPath)} is read-only by its mode.`, {
      hint: "The user has to make it writable first.",
    });
  }
  // The new file takes its place by name, which only the directory's mode would decide.
  accessSync(at, constants.W_OK);
};
