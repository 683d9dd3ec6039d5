import { posix } from "node:path";
import { createOwners } from "../os/process-owner.ts";
import { openSecretKey } from "../own-files/secret-key.ts";
import type { ReachOptions } from "../reach/reach.ts";
import type { Locks } from "../state/locks/locks.ts";
import { appendToFile } from "./append.ts";
import type { FileWrites } from "./contract.ts";
import { makeDirectories } from "./dirs.ts";
import { createGround } from "./ground.ts";
import { createWriteJournal, type JournalPlace } from "./journal.ts";
import { applyChanges } from "./many.ts";
import { moveThing } from "./move.ts";
import { rewriteFile, updateFile } from "./one.ts";
import { type Recovered, recoverJournal } from "./recovery.ts";
import { removeThing } from "./remove.ts";
import type { Bench } from "./workbench.ts";

export interface FileWritesOptions extends ReachOptions {
  readonly locks: Locks;
  /** The user's own folder for state, which holds the key that the journal is signed with. */
  readonly userState: string;
  /** Largest file that is edited as text, in bytes. */
  readonly maxTextBytes?: number;
}

const MAX_TEXT_BYTES = 64 * 1024 * 1024;

const placeOf =
  ({ workspace, userState }: FileWritesOptions) =>
  (): JournalPlace => ({ workspace, key: openSecretKey(userState) });

export const createFileWrites = (options: FileWritesOptions): FileWrites => {
  const bench: Bench = {
    look: createGround(options),
    locks: options.locks,
    journal: createWriteJournal(placeOf(options), createOwners(process.pid)),
    maxTextBytes: options.maxTextBytes ?? MAX_TEXT_BYTES,
  };
  const note = (shown: string): void => options.ownWrites?.note(posix.resolve(options.workspace, shown));
  const noted = async <T extends { readonly path: string }>(writing: Promise<T>): Promise<T> => {
    const written = await writing;
    note(written.path);
    return written;
  };
  return {
    rewrite: (path, text, conditions = {}, signal) =>
      noted(rewriteFile(bench, path, text, conditions, signal)),
    append: (path, text, conditions = {}, signal) =>
      noted(appendToFile(bench, path, text, conditions, signal)),
    update: (path, change, conditions = {}, signal) =>
      noted(updateFile(bench, path, change, conditions, signal)),
    applyAll: async (changes, how, signal) => {
      const all = await applyChanges(bench, changes, how, signal);
      for (const { path } of all) note(path);
      return all;
    },
    move: async (source, target, signal) => {
      const moved = await moveThing(bench, source, target, signal);
      note(moved.target);
      return moved;
    },
    remove: (path, how, signal) => removeThing(bench, path, how, signal),
    makeDirs: (path, how, signal) => noted(makeDirectories(bench, path, how, signal)),
  };
};

/** Once at the start, before the first write: undoes or removes what a killed process left behind. */
export const recoverWrites = (options: FileWritesOptions): Promise<Recovered> =>
  recoverJournal({
    workspace: options.workspace,
    openPlace: placeOf(options),
    ground: createGround(options)(),
    locks: options.locks,
    owners: createOwners(process.pid),
    nowMs: Date.now(),
  });
