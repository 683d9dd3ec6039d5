import {
  closeSync,
  constants,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  readSync,
  rmSync,
  writeSync,
} from "node:fs";
import { isRecord } from "../../base/is-record.ts";
import { isMissing } from "../../base/system-error.ts";
import { ARCHIVE, encodeSeal } from "../../observe/audit/archive.ts";
import { GENESIS, type Link } from "../../observe/audit/chain.ts";
import { encodeHead, encodeStart, type Head } from "../../observe/audit/head.ts";
import type { Owners } from "../os/process-owner.ts";
import { MAX_FILE_MS } from "./chain-writer.ts";
import { checkChain } from "./check-chain.ts";
import { fileName, openRecordFile, readLines, recordFiles } from "./record-files.ts";
import { type AuditStore, chainsOf, headPath, readHead, writeHeadOnce } from "./store.ts";

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

export const saveHead = (store: AuditStore, head: Head): void =>
  writeHeadOnce(store, head.chain, encodeHead(store.sign, encodeStart(head), head));

/** Whether nobody will add to the chain any more. */
export const hasChainEnded = (
  { chain, closed, pid, birth }: Head,
  { isGone }: Pick<Owners, "isGone">,
): boolean => chain !== ARCHIVE && (closed || isGone({ pid, birth }));

const timeOf = (line: string | undefined): string => {
  const value: unknown = JSON.parse(line ?? "null");
  return isRecord(value) ? String(value["time"]) : "";
};

/** The lines of a chain that is one whole file, and the seal that follows them in the archive; undefined if it is flawed. */
const sealedText = (
  store: AuditStore,
  head: Head,
  after: Link,
): { readonly text: string; readonly link: Link } | undefined => {
  const isOneFile = head.chain !== ARCHIVE && head.firstPart === 1 && head.part === 1;
  if (store.records === undefined || !isOneFile) return undefined;
  const { problem, last, files } = checkChain(store, head);
  if (problem !== undefined || files.length > 1) return undefined;
  // Killed before its first record.
  if (last.seq === 0) return { text: "", link: after };
  const lines: string[] = [];
  readLines(`${store.records.at}/${fileName(store, head.chain, 1)}`, (line) => lines.push(line) < last.seq);
  const seal = encodeSeal(store.sign, after, { chain: head.chain, last, time: timeOf(lines.at(-1)) });
  return { text: `${[...lines, seal.line].join("\n")}\n`, link: seal.link };
};

/** Removes a chain's own file and head; whatever is left when that is interrupted is known by the archive's head. */
const removeChain = (store: AuditStore, chain: string): void => {
  rmSync(`${store.records?.at}/${fileName(store, chain, 1)}`, { force: true });
  rmSync(headPath(store, chain), { force: true });
};

const PIECE_BYTES = 1024 * 1024;

/** Whether a file goes on with these bytes at an offset. */
const hasBytesAt = (fd: number, offset: number, bytes: Buffer): boolean => {
  const piece = Buffer.alloc(Math.min(PIECE_BYTES, bytes.length));
  for (let done = 0; done < bytes.length; ) {
    const count = readSync(fd, piece, 0, Math.min(piece.length, bytes.length - done), offset + done);
    const isSame = piece.subarray(0, count).equals(bytes.subarray(done, done + count));
    if (count === 0 || !isSame) return false;
    done += count;
  }
  return true;
};

/** Whether a tail of the archive is the beginning of a merge of one of these chains. */
const isInterruptedMerge = (
  store: AuditStore,
  archive: Head,
  heads: readonly Head[],
  tail: { readonly fd: number; readonly length: number },
): boolean =>
  heads.some((head) => {
    const bytes = Buffer.from(sealedText(store, head, archive.last)?.text ?? "");
    // A longer tail is none of ours, and is not read: it may be of any size.
    return tail.length <= bytes.length && hasBytesAt(tail.fd, archive.bytes, bytes.subarray(0, tail.length));
  });

/** Whether the archive's last file ends where its head says, but for a merge that was interrupted. Throws if it cannot be read. */
export const endsAtHead = (store: AuditStore, archive: Head, heads: readonly Head[]): boolean => {
  let fd: number;
  try {
    fd = openRecordFile(`${store.records?.at}/${fileName(store, ARCHIVE, archive.part)}`);
  } catch (error) {
    if (isMissing(error) && archive.bytes === 0) return true;
    throw error;
  }
  try {
    const length = fstatSync(fd).size - archive.bytes;
    return length === 0 || (length > 0 && isInterruptedMerge(store, archive, heads, { fd, length }));
  } finally {
    closeSync(fd);
  }
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
 * is, for `verify` to find. Only under the lock. Gives their number.
 */
export const mergeEnded = (
  store: AuditStore,
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
