import { readFileSync } from "node:fs";

/** Default number of processes and threads that a command may add to those that are already running. */
const MORE_PROCESSES = 256;

/**
 * The kernel counts threads of the user over the whole machine, so a fixed number would fail on a busy desktop.
 * Root is not counted at all.
 */
export const processLimit = (more = MORE_PROCESSES): number => {
  try {
    const threads = /\/(\d+) /.exec(readFileSync("/proc/loadavg", "utf8"))?.[1];
    return Number(threads ?? 4096) + more;
  } catch {
    return 4096 + more;
  }
};
