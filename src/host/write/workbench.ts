import { accessSync, constants } from "node:fs";
import { LlmcError } from "../../base/error.ts";
import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import { quoteForMessage } from "../../base/text.ts";
import { pathDenied } from "../../policy/paths.ts";
import { writeDenied } from "../../policy/reach.ts";
import type { Lease, Locks } from "../state/locks/locks.ts";
import { changedMeanwhile, isDirectory, translateWrite } from "./failure.ts";
import type { WriteGround } from "./ground.ts";
import type { WriteJournal } from "./journal.ts";
import type { Found, Place } from "./place.ts";

/** What every change works with. */
export interface Bench {
  readonly look: () => WriteGround;
  readonly locks: Locks;
  readonly journal: WriteJournal;
  /** Largest file that is read whole, in bytes. */
  readonly maxTextBytes: number;
}

/** Says that things changed between a look and a step, with nothing done: look again. */
export const AGAIN: unique symbol = Symbol("again");

// More often only where somebody else writes without pause.
const MAX_TRIES = 8;

/**
 * The way of every change: find out what to lock, lock it, find it again, since waiting takes time, and only then work.
 * What it throws is an error of ours that names the caller's words.
 */
export const underLock = async <F extends Found, T>(
  bench: Bench,
  words: string,
  find: (ground: WriteGround) => Promise<F>,
  signal: AbortSignal | undefined,
  work: (found: F, lease: Lease, ground: WriteGround) => Promise<T | typeof AGAIN>,
): Promise<T> => {
  const attempt = async (): Promise<T | typeof AGAIN> => {
    stopIfAborted(signal);
    const ground = bench.look();
    const first = await find(ground);
    first.close();
    const locked = async (lease: Lease): Promise<T | typeof AGAIN> => {
      stopIfAborted(signal);
      const found = await find(ground);
      try {
        const isSame = found.keys.join("\0") === first.keys.join("\0");
        return isSame ? await work(found, lease, ground) : AGAIN;
      } finally {
        found.close();
      }
    };
    return await bench.locks.hold(first.keys, locked, signal);
  };
  try {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const result = await attempt();
      if (result !== AGAIN) return result;
    }
    throw changedMeanwhile(words);
  } catch (error) {
    throw translateWrite(error, words);
  }
};

type Existing = NonNullable<Place["stats"]>;

/** Before something there is changed, moved or removed by name: its content must be the caller's to know. */
export const refuseHidden = ({ words, realPath }: Place, stats: Existing, ground: WriteGround): void => {
  if (!stats.isFile()) return;
  if (ground.isWithheld(realPath)) throw writeDenied(words, "secret");
  if (ground.isProtectedFile(stats)) throw writeDenied(words, "config");
};

/** Before the content of something there is changed. */
export const refuseUnwritable = (place: Place, stats: Existing, ground: WriteGround): void => {
  const { words, at } = place;
  if (stats.isDirectory()) throw isDirectory(words, "Name a file in it.");
  if (!stats.isFile()) throw pathDenied(words, "kind", ground.rules);
  refuseHidden(place, stats, ground);
  // The superuser may write anything, but whoever took the bits away meant it.
  if ((stats.mode & 0o222n) === 0n) {
    throw new LlmcError("permission_denied", `${quoteForMessage(words)} is read-only by its mode.`, {
      hint: "The user has to make it writable first.",
    });
  }
  // The new file takes its place by name, which only the directory's mode would decide.
  accessSync(at, constants.W_OK);
};
