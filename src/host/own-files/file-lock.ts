import { constants as osConstants } from "node:os";
import koffi from "koffi";

const flock = koffi.load(null).func("flock", "int", ["int", "int"]);
const LOCK_SH = 1;
const LOCK_EX = 2;
const LOCK_NB = 4;

export type LockMode = "exclusive" | "shared";

/** Whether the lock is ours now, or somebody else's, or nothing can be said, since the file system has no locks. */
export type LockOutcome = "locked" | "held" | "unknown";

/** Locks an open file; the kernel gives the lock back when the descriptor is closed, or with the end of this process. */
export const lockFile = (descriptor: number, mode: LockMode): LockOutcome => {
  if (flock(descriptor, (mode === "exclusive" ? LOCK_EX : LOCK_SH) | LOCK_NB) === 0) return "locked";
  return koffi.errno() === osConstants.errno.EWOULDBLOCK ? "held" : "unknown";
};

/** For locks that only keep an order: without any, everybody goes on. */
export const tryLock = (descriptor: number, mode: LockMode): boolean => lockFile(descriptor, mode) !== "held";
