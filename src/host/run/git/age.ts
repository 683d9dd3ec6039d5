import { lstatSync } from "node:fs";

/** Longer than a command lives that somebody waits for: what is older is no work of one that still runs. */
export const SETTLED_MS = 60 * 60 * 1000;

/** Longer than a process lives that was started to run on: the repositories that it could write are younger. */
const YOUNG_MS = 24 * SETTLED_MS;

/** Some file systems know no time of birth: there, everything is young. */
export const isYoung = (folder: string, startedMs: number): boolean => {
  const born = lstatSync(folder, { throwIfNoEntry: false })?.birthtimeMs;
  return born === 0 || (born ?? 0) > startedMs - YOUNG_MS;
};
