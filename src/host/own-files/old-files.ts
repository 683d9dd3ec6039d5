import { readdir, stat, unlink } from "node:fs/promises";
import { join } from "node:path";

interface Kept {
  /** The names of our files; others are left alone. */
  readonly names: RegExp;
  readonly maxFiles: number;
  /** Infinity: however old they are. */
  readonly maxAgeMs: number;
}

/** Deletes the oldest of our files in a folder, as far as there are too many or they are too old. */
export const removeOldFiles = async (
  folder: string,
  { names, maxFiles, maxAgeMs }: Kept,
  nowMs: number,
): Promise<void> => {
  const found = (await readdir(folder)).filter((name) => names.test(name));
  const files = await Promise.all(
    found.map(async (name) => {
      const path = join(folder, name);
      // Another server that shares the folder may have deleted it.
      return { path, writtenMs: (await stat(path).catch(() => undefined))?.mtimeMs ?? 0 };
    }),
  );
  const newestFirst = files.sort((a, b) => b.writtenMs - a.writtenMs);
  const old = newestFirst.filter(
    ({ writtenMs }, position) => position >= maxFiles || nowMs - writtenMs > maxAgeMs,
  );
  for (const { path } of old) await unlink(path).catch(() => {});
};

/** Deletes a file of ours; one that is gone already is no error. */
export const removeOwnFile = (path: string): Promise<void> => unlink(path).catch(() => {});
