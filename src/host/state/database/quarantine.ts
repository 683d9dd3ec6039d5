import { randomBytes } from "node:crypto";
import { type BigIntStats, lstatSync, renameSync, rmSync } from "node:fs";
import { type OwnFolder, ownUser } from "../../own-files/own-folder.ts";

/** A database and what SQLite keeps beside it. The log goes first: left behind, it would be taken for the new one's. */
const SUFFIXES = ["-wal", "-shm", "-journal", ""] as const;

const statsOf = (path: string): BigIntStats | undefined =>
  lstatSync(path, { bigint: true, throwIfNoEntry: false });

/** Tells a file from another that took its name. */
export const identityOf = ({ dev, ino }: { readonly dev: bigint; readonly ino: bigint }): string =>
  `${dev}:${ino}`;

export const identityIn = (folder: OwnFolder, name: string): string | undefined => {
  const stats = statsOf(`${folder.at}/${name}`);
  return stats === undefined ? undefined : identityOf(stats);
};

/** Unlike any other, so that nothing that is already quarantined is written over. */
const quarantineName = (name: string, why: string): string =>
  `${name}.${why}-${new Date().toISOString().replaceAll(":", "")}.${randomBytes(3).toString("hex")}`;

const isPlainFileOfOurs = (stats: BigIntStats): boolean => {
  const me = ownUser();
  return stats.isFile() && stats.nlink === 1n && (me === undefined || stats.uid === me);
};

/**
 * Renames whatever SQLite would open under these names and we did not make: links, FIFOs, devices, folders, files of
 * other users and files that have another name elsewhere. Nothing of it is opened. Returns the new names.
 */
export const quarantineForeign = (folder: OwnFolder, name: string): readonly string[] => {
  const moved: string[] = [];
  for (const suffix of SUFFIXES) {
    const stats = statsOf(`${folder.at}/${name}${suffix}`);
    if (stats === undefined || isPlainFileOfOurs(stats)) continue;
    const movedTo = quarantineName(`${name}${suffix}`, "refused");
    renameSync(`${folder.at}/${name}${suffix}`, `${folder.at}/${movedTo}`);
    moved.push(movedTo);
  }
  return moved;
};

/** Whether any of these names leads to something that is not a plain file of ours. */
export const hasForeignFiles = (folder: OwnFolder, name: string): boolean =>
  SUFFIXES.some((suffix) => {
    const stats = statsOf(`${folder.at}/${name}${suffix}`);
    return stats !== undefined && !isPlainFileOfOurs(stats);
  });

/** Renames a database with all that belongs to it; gives the new name. */
export const quarantine = (folder: OwnFolder, name: string): string => {
  const movedTo = quarantineName(name, "corrupt");
  for (const suffix of SUFFIXES) {
    try {
      renameSync(`${folder.at}/${name}${suffix}`, `${folder.at}/${movedTo}${suffix}`);
    } catch (error) {
      if (suffix === "" && statsOf(`${folder.at}/${name}`) !== undefined) throw error;
    }
  }
  return movedTo;
};

/** The same for a large database: only the last one is kept, as `.old`. */
export const replaceQuarantined = (folder: OwnFolder, name: string): string => {
  const path = `${folder.at}/${name}`;
  try {
    for (const suffix of SUFFIXES) if (suffix !== "") rmSync(`${path}${suffix}`, { force: true });
    renameSync(path, `${path}.old`);
    return `${name}.old`;
  } catch {
    // Something else has that name.
    return quarantine(folder, name);
  }
};
