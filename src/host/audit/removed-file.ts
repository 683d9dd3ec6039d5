import { ARCHIVE } from "../../observe/audit/archive.ts";
import { type Link, readRecord } from "../../observe/audit/chain.ts";
import type { Head } from "../../observe/audit/head.ts";
import { readerOf } from "./check-chain.ts";
import { fileName, readLines } from "./record-files.ts";
import type { AuditStore } from "./store.ts";

/** The link before the first record in a file that is of the chain itself. */
const startOf = ({ sign }: AuditStore, { chain }: Head, path: string): Link | undefined => {
  let start: Link | undefined;
  readLines(path, (line) => {
    const record = readRecord(sign, line);
    // In the archive, the records of a chain come before their seal.
    if (record !== undefined && record.chain !== chain) return chain === ARCHIVE;
    if (record !== undefined) start = { seq: record.seq - 1, mac: record.prev };
    return false;
  });
  return start;
};

/**
 * Whether a file before the first of its chain is the one that retention was removing when it was interrupted: whole, and
 * with the record at its end that the chain goes on from now.
 */
export const isBeingRemoved = (store: AuditStore, head: Head, part: number): boolean => {
  if (part !== head.firstPart - 1) return false;
  const path = `${store.records?.at}/${fileName(store, head.chain, part)}`;
  try {
    const start = startOf(store, head, path);
    if (start === undefined) return false;
    const reader = readerOf(store, head, start);
    const { rest, complete } = readLines(path, (line) => reader.push(line) === undefined);
    const { seq, mac } = reader.last;
    const isWhole = complete && rest === "" && reader.end?.() === undefined;
    return isWhole && seq === head.first.seq && mac === head.first.mac;
  } catch {
    // What cannot be read is not known to be ours.
    return false;
  }
};
