import { closeSync, constants, ftruncateSync, openSync, readSync, statSync, writeSync } from "node:fs";
import { posix } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createBoundedQueue } from "../../../base/bounded-queue.ts";
import { LlmcError } from "../../../base/error.ts";
import { stopIfAborted } from "../../../base/stop-if-aborted.ts";
import { quoteForMessage } from "../../../base/text.ts";
import { insideRoots } from "../../../policy/paths.ts";
import { type LockMode, tryLock } from "../../own-files/file-lock.ts";
import { makeOwnFolder } from "../../own-files/own-folder.ts";
import { openUserState } from "../../own-files/secret-key.ts";

export interface WriteLockRequest {
  /** Real paths of the folders that the command could write. */
  readonly roots: readonly string[];
  /** Its name, for those who wait for it. */
  readonly program: string;
  /** The longest wait. */
  readonly waitMs: number;
  readonly signal: AbortSignal | undefined;
  readonly principal: string | undefined;
}

/** The right to run a command that can write. */
export interface WriteLock {
  readonly waitedMs: number;
  covers(roots: readonly string[]): boolean;
  /** Keeps the lock beyond the work, until this has settled. */
  keepUntil(end: Promise<unknown>): void;
}

/**
 * Commands that can write a folder run one after the other, from before the workspace is scanned for them until what they
 * left was checked: what one of them made is never taken for old by another one while the first can still change it.
 */
export interface WriteLocks {
  hold<T>(request: WriteLockRequest, work: (lock: WriteLock) => Promise<T>): Promise<T>;
}

const FOLDER = "write-locks";
const POLL_MS = 20;
const MAX_NAME_BYTES = 64;
/** Of one principal; about what a server takes of commands that only read. */
const MAX_WAITING = 32;

const HINT =
  "Commands that can write run one after the other. Wait for it to end, or allow more time (timeout); commands that only read do not wait.";

const busy = (program: string, waitMs: number): LlmcError => {
  const other = program === "" ? "" : ` (${quoteForMessage(program)})`;
  return new LlmcError(
    "busy",
    `Another command that can write${other} is still running; this one waited ${Math.round(waitMs / 100) / 10} s for its turn.`,
    { hint: HINT },
  );
};

const tooMany = (_running: number, waiting: number): LlmcError =>
  new LlmcError("busy", `${waiting} commands that can write are already waiting for their turn.`, {
    hint: HINT,
  });

interface WantedLock {
  readonly name: string;
  readonly mode: LockMode;
}

/** Undefined where nothing is there that could be written. */
const nameOf = (folder: string): string | undefined => {
  const stats = statSync(folder, { throwIfNoEntry: false });
  return stats === undefined ? undefined : `${stats.dev}-${stats.ino}`;
};

/**
 * A root is locked for one, and every folder above it for all that have roots below: a server whose root lies above or
 * below another one's takes turns with it. In one order for everybody: nobody waits for somebody who waits for them.
 */
const locksFor = (roots: readonly string[]): readonly WantedLock[] => {
  const modes = new Map<string, LockMode>();
  for (const root of roots)
    for (let dir = root; dir !== posix.dirname(dir); ) {
      dir = posix.dirname(dir);
      const name = nameOf(dir);
      if (name !== undefined) modes.set(name, "shared");
    }
  for (const root of roots) {
    const name = nameOf(root);
    if (name !== undefined) modes.set(name, "exclusive");
  }
  return [...modes].map(([name, mode]) => ({ name, mode })).sort((a, b) => (a.name < b.name ? -1 : 1));
};

interface HeldLock extends WantedLock {
  readonly descriptor: number;
}

const OPEN = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Locks lie in the user's own state folder, which no command reaches: none of them can hold another one up. */
const openLocks = (userState: string, wanted: readonly WantedLock[]): readonly HeldLock[] => {
  openUserState(userState).close();
  const folder = makeOwnFolder(posix.join(userState, FOLDER));
  const open: HeldLock[] = [];
  try {
    for (const lock of wanted)
      open.push({ ...lock, descriptor: openSync(`${folder.at}/${lock.name}`, OPEN, 0o600) });
    return open;
  } catch (thrown) {
    for (const { descriptor } of open) closeSync(descriptor);
    throw thrown;
  } finally {
    folder.close();
  }
};

const readProgram = (descriptor: number): string => {
  const bytes = Buffer.alloc(MAX_NAME_BYTES);
  return bytes.toString("utf8", 0, readSync(descriptor, bytes, 0, MAX_NAME_BYTES, 0));
};

/** Only those who wait read it: a full disk stops no command. */
const writeProgram = (locks: readonly HeldLock[], program: string): void => {
  try {
    for (const { descriptor } of locks.filter(({ mode }) => mode === "exclusive")) {
      ftruncateSync(descriptor);
      writeSync(descriptor, Buffer.from(program).subarray(0, MAX_NAME_BYTES), 0, undefined, 0);
    }
  } catch {
    // They wait for a command without a name.
  }
};

/** Waits for every lock in turn; the returned function gives all of them back. */
const lockAll = async (
  userState: string,
  { roots, program }: WriteLockRequest,
  ended: AbortSignal,
  onHolder: (program: string) => void,
): Promise<() => void> => {
  const locks = openLocks(userState, locksFor(roots));
  const close = (): void => {
    for (const { descriptor } of locks) closeSync(descriptor);
  };
  try {
    for (const { descriptor, mode } of locks)
      while (!tryLock(descriptor, mode)) {
        onHolder(readProgram(descriptor));
        await sleep(POLL_MS, undefined, { signal: ended });
      }
    writeProgram(locks, program);
    return () => {
      writeProgram(locks, "");
      close();
    };
  } catch (thrown) {
    close();
    throw thrown;
  }
};

export const createWriteLocks = (userState: string): WriteLocks => {
  // First come first served; principals take turns. Among servers, whoever asks first when it is free.
  const queue = createBoundedQueue(() => ({ maxRunning: 1, maxWaiting: MAX_WAITING }), tooMany);
  let holder = "";

  /** Returns the function that releases the lock. */
  const take = async (request: WriteLockRequest): Promise<() => void> => {
    const { signal, waitMs, principal } = request;
    stopIfAborted(signal);
    const timeout = AbortSignal.timeout(Math.max(1, Math.ceil(waitMs)));
    const ended = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
    const explain = (thrown: unknown): never => {
      stopIfAborted(signal);
      throw timeout.aborted ? busy(holder, waitMs) : thrown;
    };
    if (!queue.tryEnter(principal)) await queue.wait(ended, principal).catch(explain);
    try {
      const unlock = await lockAll(userState, request, ended, (program) => {
        holder = program;
      });
      holder = request.program;
      return () => {
        try {
          unlock();
        } finally {
          queue.release(principal);
        }
      };
    } catch (thrown) {
      queue.release(principal);
      return explain(thrown);
    }
  };

  return {
    hold: async (request, work) => {
      const askedAt = performance.now();
      const release = await take(request);
      const kept: Promise<unknown>[] = [];
      const lock: WriteLock = {
        waitedMs: performance.now() - askedAt,
        covers: (roots) => roots.every((root) => insideRoots(root, request.roots)),
        keepUntil: (end) => void kept.push(end),
      };
      try {
        return await work(lock);
      } finally {
        if (kept.length === 0) release();
        else void Promise.allSettled(kept).then(release);
      }
    },
  };
};
