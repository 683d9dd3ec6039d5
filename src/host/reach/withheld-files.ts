import { type Stats, statSync } from "node:fs";
import { systemPath } from "./byte-path.ts";

type FileFacts = Pick<Stats, "dev" | "ino" | "birthtimeMs">;

/** An inode's number is used again; together with the time when the file was made it names one file for good. */
const keyOf = ({ dev, ino, birthtimeMs }: FileFacts): string => `${dev}:${ino}:${birthtimeMs}`;

/** Files that were seen and are gone stay in the list until it is this long; then the oldest are forgotten. */
const MAX_KEPT = 50_000;

/**
 * Files that the last scan saw under a withheld name. They stay withheld when they are moved or linked to another
 * name: the name is how a secret is recognised, not what makes it one.
 */
export type WithheldFiles = ReturnType<typeof createWithheldFiles>;

export const createWithheldFiles = (first: readonly string[] = []) => {
  const known = new Set(first);
  let last: readonly string[] | undefined;
  return {
    has: (file: FileFacts): boolean => known.size > 0 && known.has(keyOf(file)),
    /** Real paths of the last scan. */
    see: (paths: readonly string[]): void => {
      if (paths === last) return;
      last = paths;
      for (const path of paths) {
        try {
          const stats = statSync(systemPath(path), { throwIfNoEntry: false });
          if (stats?.isFile() === true) known.add(keyOf(stats));
        } catch {
          // We cannot access the file, so no caller can read it through us either.
        }
      }
      for (const key of known) {
        if (known.size <= MAX_KEPT) break;
        known.delete(key);
      }
    },
    /** For an indexer thread, which has no scan of its own. */
    keys: (): readonly string[] => [...known],
  };
};
