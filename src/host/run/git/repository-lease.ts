import { closeSync, constants, openSync } from "node:fs";
import { constants as osConstants } from "node:os";
import { posix } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import koffi from "koffi";
import { createBoundedQueue, ONE_OF_EACH } from "../../../base/bounded-queue.ts";
import { LlmcError } from "../../../base/error.ts";
import { stopIfAborted } from "../../../base/stop-if-aborted.ts";
import { exists } from "../../git/files.ts";

/** A git directory that a command may write. What it left there is undone by comparing it with what was there before. */
export interface OwnRepository {
  /** Real path of the directory that all its work trees share. */
  readonly commonDir: string;
  /** Notes what is there. To be called while the directory is held, before the command starts. */
  begin(): void;
}

const flock = koffi.load(null).func("flock", "int", ["int", "int"]);
const LOCK_EX = 2;
const LOCK_NB = 4;

const POLL_MS = 20;

/** Callers of this process that want the same directory, first come first served. */
const queue = createBoundedQueue(() => ONE_OF_EACH);

const busy = (): LlmcError =>
  new LlmcError("busy", "Another git command is writing to this repository.", {
    hint: "Git commands that write take turns, so that each is undone by itself. Wait for the other to end.",
  });

/** Whether the lock is ours, or cannot be had on this file system: then only this process takes turns. */
const tryLock = (descriptor: number): boolean =>
  flock(descriptor, LOCK_EX | LOCK_NB) === 0 || koffi.errno() !== osConstants.errno.EWOULDBLOCK;

const waitForLock = async (path: string, signal: AbortSignal): Promise<number> => {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    while (!tryLock(descriptor)) await sleep(POLL_MS, undefined, { signal });
    return descriptor;
  } catch (thrown) {
    closeSync(descriptor);
    throw thrown;
  }
};

type Release = () => void;

const holdOne = async (path: string, signal: AbortSignal): Promise<Release> => {
  if (!queue.tryEnter(path)) await queue.wait(signal, path);
  try {
    // The kernel gives the lock back if this process dies.
    const descriptor = await waitForLock(path, signal);
    return () => {
      closeSync(descriptor);
      queue.release(path);
    };
  } catch (thrown) {
    queue.release(path);
    throw thrown;
  }
};

const isGitDirectory = (path: string): boolean =>
  ["HEAD", "objects", "refs"].every((name) => exists(posix.join(path, name)));

/**
 * The outermost git directory that holds another one, as a superproject's holds those of its submodules and of theirs.
 * What was there before is noted for all of them, so all of them are one.
 */
const outermostOf = (gitDir: string): string => {
  let outermost = gitDir;
  for (let dir = posix.dirname(gitDir); dir !== posix.dirname(dir); dir = posix.dirname(dir))
    if (isGitDirectory(dir)) outermost = dir;
  return outermost;
};

/**
 * Holds git directories, against this process and others of this machine, until the returned function is called. Two
 * runs at the same time would each take the other's doing for what was there before. Waits a bounded time, then throws
 * `busy`.
 */
export const holdRepositories = async (
  repositories: readonly OwnRepository[],
  waitMs: number,
  signal: AbortSignal | undefined,
): Promise<Release> => {
  const releases: Release[] = [];
  const release = (): void => {
    for (const one of releases.splice(0)) one();
  };
  if (repositories.length === 0) return release;
  const timeout = AbortSignal.timeout(Math.max(1, Math.ceil(waitMs)));
  const ended = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
  try {
    // In one order for everybody: nobody waits for somebody who waits for them.
    for (const path of [...new Set(repositories.map(({ commonDir }) => outermostOf(commonDir)))].sort())
      releases.push(await holdOne(path, ended));
    for (const { begin } of repositories) begin();
    return release;
  } catch (thrown) {
    release();
    stopIfAborted(signal);
    throw timeout.aborted ? busy() : thrown;
  }
};
