import { isUtf8 } from "node:buffer";
import { closeSync, constants, fstatSync, openSync, readdirSync, readSync } from "node:fs";
import { ARCHIVE } from "../../observe/audit/archive.ts";
import { MAX_RECORD_BYTES } from "../../observe/audit/bounded.ts";
import { readRecord, type SignedRecord } from "../../observe/audit/chain.ts";
import type { AuditStore } from "./store.ts";

/** A chain's records lie in files that are numbered from 1. */
export interface RecordFile {
  readonly name: string;
  readonly chain: string;
  readonly part: number;
}

const FILE_NAME = /^([0-9a-z-]{1,64})\.([0-9a-f]{8})\.(\d{4,9})\.jsonl$/;

/** The tag tells our files from those of another key: a shell and a client can have different state folders. */
export const fileName = ({ tag }: Pick<AuditStore, "tag">, chain: string, part: number): string =>
  `${chain}.${tag}.${String(part).padStart(4, "0")}.jsonl`;

const listed = ({
  records,
}: Pick<AuditStore, "records">): readonly (RecordFile & { readonly tag: string })[] =>
  (records === undefined ? [] : readdirSync(records.at)).flatMap((name) => {
    const [, chain, tag, part] = FILE_NAME.exec(name) ?? [];
    if (chain === undefined || tag === undefined || part === undefined) return [];
    return fileName({ tag }, chain, Number(part)) === name ? [{ name, chain, tag, part: Number(part) }] : [];
  });

/** The files of our records, by chain and number. */
export const recordFiles = (store: Pick<AuditStore, "records" | "tag">): readonly RecordFile[] =>
  listed(store)
    .filter(({ tag }) => tag === store.tag)
    .sort((one, other) => {
      if (one.chain === other.chain) return one.part - other.part;
      return one.chain < other.chain ? -1 : 1;
    });

/** Names that hold our tag and are not those of our files, such as a copy. */
export const strayNames = ({ records, tag }: Pick<AuditStore, "records" | "tag">): readonly string[] => {
  const own = new Set(recordFiles({ records, tag }).map(({ name }) => name));
  return (records === undefined ? [] : readdirSync(records.at)).filter(
    (name) => name.includes(tag) && !own.has(name),
  );
};

/** How many files there are of other keys, which say nothing about ours. */
export const otherFiles = (store: Pick<AuditStore, "records" | "tag">): number =>
  listed(store).filter(({ name }) => !name.includes(store.tag)).length;

/** Not a regular file with one name: nothing that we wrote. */
export class NotOurFile extends Error {}

const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

export const openRecordFile = (path: string, flags = READ): number => {
  const fd = openSync(path, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY, 0o600);
  const stats = fstatSync(fd);
  if (stats.isFile() && stats.nlink === 1) return fd;
  closeSync(fd);
  throw new NotOurFile("it is not a regular file of its own");
};

/** Holds several records. */
const CHUNK_BYTES = 16 * MAX_RECORD_BYTES;
const LINE_FEED = 10;

/** No file of ours has a line of so many characters; a longer one is read in pieces of as many bytes. */
export const MAX_LINE_CHARS = CHUNK_BYTES;

/** Bytes that are not UTF-8 would all be read as one and the same character, and a change of them not be seen. */
const decode = (bytes: Buffer): string => bytes.toString(isUtf8(bytes) ? "utf8" : "latin1");

const linesOf = (bytes: Buffer): readonly string[] => {
  if (isUtf8(bytes)) return bytes.toString("utf8").split("\n").slice(0, -1);
  const lines = bytes.toString("latin1").split("\n").slice(0, -1);
  return lines.map((line) => decode(Buffer.from(line, "latin1")));
};

export interface ReadLines {
  /** What follows the last line feed, as far as it was read. */
  readonly rest: string;
  readonly restBytes: number;
  /** Whether `visit` wanted to see everything. */
  readonly complete: boolean;
}

/**
 * Visits the lines of a file, in bounded memory, until `visit` returns false. A line that does not fit into a mebibyte is
 * given as what was read of it.
 */
export const readLines = (
  path: string,
  visit: (line: string, number: number) => boolean,
  maxBytes = Number.MAX_SAFE_INTEGER,
): ReadLines => {
  const fd = openRecordFile(path);
  try {
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    let [kept, left, number] = [0, maxBytes, 0];
    for (;;) {
      const count = readSync(fd, buffer, kept, Math.min(CHUNK_BYTES - kept, left), null);
      left -= count;
      const length = kept + count;
      const end = buffer.lastIndexOf(LINE_FEED, length - 1) + 1;
      const whole = length === 0 ? 0 : end;
      const isOversize = whole === 0 && length === CHUNK_BYTES;
      const lines = isOversize ? [buffer.toString("latin1")] : linesOf(buffer.subarray(0, whole));
      for (const line of lines)
        if (!visit(line, ++number)) return { rest: "", restBytes: 0, complete: false };
      const used = isOversize ? length : whole;
      buffer.copyWithin(0, used, length);
      kept = length - used;
      if (count === 0) return { rest: decode(buffer.subarray(0, kept)), restBytes: kept, complete: true };
    }
  } finally {
    closeSync(fd);
  }
};

/** The first record of the chain itself in one of its files: "damaged" if something else stands before it. */
export const firstRecord = (
  store: Pick<AuditStore, "records" | "tag" | "sign">,
  chain: string,
  part: number,
): SignedRecord | "damaged" | undefined => {
  let first: SignedRecord | "damaged" | undefined;
  readLines(`${store.records?.at}/${fileName(store, chain, part)}`, (line) => {
    const record = readRecord(store.sign, line);
    // In the archive, the records of a chain come before their seal.
    if (chain === ARCHIVE && record !== undefined && record.chain !== chain) return true;
    first = record?.chain === chain ? record : "damaged";
    return false;
  });
  return first;
};
