import { lstatSync, readdirSync } from "node:fs";
import { posix } from "node:path";

/** A start-up folder with more files was not written by file tools. */
export const MAX_STARTUP_FILES = 200;

const listLeaves = (path: string, max: number): readonly string[] | undefined => {
  const leaves: string[] = [];
  const paths = [path];
  for (const next of paths) {
    const stats = lstatSync(next, { throwIfNoEntry: false });
    if (stats === undefined) return undefined;
    const names = stats.isDirectory() ? readdirSync(next) : [];
    if (names.length === 0) leaves.push(next);
    paths.push(...names.map((name) => posix.join(next, name)));
    if (paths.length > max) return undefined;
  }
  return leaves;
};

/** The files and empty folders at or below a path; undefined if there are too many, or if one cannot be accessed. */
export const leavesBelow = (path: string, max: number): readonly string[] | undefined => {
  try {
    return listLeaves(path, max);
  } catch {
    return undefined;
  }
};

/** Whether each file at or below a path is one that llmc wrote: a command may hold a folder open that a tool moved. */
export const allWrittenByLlmc = (path: string, isLlmcWrite: (path: string) => boolean): boolean =>
  leavesBelow(path, MAX_STARTUP_FILES)?.every(isLlmcWrite) === true;
