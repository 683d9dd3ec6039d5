import { isMissing } from "../../base/system-error.ts";
import { ARCHIVE, createArchiveReader } from "../../observe/audit/archive.ts";
import {
  createChainReader,
  type Link,
  type Problem,
  problem,
  readRecord,
} from "../../observe/audit/chain.ts";
import type { Head } from "../../observe/audit/head.ts";
import { isTornRecord } from "../../observe/audit/torn-record.ts";
import { readHead } from "./heads.ts";
import { fileName, NotOurFile, readLines } from "./record-files.ts";
import type { AuditStore } from "./store.ts";

/** Where a chain is not as it was written. */
export interface AuditProblem {
  readonly file: string;
  /** Counted from 1; null if it is about the file as a whole. */
  readonly line: number | null;
  readonly what:
    | Problem["what"]
    | "missing_file"
    | "unknown_file"
    | "not_a_file"
    | "damaged_head"
    | "not_judged";
  readonly detail: string;
}

export interface CheckedChain {
  /** The first problem; undefined if there is none. */
  readonly problem: AuditProblem | undefined;
  readonly records: number;
  /** So many of them, the first ones, are where the head says: those of the archive that a seal follows. */
  readonly vouched: number;
  readonly files: readonly string[];
  readonly last: Link;
  /** Bytes after the last record that look like the beginning of one, as a killed process leaves it: nothing proves them. */
  readonly tornBytes: number;
}

interface Progress {
  reader: ReturnType<typeof createChainReader> & { end?: () => Problem | undefined };
  found: AuditProblem | undefined;
  records: number;
  vouched: number;
  readonly files: string[];
  /** The last line that was read, of the last file. */
  line: number;
  torn: { readonly piece: string; readonly bytes: number };
  /** The number of the record that was missing where the first problem is. */
  missing: number | undefined;
}

/** A record that is missing at one line and present at a later one was moved. */
const findMoved = (progress: Progress, { sign }: AuditStore, head: Head, line: string): boolean => {
  const record = readRecord(sign, line);
  if (record?.chain !== head.chain || record.seq !== progress.missing || progress.found === undefined)
    return true;
  progress.found = {
    ...progress.found,
    what: "reordered",
    detail: `record ${record.seq} of the chain ${head.chain} should be here, and comes later`,
  };
  return false;
};

const readPart = (store: AuditStore, head: Head, part: number, progress: Progress): boolean => {
  const name = fileName(store, head.chain, part);
  const isTail = head.chain === ARCHIVE && part === head.part;
  let last = 0;
  const visit = (line: string, number: number): boolean => {
    if (progress.found !== undefined) return findMoved(progress, store, head, line);
    const flaw = progress.reader.push(line);
    last = number;
    if (flaw === undefined) {
      progress.records++;
      if (progress.reader.end?.() === undefined) progress.vouched = progress.records;
      return true;
    }
    progress.found = { file: name, line: number, ...flaw };
    progress.missing = progress.reader.last.seq + 1;
    return flaw.what === "removed";
  };
  const { rest, restBytes } = readLines(
    `${store.records?.at}/${name}`,
    visit,
    isTail ? head.bytes : undefined,
  );
  progress.files.push(name);
  progress.line = last;
  if (progress.found === undefined) progress.torn = { piece: rest, bytes: restBytes };
  // After a gap the search goes on for what should have been there.
  return progress.found === undefined ? rest === "" : progress.found.what === "removed";
};

/** What is wrong with a file that could not be read. */
const unreadable = (file: string, error: unknown): AuditProblem => {
  if (isMissing(error)) return { file, line: null, what: "missing_file", detail: "the file was removed" };
  if (error instanceof NotOurFile || (error instanceof Error && "code" in error))
    return { file, line: null, what: "not_a_file", detail: `the file cannot be read: ${error.message}` };
  throw error;
};

/** Whether a chain may lack its last file: it was about to be made. */
const mayLack = ({ part, bytes, last }: Head, at: number): boolean =>
  at > part || last.seq === 0 || (at === part && bytes === 0);

const readParts = (store: AuditStore, head: Head, progress: Progress): void => {
  for (let part = head.firstPart; ; part++) {
    const file = fileName(store, head.chain, part);
    try {
      if (store.records === undefined) throw Object.assign(new Error("no folder"), { code: "ENOENT" });
      if (!readPart(store, head, part, progress)) return;
    } catch (error) {
      const found = unreadable(file, error);
      if (found.what !== "missing_file" || !mayLack(head, part)) progress.found ??= found;
      return;
    }
  }
};

/** How the end of a chain compares with its head, which is at most one record behind, unless its process goes on. */
const judgeEnd = (store: AuditStore, head: Head, progress: Progress): Problem | undefined => {
  const { reader, torn } = progress;
  const { chain } = head;
  const { last } = reader;
  const unsealed = reader.end?.();
  if (unsealed !== undefined) return unsealed;
  if (last.seq < head.last.seq)
    return problem(
      "cut",
      `records ${last.seq + 1} to ${head.last.seq} of the chain ${chain} are missing at its end`,
    );
  if (torn.bytes > 0 && (head.closed || !isTornRecord(store.sign, torn, chain, last)))
    return problem(
      "changed",
      `${torn.bytes} bytes that are not a record, nor the beginning of one, follow the last one`,
    );
  if (last.seq === head.last.seq) return undefined;
  const now = readHead(store, chain);
  const known = now === undefined || now === "damaged" ? head : now;
  const added = last.seq - known.last.seq - (known.closed ? 0 : 1);
  if (added <= 0) return undefined;
  progress.vouched = Math.max(0, progress.vouched - added);
  return problem("foreign", `records after ${known.last.seq} of the chain ${chain} were added`);
};

const lastFile = (store: AuditStore, { chain, part }: Head, { files }: Progress): string =>
  files.at(-1) ?? fileName(store, chain, part);

const judgeWhole = (store: AuditStore, head: Head, progress: Progress): void => {
  if (progress.found !== undefined) return;
  const flaw = judgeEnd(store, head, progress);
  if (flaw !== undefined)
    progress.found = { file: lastFile(store, head, progress), line: progress.line + 1, ...flaw };
};

type Reader = Progress["reader"];

/** Follows the records of a chain that come after a link. */
export const readerOf = ({ sign }: AuditStore, { chain }: Head, from: Link): Reader =>
  chain === ARCHIVE ? createArchiveReader(sign, from) : createChainReader(sign, chain, from);

/** Reads a chain from its beginning to its end, and finds the first place where it is not as it was written. */
export const checkChain = (store: AuditStore, head: Head): CheckedChain => {
  const progress: Progress = {
    reader: readerOf(store, head, head.first),
    found: undefined,
    records: 0,
    vouched: 0,
    files: [],
    line: 0,
    torn: { piece: "", bytes: 0 },
    missing: undefined,
  };
  try {
    readParts(store, head, progress);
    judgeWhole(store, head, progress);
  } catch (error) {
    // Whoever writes to one chain's file must not keep the other chains from being judged.
    const detail = `the chain could not be judged: ${error instanceof Error ? error.message : String(error)}`;
    progress.found ??= { file: lastFile(store, head, progress), line: null, what: "not_judged", detail };
  }
  const { found, records, vouched, torn, files, reader } = progress;
  return { problem: found, records, vouched, files, last: reader.last, tornBytes: torn.bytes };
};
