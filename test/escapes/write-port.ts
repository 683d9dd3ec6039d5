import { hostSections } from "../../src/host/options.ts";
import { createReach, type ReachOptions } from "../../src/host/reach/reach.ts";
import { createLockDb } from "../../src/host/state/lock-db.ts";
import { createLocks, type Lease, type Locks } from "../../src/host/state/locks/locks.ts";
import type { FileWrites } from "../../src/host/write/contract.ts";
import { createFileWrites, type FileWritesOptions } from "../../src/host/write/file-writes.ts";
import { USER_STATE } from "../user-state.ts";

/** Locks of one process, for tests that are not about locks. */
export const createMemoryLocks = (): Locks => {
  const tails = new Map<string, Promise<void>>();
  const held = new Set<string>();
  let fence = 0;
  const take = async (key: string): Promise<() => void> => {
    const before = tails.get(key) ?? Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    tails.set(
      key,
      before.then(() => promise),
    );
    await before;
    held.add(key);
    return () => {
      held.delete(key);
      resolve();
    };
  };
  return {
    hold: async (keys, work) => {
      const releases: (() => void)[] = [];
      try {
        for (const key of keys.toSorted()) releases.push(await take(key));
        const lease: Lease = { fence: ++fence, commit: (step) => step() };
        return await work(lease);
      } finally {
        for (const release of releases) release();
      }
    },
    list: () =>
      [...held].map((key) => ({
        key,
        pid: process.pid,
        fence,
        acquiredAt: new Date(),
        expiresAt: new Date(Date.now() + 30_000),
        isDead: false,
      })),
  };
};

/** The locks of the program, shared by all processes on the workspace. */
export const createRealLocks = (workspace: string): Locks =>
  createLocks({
    database: createLockDb({ workspace, userState: USER_STATE, onWarning: () => {} }),
    workspace,
    settings: () => ({ waitMs: 10_000, leaseMs: 15_000 }),
    now: () => Date.now(),
    pid: process.pid,
  });

const [tools] = hostSections;

export type WritesChanges = Partial<ReachOptions & FileWritesOptions>;

/** The port with the configuration's defaults, on a workspace of its own. */
export const writesOptions = (workspace: string, changes: WritesChanges = {}): FileWritesOptions => ({
  reach: createReach({
    workspace,
    roots: () => ["."],
    denylist: () => tools.options.denylist_globs.default,
    startup: () => tools.options.startup_globs.default,
    ...changes,
  }),
  userState: USER_STATE,
  locks: createMemoryLocks(),
  ...changes,
});

export const openWrites = (workspace: string, changes: WritesChanges = {}): FileWrites =>
  createFileWrites(writesOptions(workspace, changes));
