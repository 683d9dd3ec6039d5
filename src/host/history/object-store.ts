import { opendirSync } from "node:fs";
import { posix } from "node:path";
import { inflateSync } from "node:zlib";
import { readSmallFile } from "../git/files.ts";
import { type Budget, OutOfBudget } from "./budget.ts";
import { MAX_OBJECT_BYTES, openPack, type Pack, type PackedObject } from "./pack.ts";

/** An object of git with its content; only those that say what changed are read, never a file. */
export interface GitObject {
  readonly type: "commit" | "tree";
  readonly content: Buffer;
}

/** Of all stores together. Each may be open at once; a repository that has more is one that `git gc` has not seen for long. */
const MAX_PACKS = 64;
/** Of all packs together: some four million objects. The history of what is beyond them is not read. */
const MAX_INDEX_BYTES = 128 * 1024 * 1024;
/** Git keeps a few files for each pack. */
const MAX_PACK_FILES = 4096;
/** Commits and their neighbours share most of their folders. */
const MAX_CACHED = 4000;

const LOOSE_HEADER = /^(commit|tree) (\d{1,10})$/;

const readLoose = (store: string, id: string, budget: Budget): GitObject | undefined => {
  const path = posix.join(store, id.slice(0, 2), id.slice(2));
  const packed = readSmallFile(path, MAX_OBJECT_BYTES, { noFollow: true });
  if (packed === undefined) return undefined;
  const bytes = inflateSync(packed, { maxOutputLength: MAX_OBJECT_BYTES });
  budget.spend(bytes.length);
  const end = bytes.indexOf(0);
  const [, type] = LOOSE_HEADER.exec(bytes.toString("latin1", 0, Math.min(end, 32))) ?? [];
  return type === "commit" || type === "tree" ? { type, content: bytes.subarray(end + 1) } : undefined;
};

const packNames = (store: string): readonly string[] => {
  const names: string[] = [];
  try {
    using folder = opendirSync(posix.join(store, "pack"));
    for (let files = 0; files < MAX_PACK_FILES; files++) {
      const entry = folder.readSync();
      if (entry === null) break;
      if (/^pack-[0-9a-f]{40}\.idx$/.test(entry.name)) names.push(entry.name);
    }
  } catch {
    return [];
  }
  return names.map((name) => posix.join(store, "pack", name.slice(0, -".idx".length)));
};

const TYPES: Readonly<Record<number, GitObject["type"]>> = { 1: "commit", 2: "tree" };

const toObject = ({ type, content }: PackedObject): GitObject | undefined => {
  const name = TYPES[type];
  return name === undefined ? undefined : { type: name, content };
};

/**
 * Commits and folders in git's own files, without running git: reading them starts no program and obeys no setting. What
 * is damaged, too large or of another format is as if it were not there.
 * @param stores folders of objects, as `.git/objects`, that the caller may read
 * @param budget of everything that is read; reading throws `OutOfBudget` once it is used up
 */
export const openObjectStore = (stores: readonly string[], budget: Budget) => {
  const cache = new Map<string, GitObject>();
  /** Those that are open, so that they are closed wherever the budget ends. */
  const packs: Pack[] = [];
  let unopened: readonly string[] | undefined;

  const openPacks = (): void => {
    let indexBytes = MAX_INDEX_BYTES;
    unopened ??= stores.flatMap(packNames).slice(0, MAX_PACKS);
    for (const path of unopened) {
      budget.spend(0);
      const pack = openPack(path, indexBytes, budget);
      if (pack === undefined) continue;
      packs.push(pack);
      indexBytes -= pack.indexBytes;
    }
    unopened = [];
  };

  const find = (id: string): GitObject | undefined => {
    openPacks();
    // Packs first: most of the history is in them, and a missing file costs more than a look into an index.
    for (const pack of packs) {
      const found = pack.read(id);
      if (found !== undefined) return toObject(found);
    }
    for (const store of stores) {
      const found = readLoose(store, id, budget);
      if (found !== undefined) return found;
    }
    return undefined;
  };

  return {
    read: (id: string, type: GitObject["type"]): Buffer | undefined => {
      budget.spend(0);
      const known = cache.get(id);
      if (known !== undefined) return known.type === type ? known.content : undefined;
      let found: GitObject | undefined;
      try {
        found = find(id);
      } catch (thrown) {
        if (thrown instanceof OutOfBudget) throw thrown;
        return undefined;
      }
      if (found?.type !== type) return undefined;
      if (cache.size >= MAX_CACHED) cache.clear();
      cache.set(id, found);
      return found.content;
    },
    close: (): void => {
      for (const pack of packs) pack.close();
    },
    budget,
  };
};

export type ObjectStore = ReturnType<typeof openObjectStore>;
