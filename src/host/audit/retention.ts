import { closeSync, existsSync, fstatSync, readSync, rmSync, statSync } from "node:fs";
import { isRecord } from "../../base/is-record.ts";
import { ARCHIVE } from "../../observe/audit/archive.ts";
import { MAX_RECORD_BYTES } from "../../observe/audit/bounded.ts";
import { type Link, readRecord } from "../../observe/audit/chain.ts";
import type { Head } from "../../observe/audit/head.ts";
import type { Owners } from "../os/process-owner.ts";
import type { LockedStore } from "./audit-lock.ts";
import { chainsOf, hasChainEnded, headPath, readHead, saveHead } from "./heads.ts";
import { fileName, firstRecord, openRecordFile, recordFiles } from "./record-files.ts";
import { isBeingRemoved } from "./removed-file.ts";
import type { AuditStore } from "./store.ts";

export interface RetentionLimits {
  /** Records older than this are removed, file by file; undefined keeps all. */
  readonly before: Date | undefined;
  /** Of all files together; 0 is unlimited. */
  readonly maxTotalBytes: number;
}

/** A file whose records may go: the oldest of its chain. */
interface Candidate {
  readonly head: Head;
  readonly part: number;
  readonly bytes: number;
  /** The last record in it. */
  readonly last: Link;
  readonly time: string;
  /**
   * Perhaps a process still writes it: one of another container cannot be seen. If it comes back after so long a time, it
   * finds its file removed and begins a new chain.
   */
  readonly onlyByAge: boolean;
}

export interface Removal {
  readonly file: string;
  /** The chain that the file belongs to. */
  readonly of: string;
  readonly from_seq: number;
  readonly to_seq: number;
  readonly until: string;
  readonly bytes: number;
  readonly reason: "age" | "size";
}

const readEnd = (path: string): { readonly text: string; readonly size: number } => {
  const fd = openRecordFile(path);
  try {
    const { size } = fstatSync(fd);
    const buffer = Buffer.alloc(Math.min(MAX_RECORD_BYTES, size));
    const length = readSync(fd, buffer, 0, buffer.length, size - buffer.length);
    return { text: buffer.toString("utf8", 0, length), size };
  } finally {
    closeSync(fd);
  }
};

/** The last signed record of a file that belongs to the chain itself, with its time. */
const lastRecord = (store: AuditStore, head: Head, path: string) => {
  const { text, size } = readEnd(path);
  const line = text.trimEnd().split("\n").at(-1) ?? "";
  const record = readRecord(store.sign, line);
  if (record?.chain !== head.chain) return undefined;
  const value: unknown = JSON.parse(line);
  const time = isRecord(value) ? value["time"] : undefined;
  return typeof time === "string" ? { last: record, time, size } : undefined;
};

/** The signature that the next file continues from, or that the head has where there is none. */
const successor = (store: AuditStore, head: Head, part: number): string | undefined => {
  if (part === head.part) return head.last.mac;
  const first = firstRecord(store, head.chain, part + 1);
  // A file that was just begun holds nothing of the chain itself yet.
  if (first === undefined) return part + 1 === head.part ? head.last.mac : undefined;
  return first === "damaged" ? undefined : first.prev;
};

/**
 * The first file of a chain, if it may go. Its time is that of a signed record which the next file, or the head, names as
 * its predecessor: times of the file system could be set by anybody, and so make retention destroy evidence.
 */
const candidateOf = (store: AuditStore, head: Head, isEnded: boolean): Candidate | undefined => {
  const part = head.firstPart;
  if (part > head.part) return undefined;
  try {
    const found = lastRecord(store, head, `${store.records?.at}/${fileName(store, head.chain, part)}`);
    if (found === undefined || found.last.mac !== successor(store, head, part)) return undefined;
    const onlyByAge = part === head.part && !isEnded;
    return { head, part, bytes: found.size, last: found.last, time: found.time, onlyByAge };
  } catch {
    // Removed or not ours: `verify` says so.
    return undefined;
  }
};

interface RetentionParts {
  readonly store: LockedStore;
  readonly owners: Pick<Owners, "isGone">;
  readonly limits: RetentionLimits;
  /** The head of the chain that this process writes. */
  readonly own: () => Head;
  /** Records what is about to be removed. */
  readonly onRemoval: (removal: Removal) => void;
  readonly moveOwnStart: (firstPart: number, first: Link) => void;
}

const knownHeads = ({ store, own }: Pick<RetentionParts, "store" | "own">): readonly Head[] =>
  chainsOf(store).flatMap((chain) => {
    const head = chain === own().chain ? own() : readHead(store, chain);
    return head === undefined || head === "damaged" ? [] : [head];
  });

const candidates = ({ store, owners, own }: RetentionParts, heads: readonly Head[]): readonly Candidate[] =>
  heads.flatMap((head) => {
    const { chain } = head;
    const isOwn = chain === own().chain;
    // Only its own process writes the head of a chain that is alive, and nobody removes what the archive goes on with.
    if ((isOwn || chain === ARCHIVE) && head.firstPart === head.part) return [];
    return candidateOf(store, head, hasChainEnded(head, owners)) ?? [];
  });

const removeFirst = (
  { store, own, onRemoval, moveOwnStart }: RetentionParts,
  { head, part, bytes, last, time }: Candidate,
  reason: Removal["reason"],
): void => {
  const file = fileName(store, head.chain, part);
  onRemoval({
    file,
    of: head.chain,
    from_seq: head.first.seq + 1,
    to_seq: last.seq,
    until: time,
    bytes,
    reason,
  });
  const first = { seq: last.seq, mac: last.mac };
  // First the note, then the removal: what is left when that is interrupted is known to be removed.
  if (head.chain === own().chain) moveOwnStart(part + 1, first);
  else saveHead(store, { ...head, firstPart: part + 1, first });
  rmSync(`${store.records?.at}/${file}`, { force: true });
  if (part === head.part) rmSync(headPath(store, head.chain), { force: true });
};

const BLOCK_BYTES = 512;

/** Of the files that heads name, and without holes: what somebody else adds must not make retention destroy evidence. */
const totalBytes = (store: AuditStore, heads: readonly Head[]): number => {
  const known = new Map(heads.map((head) => [head.chain, head]));
  return recordFiles(store).reduce((sum, { name, chain, part }) => {
    const head = known.get(chain);
    if (head === undefined || part < head.firstPart || part > head.part) return sum;
    const stats = statSync(`${store.records?.at}/${name}`, { throwIfNoEntry: false });
    const stored = Math.min(stats?.size ?? 0, (stats?.blocks ?? 0) * BLOCK_BYTES);
    return sum + (part === head.part ? Math.min(stored, head.bytes) : stored);
  }, 0);
};

/** Ends removals that were interrupted. */
const removeLeftovers = ({ store, own }: RetentionParts): void => {
  for (const head of knownHeads({ store, own })) {
    const file = `${store.records?.at}/${fileName(store, head.chain, head.firstPart - 1)}`;
    const isLeft = existsSync(file);
    if (isLeft && !isBeingRemoved(store, head, head.firstPart - 1)) continue;
    if (isLeft) rmSync(file);
    if (head.firstPart > head.part) rmSync(headPath(store, head.chain), { force: true });
  }
};

/** Removes the oldest files, within the limits. Returns how many there were. */
export const applyRetention = (parts: RetentionParts): number => {
  const { store, limits } = parts;
  const before = limits.before?.toISOString() ?? "";
  removeLeftovers(parts);
  for (let removed = 0; ; removed++) {
    const heads = knownHeads(parts);
    const [oldest] = candidates(parts, heads)
      .filter(({ onlyByAge, time }) => !onlyByAge || time < before)
      .toSorted((one, other) => (one.time < other.time ? -1 : 1));
    if (oldest === undefined) return removed;
    const isOld = oldest.time < before;
    if (!isOld && (limits.maxTotalBytes === 0 || totalBytes(store, heads) <= limits.maxTotalBytes))
      return removed;
    removeFirst(parts, oldest, isOld ? "age" : "size");
  }
};
