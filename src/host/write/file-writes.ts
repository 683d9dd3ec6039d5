import { posix } from "node:path";
import type { Actor } from "../../policy/reach-table.ts";
import { createOwners } from "../os/process-owner.ts";
import { openSecretKey } from "../own-files/secret-key.ts";
import type { StateLocation } from "../own-files/state-folder.ts";
import type { OwnWrites } from "../reach/own-writes.ts";
import type { CallerReach } from "../reach/reach.ts";
import type { Locks } from "../state/locks/locks.ts";
import { appendToFile } from "./append-file.ts";
import { applyChanges } from "./apply-changes.ts";
import { sha256Of } from "./bytes.ts";
import type { FileWrites, Written } from "./contract.ts";
import { planCopy } from "./copy-file.ts";
import { createWriteJournal } from "./journal.ts";
import { makeDirectories } from "./make-directories.ts";
import { moveThing } from "./move-file.ts";
import { type Recovered, recoverJournal } from "./recovery.ts";
import { removeThing } from "./remove-file.ts";
import type { WriteContext } from "./write-context.ts";
import { rewriteFile, updateFile } from "./write-file.ts";
import { writeReachOf } from "./write-reach.ts";

export interface FileWritesOptions {
  readonly reach: CallerReach;
  readonly locks: Locks;
  /** The user's own folder for state, which holds the key that the journal is signed with. */
  readonly userState: string;
  /** Waits until it is known what must not be written. */
  readonly ready?: () => Promise<void>;
  /** Whose row of the reach table counts; by default, that of the file tools. */
  readonly actor?: Actor;
  /** Largest file that is edited as text, in bytes. */
  readonly maxTextBytes?: number;
}

const EMPTY_SHA256 = sha256Of(Buffer.alloc(0));

const MAX_TEXT_BYTES = 64 * 1024 * 1024;

const locationOf =
  ({ reach: { workspace }, userState }: FileWritesOptions) =>
  (): StateLocation => ({ workspace, key: openSecretKey(userState) });

export const createFileWrites = (options: FileWritesOptions): FileWrites => {
  const { reach } = options;
  const context: WriteContext = {
    ready: options.ready ?? (async () => {}),
    currentReach: () => writeReachOf(reach.current(), options.actor),
    locks: options.locks,
    journal: createWriteJournal(locationOf(options), createOwners(process.pid)),
    maxTextBytes: options.maxTextBytes ?? MAX_TEXT_BYTES,
  };
  const note = (shown: string, content: Parameters<OwnWrites["note"]>[1]): void =>
    reach.ownWrites?.note(posix.resolve(reach.workspace, shown), content);
  const noteAll = (all: readonly Written[]): void => {
    // A file that was removed, or that had this very text before, was not written by us.
    for (const { path, sha256, created, bytesWritten } of all)
      if (created || bytesWritten > 0 || sha256 === EMPTY_SHA256)
        note(path, sha256 === "" ? "folder" : { sha256 });
  };
  const noted = async (writing: Promise<Written>): Promise<Written> => {
    const written = await writing;
    noteAll([written]);
    return written;
  };
  return {
    rewrite: (path, text, conditions = {}, signal) =>
      noted(rewriteFile(context, path, text, conditions, signal)),
    append: (path, text, conditions = {}, signal) =>
      noted(appendToFile(context, path, text, conditions, signal)),
    update: (path, change, conditions = {}, signal) =>
      noted(updateFile(context, path, change, conditions, signal)),
    applyAll: async (changes, how, signal) => {
      const all = await applyChanges(context, changes, how, signal);
      if (!how.dryRun) noteAll(all);
      return all;
    },
    move: async (source, target, signal) => {
      const moved = await moveThing(context, source, target, signal);
      note(moved.target, "moved");
      return moved;
    },
    copy: async (source, target, how, signal) => {
      const { changes, ...copied } = await planCopy(context, source, target, how, signal);
      noteAll(await applyChanges(context, changes, { dryRun: false }, signal));
      return copied;
    },
    remove: (path, how, signal) => removeThing(context, path, how, signal),
    makeDirs: async (path, how, signal) => {
      const made = await makeDirectories(context, path, how, signal);
      if (made.created) note(made.path, "folder");
      return made;
    },
  };
};

/** Once at the start, before the first write: undoes or removes what a killed process left behind. */
export const recoverWrites = (options: FileWritesOptions): Promise<Recovered> =>
  recoverJournal({
    workspace: options.reach.workspace,
    openLocation: locationOf(options),
    reach: writeReachOf(options.reach.current()),
    locks: options.locks,
    owners: createOwners(process.pid),
    nowMs: Date.now(),
  });
