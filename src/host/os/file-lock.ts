import { constants as osConstants } from "node:os";
import koffi from "koffi";

const flock = koffi.load(null).func("flock", "int", ["int", "int"]);
const LOCK_SH = 1;
const LOCK_EX = 2;
const LOCK_NB = 4;

export type LockMode = "exclusive" | "shared";

/**
 * Locks an open file; the kernel gives the lock back when the descriptor is closed, or with the end of this process. False
 * where somebody else holds it. A file system without locks grants every one.
 */
export const tryLock = (descriptor: number, mode: LockMode): boolean =>
  flock(descriptor, (mode === "exclusive" ? LOCK_EX : LOCK_SH) | LOCK_NB) === 0 ||
  koffi.errno() !== osConstants.errno.EWOULDBLOCK;
