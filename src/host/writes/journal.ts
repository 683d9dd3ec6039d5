import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  fsync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  open,
  openSync,
  renameSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { posix } from "node:path";
import { promisify } from "node:util";
import { LlmcError } from "../../base/error.ts";
import type { Owner, Owners } from "../locks/owner.ts";
import { writeAll } from "./bytes.ts";
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

/**
 * What a killed process leaves behind is found here by `recoverWrites`. Notes of temporary files are not synced: they
 * outlive the process, and after a power cut the worst is a stray file with a telling name.
 */
export interface WriteJournal {
  /** Gives the function to call once the file has got its name or is gone. */
  noteTemp(note: TempNote): () => void;
  /** Gives the function that ends it: from then on the change is done for good. */
  record(change: ChangeRecord): Promise<() => Promise<void>>;
}

export const LOG_SUFFIX = ".log";
export const RECORD_SUFFIX = ".json";
export const PART_SUFFIX = ".part";

const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

// Some 400 notes: what recovery has to look at after a kill.
const MAX_LOG_BYTES = 64 * 1024;

const openAsync = promisify(open);
const fsyncAsync = promisify(fsync);

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
  /** Bytes. */
  readonly head: number;
}

/** Names of files of a journal; any other file that lies there is somebody else's. */
export const JOURNAL_NAME = /^[0-9a-f]{16}(?:\.log|\.json|\.json\.part)$/;

export const journalFolder = (stateDir: string): string => posix.join(stateDir, "journal");

/** Never through a link, which a repository could bring along: files are written and removed in there. */
export const isRealFolder = (folder: string): boolean =>
  lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() === true;

const makeFolder = (folder: string): void => {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (!isRealFolder(folder)) throw new Error("The journal is a link.");
};

export const createWriteJournal = (stateDir: string, owners: Owners): WriteJournal => {
  const folder = journalFolder(stateDir);
  const owned: Owned = { owner: owners.self() };
  let log: Log | undefined;
  let underWay = 0;

  const openLog = (): Log => {
    makeFolder(folder);
    const fd = openSync(posix.join(folder, newName(LOG_SUFFIX)), NEW_FILE | constants.O_APPEND, 0o600);
    return { fd, head: writeSync(fd, JSON.stringify(owned)) };
  };

  const currentLog = (): Log => {
    // Gone where another server, or the operator, has cleaned up.
    if (log !== undefined && fstatSync(log.fd).nlink === 0) {
      closeSync(log.fd);
      log = undefined;
    }
    log ??= openLog();
    return log;
  };

  const syncFolder = async (): Promise<void> => {
    const fd = await openAsync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
    try {
      await fsyncAsync(fd);
    } finally {
      closeSync(fd);
    }
  };

  return {
    noteTemp: (note) => {
      try {
        const { fd, head } = currentLog();
        if (underWay === 0 && fstatSync(fd).size > MAX_LOG_BYTES) ftruncateSync(fd, head);
        // The line break comes first, so that a line cut short by a full disk spoils no other.
        writeSync(fd, `\n${JSON.stringify(note)}`);
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

    record: async (change) => {
      const path = posix.join(folder, newName(RECORD_SUFFIX));
      // Under its name it is always whole.
      const part = `${path}${PART_SUFFIX}`;
      try {
        makeFolder(folder);
        const fd = openSync(part, NEW_FILE, 0o600);
        try {
          await writeAll(fd, Buffer.from(JSON.stringify({ ...owned, ...change })));
          await fsyncAsync(fd);
        } finally {
          closeSync(fd);
        }
        renameSync(part, path);
        await syncFolder();
      } catch (error) {
        throw unusable(error);
      }
      return async () => {
        unlinkSync(path);
        await syncFolder();
      };
    },
  };
};
