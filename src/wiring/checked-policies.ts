import { basename, dirname, join } from "node:path";
import { readPolicyFiles } from "../host/own-files/policy-files.ts";
import { realOrFuture } from "../host/own-files/real-or-future.ts";
import type { LiveWriters } from "../host/run/live-writers.ts";

/** Reads policy files; of those that a running command may have written, what was there before stands (REQ-D22). */
export const createPolicyReader = ({ mayHaveWritten }: Pick<LiveWriters, "mayHaveWritten">) => {
  const known = new Map<string, ReturnType<typeof readPolicyFiles>>();
  let isWaiting = false;

  const readOne = (pattern: string): ReturnType<typeof readPolicyFiles> => {
    const real = join(realOrFuture(dirname(pattern)), basename(pattern));
    const isUnchecked = mayHaveWritten(pattern) || mayHaveWritten(real);
    isWaiting ||= isUnchecked;
    if (!isUnchecked) known.set(pattern, readPolicyFiles([pattern]));
    return known.get(pattern) ?? { files: [], unreadable: [] };
  };

  return {
    /** Whether the last reading left something out. */
    isWaiting: (): boolean => isWaiting,
    read: (patterns: readonly string[]): ReturnType<typeof readPolicyFiles> => {
      isWaiting = false;
      const results = patterns.map(readOne);
      const files = new Map(results.flatMap((result) => result.files.map((file) => [file.path, file])));
      return { files: [...files.values()], unreadable: results.flatMap(({ unreadable }) => unreadable) };
    },
  };
};
