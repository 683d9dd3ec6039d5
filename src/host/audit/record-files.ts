import { closeSync, constants, fstatSync, openSync, readdirSync, readSync } from "node:fs";
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

/** How many files there are of other keys, which say nothing about ours. */
export const otherFiles = (store: Pick<AuditStore, "records" | "tag">): number =>
  listed(store).filter(({ tag }) => tag !== store.tag).length;

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

const CHUNK_BYTES = 1024 * 1024;
const LINE_FEED = 10;

export interface ReadLines {
  /** What follows the last line feed, as far as it was read. */
  readonly rest: string;
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
      const text = buffer.toString("utf8", 0, isOversize ? length : whole);
      const lines = isOversize ? [text] : text.split("\n").slice(0, -1);
      for (const line of lines) if (!visit(line, ++number)) return { rest: "", complete: false };
      const used = isOversize ? length : whole;
      buffer.copyWithin(0, used, length);
      kept = length - used;
      if (count === 0) return { rest: buffer.toString("utf8", 0, kept), complete: true };
    }
  } finally {
    closeSync(fd);
  }
};
