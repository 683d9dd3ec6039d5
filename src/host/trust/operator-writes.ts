import { createHash } from "node:crypto";
import { join } from "node:path";
import { isRecord } from "../../base/is-record.ts";
import { isInside } from "../../base/paths.ts";
import { createDisk, type Disk } from "../own-files/disk.ts";
import { makeOwnFolder, type OwnFolder } from "../own-files/own-folder.ts";
import { openUserState, readPrivateFile } from "../own-files/secret-key.ts";
import { sha256Of, type WrittenFile, writtenAt } from "../reach/written-file.ts";

/** In the user's state folder, which no tool and no command reaches. */
const FOLDER = "written";
const MAX_NOTE_BYTES = 4096;

const nameOf = (realPath: string): string => `${createHash("sha256").update(realPath).digest("hex")}.json`;

/** Nothing is read or noted where the folder is not ours alone. */
const withFolder = <T>(userState: string, work: (folder: OwnFolder) => T): T | undefined => {
  try {
    const state = openUserState(userState);
    try {
      const folder = makeOwnFolder(`${state.at}/${FOLDER}`);
      try {
        return work(folder);
      } finally {
        folder.close();
      }
    } finally {
      state.close();
    }
  } catch {
    // A file of the operator is then taken for a command's: it is renamed, and the answer says so.
    return undefined;
  }
};

const parseNote = (text: string): WrittenFile | undefined => {
  const value: unknown = JSON.parse(text);
  if (!isRecord(value)) return undefined;
  const { identity, sha256 } = value;
  return typeof identity === "string" && typeof sha256 === "string"
    ? { identity, content: { sha256 } }
    : undefined;
};

/** What `llmc allow`, `llmc init` or `llmc connect` last wrote at a path of a workspace. */
export const readOperatorWrite = (userState: string, realPath: string): WrittenFile | undefined =>
  withFolder(userState, (folder) => {
    const note = readPrivateFile(folder, nameOf(realPath), MAX_NOTE_BYTES);
    return note === undefined ? undefined : parseNote(note.toString());
  });

/**
 * The disk of commands that the operator runs: servers learn what was written in the workspace, so that they do not take
 * it for the work of a command that runs at that moment.
 */
export const createOperatorDisk = (userState: string, workspace: string): Disk => {
  const disk = createDisk();
  return {
    ...disk,
    writeText: async (path, text, mode) => {
      await disk.writeText(path, text, mode);
      const real = disk.realOrFuture(path);
      const written = isInside(real, workspace) ? writtenAt(real, { sha256: sha256Of(text) }) : undefined;
      if (written === undefined) return;
      const note = JSON.stringify({ identity: written.identity, sha256: sha256Of(text) });
      const folder = withFolder(userState, () => join(userState, FOLDER));
      if (folder !== undefined) await disk.writeText(join(folder, nameOf(real)), note, 0o600);
    },
  };
};
