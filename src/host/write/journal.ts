import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  openSync,
  renameSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { LlmcError } from "../../base/error.ts";
import type { Owner, Owners } from "../os/process-owner.ts";
import { makeOwnFolder, type OwnFolder, openOwnFolder } from "../own-files/own-folder.ts";
import { openStateFolder, type StateLocation, withStateFolder } from "../own-files/state-folder.ts";
import { fsyncAsync, openAsync, writeAll } from "../reach/descriptor.ts";
import type { Step } from "./steps.ts";

/** One temporary file, noted before it exists. */
export interface TempNote {
  /** Real path. */
  readonly temp: string;
  /** What the writer has locked while the file may exist. */
  readonly key: string;
}

/** The first line of a log, and a part of every record. */
export interface Owned {
  readonly owner: Owner;
}

/** A change of many files, noted before the first of them changes, so that a killed one can be undone. */
export interface ChangeRecord {
  readonly keys: readonly string[];
  readonly steps: readonly Step[];
  /** Directories made for it, outermost first. */
  readonly made: readonly string[];
}

export const LOG_SUFFIX = ".log";
export const RECORD_SUFFIX = ".json";
export const PART_SUFFIX = ".part";

const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

// Some 400 notes: what recovery has to look at after a kill.
const MAX_LOG_BYTES = 64 * 1024;

const unusable = (error: unknown): LlmcError =>
  new LlmcError(
    "write_failed",
    "llmc's own state folder (.llmc) cannot be written, so no write can be made safe.",
    {
      hint: "The operator has to make it writable, or free some space.",
      cause: error,
    },
  );

const newName = (suffix: string): string => `${randomBytes(8).toString("hex")}${suffix}`;

interface Log {
  readonly fd: number;
  readonly name: string;
  /** Bytes. */
  readonly head: number;
}

/** Names of files of a journal; any other file there is not ours. */
export const JOURNAL_NAME = /^[0-9a-f]{16}(?:\.log|\.json|\.json\.part)$/;

/**
 * A line behind its signature: the journal lies in the workspace, and what it says is done to files. Each line belongs to
 * one file of one workspace, and cannot be carried over to another.
 */
export const signLine = ({ key, workspace }: StateLocation, name: string, text: string): string =>
  `${key.sign("journal", workspace, name, text).toString("base64url")} ${text}`;

/** The text, if we signed it. */
export const checkLine = (location: StateLocation, name: string, line: string): string | undefined => {
  const [, signature, text] = /^(\S+) (.*)$/s.exec(line) ?? [];
  if (signature === undefined || text === undefined) return undefined;
  const bytes = Buffer.from(signature, "base64url");
  return location.key.isSigned(bytes, "journal", location.workspace, name, text) ? text : undefined;
};

const JOURNAL_DIR = "journal";

/** Opens the journal's folder in our state folder, neither of them through a link; to be closed after use. */
const openFolder = (location: StateLocation): OwnFolder =>
  withStateFolder(location, ({ at }) => makeOwnFolder(`${at}/${JOURNAL_DIR}`));

/** Opens the folder only if it exists; undefined if it is missing or unsafe. */
export const findJournalFolder = (location: StateLocation): OwnFolder | undefined => {
  let state: OwnFolder | undefined;
  try {
    state = openStateFolder(location);
    return openOwnFolder(`${state.at}/${JOURNAL_DIR}`);
  } catch {
    return undefined;
  } finally {
    state?.close();
  }
};

const syncFolder = async ({ at }: OwnFolder): Promise<void> => {
  const fd = await openAsync(at, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await fsyncAsync(fd);
  } finally {
    closeSync(fd);
  }
};

const within = async <T>(location: StateLocation, work: (folder: OwnFolder) => Promise<T>): Promise<T> => {
  const folder = openFolder(location);
  try {
    return await work(folder);
  } finally {
    folder.close();
  }
};

/** The file only gets its final name when it is complete. */
const writeRecord = async (folder: OwnFolder, name: string, line: string): Promise<void> => {
  const part = `${folder.at}/${name}${PART_SUFFIX}`;
  const fd = openSync(part, NEW_FILE, 0o600);
  try {
    await writeAll(fd, Buffer.from(line));
    await fsyncAsync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(part, `${folder.at}/${name}`);
  await syncFolder(folder);
};

/**
 * What a killed process leaves behind is found here by `recoverWrites`. Notes of temporary files are not synced: they
 * outlive the process, and after a power cut the worst is a stray file with a telling name.
 */
export type WriteJournal = ReturnType<typeof createWriteJournal>;

export const createWriteJournal = (openLocation: () => StateLocation, owners: Owners) => {
  const owned: Owned = { owner: owners.self() };
  let location: StateLocation | undefined;
  let log: Log | undefined;
  let underWay = 0;

  const currentLocation = (): StateLocation => {
    location ??= openLocation();
    return location;
  };

  const openLog = (): Log => {
    const name = newName(LOG_SUFFIX);
    const folder = openFolder(currentLocation());
    try {
      const fd = openSync(`${folder.at}/${name}`, NEW_FILE | constants.O_APPEND, 0o600);
      return { fd, name, head: writeSync(fd, signLine(currentLocation(), name, JSON.stringify(owned))) };
    } finally {
      folder.close();
    }
  };

  const currentLog = (): Log => {
    // It may already have been removed by another server or the operator.
    if (log !== undefined && fstatSync(log.fd).nlink === 0) {
      closeSync(log.fd);
      log = undefined;
    }
    log ??= openLog();
    return log;
  };

  return {
    /** Returns the function to call once the file has got its name or is gone. */
    noteTemp: (note: TempNote): (() => void) => {
      try {
        const { fd, name, head } = currentLog();
        if (underWay === 0 && fstatSync(fd).size > MAX_LOG_BYTES) ftruncateSync(fd, head);
        // The line break comes first, so that a line cut short by a full disk spoils no other.
        writeSync(fd, `\n${signLine(currentLocation(), name, JSON.stringify(note))}`);
      } catch (error) {
        throw unusable(error);
      }
      underWay++;
      let isOver = false;
      return () => {
        if (!isOver) underWay--;
        isOver = true;
      };
    },

    /** Returns the function that ends it: from then on the change is done for good. */
    record: async (change: ChangeRecord): Promise<() => Promise<void>> => {
      const name = newName(RECORD_SUFFIX);
      try {
        const line = signLine(currentLocation(), name, JSON.stringify({ ...owned, ...change }));
        await within(currentLocation(), (folder) => writeRecord(folder, name, line));
      } catch (error) {
        throw unusable(error);
      }
      return () =>
        within(currentLocation(), async (folder) => {
          unlinkSync(`${folder.at}/${name}`);
          await syncFolder(folder);
        });
    },
  };
};
