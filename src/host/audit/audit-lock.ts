import { closeSync, constants, openSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { LlmcError } from "../../base/error.ts";
import type { AuditStore } from "./store.ts";

declare const isQuiet: unique symbol;
declare const isLocked: unique symbol;

/** A store in which nobody merges or removes chains meanwhile, as far as the file system can tell. */
export type QuietStore = AuditStore & { readonly [isQuiet]: true };

/** A store whose lock this process holds: only then may it merge or remove chains. */
export type LockedStore = QuietStore & { readonly [isLocked]: true };

const LOCK_NAME = "lock";
const POLL_MS = 20;

/** Waits for up to `waitMs`. "unknown": the file system has no locks. */
const withLockFile = async <T>(
  { heads }: AuditStore,
  waitMs: number,
  work: (outcome: "locked" | "held" | "unknown") => T,
): Promise<T> => {
  // Loads the library of system calls, which records need not wait for.
  const { lockFile } = await import("../own-files/file-lock.ts");
  const fd = openSync(
    `${heads.at}/${LOCK_NAME}`,
    constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW,
    0o600,
  );
  try {
    const deadline = performance.now() + waitMs;
    let outcome = lockFile(fd, "exclusive");
    while (outcome === "held" && performance.now() < deadline) {
      await sleep(POLL_MS);
      outcome = lockFile(fd, "exclusive");
    }
    return work(outcome);
  } finally {
    closeSync(fd);
  }
};

/**
 * Changes chains that this process does not write. Does nothing while another process holds the lock, or where the file
 * system has no locks: two merges at once would damage the archive.
 */
export const changeAlone = (store: AuditStore, work: (store: LockedStore) => void): Promise<void> =>
  withLockFile(store, 0, (outcome) => {
    if (outcome === "locked") work(store as LockedStore);
  });

/** How long a reader waits for a process that merges chains, in milliseconds. */
const READER_WAIT_MS = 10_000;

/** Reads records. Where the file system has no locks, nobody merges: see `changeAlone`. */
export const readWhileQuiet = <T>(store: AuditStore, work: (store: QuietStore) => T): Promise<T> =>
  withLockFile(store, READER_WAIT_MS, (outcome) => {
    if (outcome !== "held") return work(store as QuietStore);
    throw new LlmcError("busy", "Another process is reading or merging the audit trail.", {
      hint: "Try again in a moment.",
    });
  });
