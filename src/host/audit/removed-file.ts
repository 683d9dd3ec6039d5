import type { Head } from "../../observe/audit/head.ts";
import { readerOf } from "./check-chain.ts";
import { fileName, firstRecord, readLines } from "./record-files.ts";
import type { AuditStore } from "./store.ts";

/**
 * Whether a file before the first of its chain is the one that retention was removing when it was interrupted: whole, and
 * with the record at its end that the chain goes on from now.
 */
export const isBeingRemoved = (store: AuditStore, head: Head, part: number): boolean => {
  if (part !== head.firstPart - 1) return false;
  const path = `${store.records?.at}/${fileName(store, head.chain, part)}`;
  try {
    const first = firstRecord(store, head.chain, part);
    if (first === undefined || first === "damaged") return false;
    const reader = readerOf(store, head, { seq: first.seq - 1, mac: first.prev });
    const { rest, complete } = readLines(path, (line) => reader.push(line) === undefined);
    const { seq, mac } = reader.last;
    const isWhole = complete && rest === "" && reader.end?.() === undefined;
    return isWhole && seq === head.first.seq && mac === head.first.mac;
  } catch {
    // What cannot be read is not known to be ours.
    return false;
  }
};
