import { closeSync, constants, fdatasyncSync, ftruncateSync, rmSync, writeSync } from "node:fs";
import { ARCHIVE } from "../../observe/audit/archive.ts";
import { GENESIS } from "../../observe/audit/chain.ts";
import type { Head } from "../../observe/audit/head.ts";
import type { Owners } from "../os/process-owner.ts";
import { endsAtHead, sealedText, timeOf } from "./archive-tail.ts";
import type { LockedStore } from "./audit-lock.ts";
import { MAX_FILE_MS } from "./chain-writer.ts";
import { chainsOf, hasChainEnded, headPath, readHead, saveHead } from "./heads.ts";
import { fileName, openRecordFile, readLines, recordFiles } from "./record-files.ts";
import type { AuditStore } from "./store.ts";

/** An empty archive; files of that name which came with the workspace are left alone. */
const newArchive = (store: AuditStore): Head => {
  const foreign = recordFiles(store).filter(({ chain }) => chain === ARCHIVE);
  const part = 1 + Math.max(0, ...foreign.map((file) => file.part));
  return {
    chain: ARCHIVE,
    pid: 0,
    birth: "",
    firstPart: part,
    first: GENESIS,
    closed: false,
    sealed: "",
    part,
    bytes: 0,
    last: GENESIS,
  };
};

/** Removes a chain's own file and head; whatever is left when that is interrupted is known by the archive's head. */
const removeChain = (store: AuditStore, chain: string): void => {
  rmSync(`${store.records?.at}/${fileName(store, chain, 1)}`, { force: true });
  rmSync(headPath(store, chain), { force: true });
};

const append = (store: AuditStore, archive: Head, text: string): void => {
  const path = `${store.records?.at}/${fileName(store, ARCHIVE, archive.part)}`;
  const fd = openRecordFile(path, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT);
  try {
    ftruncateSync(fd, archive.bytes);
    const bytes = Buffer.from(text);
    for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done);
    fdatasyncSync(fd);
  } catch (error) {
    ftruncateSync(fd, archive.bytes);
    throw error;
  } finally {
    closeSync(fd);
  }
};

const isIntact = (store: AuditStore, archive: Head, ended: readonly Head[]): boolean => {
  try {
    return endsAtHead(store, archive, ended);
  } catch {
    // `verify` says why.
    return false;
  }
};

/** Whether the archive's file has collected records for long enough. */
const isAged = (store: AuditStore, { part }: Head, now: Date): boolean => {
  let first: string | undefined;
  readLines(`${store.records?.at}/${fileName(store, ARCHIVE, part)}`, (line) => {
    first = line;
    return false;
  });
  return timeOf(first) < new Date(now.getTime() - MAX_FILE_MS).toISOString();
};

/**
 * Takes the files of ended chains into the archive, each verified first: a chain that is not as it was written stays where it
 * is, for `verify` to find. Returns how many there were.
 */
export const mergeEnded = (
  store: LockedStore,
  owners: Pick<Owners, "isGone">,
  { maxFileBytes, now }: { readonly maxFileBytes: number; readonly now: Date },
): number => {
  if (store.records === undefined) return 0;
  const found = readHead(store, ARCHIVE);
  if (found === "damaged") return 0;
  let archive = found ?? newArchive(store);
  if (archive.sealed !== "") removeChain(store, archive.sealed);
  const ended = chainsOf(store).flatMap((chain) => {
    const head = readHead(store, chain);
    return head !== undefined && head !== "damaged" && hasChainEnded(head, owners) ? [head] : [];
  });
  if (!isIntact(store, archive, ended)) return 0;
  let merged = 0;
  for (const head of ended) {
    const sealed = sealedText(store, head, archive.last);
    if (sealed === undefined) continue;
    if (archive.bytes >= maxFileBytes || (archive.bytes > 0 && isAged(store, archive, now)))
      archive = { ...archive, part: archive.part + 1, bytes: 0 };
    if (sealed.text !== "") {
      // The head knows of every file before the file exists.
      if (archive.bytes === 0) saveHead(store, archive);
      append(store, archive, sealed.text);
      const bytes = archive.bytes + Buffer.byteLength(sealed.text);
      archive = { ...archive, bytes, last: sealed.link, sealed: head.chain };
      saveHead(store, archive);
    }
    removeChain(store, head.chain);
    merged++;
  }
  return merged;
};
