import { closeSync, fstatSync, readSync } from "node:fs";
import { isRecord } from "../../base/is-record.ts";
import { isMissing } from "../../base/system-error.ts";
import { ARCHIVE, encodeSeal } from "../../observe/audit/archive.ts";
import type { Link } from "../../observe/audit/chain.ts";
import type { Head } from "../../observe/audit/head.ts";
import { checkChain } from "./check-chain.ts";
import { fileName, openRecordFile, readLines } from "./record-files.ts";
import type { AuditStore } from "./store.ts";

export const timeOf = (line: string | undefined): string => {
  const value: unknown = JSON.parse(line ?? "null");
  return isRecord(value) ? String(value["time"]) : "";
};

/** The lines of a chain that is one whole file, and the seal that follows them in the archive; undefined if it is flawed. */
export const sealedText = (
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
    // A longer tail was not written by us, and is not read: it may be of any size.
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
