import { randomBytes } from "node:crypto";
import { closeSync, constants, fstatSync, ftruncateSync, rmSync, writeSync } from "node:fs";
import { systemErrorCode } from "../../base/system-error.ts";
import { encodeRecord, GENESIS, type Link, type Sign } from "../../observe/audit/chain.ts";
import { encodeHead, encodeStart, type Head } from "../../observe/audit/head.ts";
import type { Owner } from "../os/process-owner.ts";
import { createHead, headPath } from "./heads.ts";
import { fileName, openRecordFile } from "./record-files.ts";
import type { AuditStore } from "./store.ts";

type WritableStore = AuditStore & { readonly records: NonNullable<AuditStore["records"]> };

/** The chain that this process writes. */
interface ChainState {
  readonly sign: Sign;
  readonly headFd: number;
  fd: number;
  head: Head;
  /** When the file in use was begun, in milliseconds. */
  fileSince: number;
  /** The part of the head that stays. */
  headStart: string;
  /** The last record is written and its head is not. */
  headIsDue: boolean;
  /** A write failed half-way, and what it left is still there. */
  isTorn: boolean;
}

const NEW_FILE = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_EXCL;

/** Sorts by time; the random part tells processes of one moment apart. */
const newChainId = (now: Date, pid: number): string =>
  `${now.toISOString().replaceAll(/[-:.]/g, "").toLowerCase()}-${pid}-${randomBytes(4).toString("hex")}`;

const writeHead = (state: ChainState): void => {
  writeSync(state.headFd, encodeHead(state.sign, state.headStart, state.head), 0);
  state.headIsDue = false;
};

/** Opens a new chain. The head comes first: from then on the chain is known, and so would be its loss. */
export const openChain = (store: WritableStore, owner: Owner, now: Date): ChainState => {
  const chain = newChainId(now, owner.pid);
  const head: Head = {
    chain,
    ...owner,
    firstPart: 1,
    first: GENESIS,
    closed: false,
    sealed: "",
    part: 1,
    bytes: 0,
    last: GENESIS,
  };
  const headStart = encodeStart(head);
  const headFd = createHead(store, chain, encodeHead(store.sign, headStart, head));
  try {
    const fd = openRecordFile(`${store.records.at}/${fileName(store, chain, 1)}`, NEW_FILE);
    return {
      sign: store.sign,
      headFd,
      fd,
      head,
      fileSince: now.getTime(),
      headStart,
      headIsDue: false,
      isTorn: false,
    };
  } catch (error) {
    closeSync(headFd);
    rmSync(headPath(store, chain), { force: true });
    throw error;
  }
};

const shortWrite = (): Error =>
  Object.assign(new Error("the disk took a part of the record only"), { code: "ENOSPC" });

/** Appends whole or not at all: what the disk may not have is taken back, since the head will not speak of it. */
const appendBytes = (state: ChainState, bytes: Buffer, sync: AppendOptions["sync"]): void => {
  const { fd, head } = state;
  state.isTorn = true;
  try {
    if (writeSync(fd, bytes) !== bytes.length) throw shortWrite();
    sync?.(fd);
  } catch (error) {
    ftruncateSync(fd, head.bytes);
    state.isTorn = false;
    throw error;
  }
  state.isTorn = false;
};

/** Goes on in the next file. */
const rotate = (state: ChainState, openStore: () => WritableStore): void => {
  const { chain, part } = state.head;
  const store = openStore();
  try {
    const path = `${store.records.at}/${fileName(store, chain, part + 1)}`;
    const next = openNext(path);
    closeSync(state.fd);
    state.fd = next;
    state.head = { ...state.head, part: part + 1, bytes: 0 };
  } finally {
    store.close();
  }
};

/** A rotation whose first record failed has left an empty file. */
const openNext = (path: string): number => {
  try {
    return openRecordFile(path, NEW_FILE);
  } catch (error) {
    if (systemErrorCode(error) !== "EEXIST") throw error;
    const fd = openRecordFile(path, constants.O_WRONLY | constants.O_APPEND);
    if (fstatSync(fd).size === 0) return fd;
    closeSync(fd);
    throw error;
  }
};

/** Retention removes whole files, so none of them collects records for longer than this. */
export const MAX_FILE_MS = 30 * 86_400_000;

export interface AppendOptions {
  readonly now: Date;
  readonly maxFileBytes: number;
  /** Waits until the disk has what was written to a descriptor; undefined where nobody waits for that. */
  readonly sync: ((fd: number) => void) | undefined;
  readonly openStore: () => WritableStore;
}

/** Adds a record: first the record, then the head. Returns whether it began a new file. */
export const appendRecord = (
  state: ChainState,
  fields: string,
  { now, maxFileBytes, sync, openStore }: AppendOptions,
): boolean => {
  if (state.headIsDue) writeHead(state);
  // Cutting off what a failed write left was not possible then, perhaps it is now.
  if (state.isTorn) ftruncateSync(state.fd, state.head.bytes);
  const { line, link } = encodeRecord(state.sign, state.head.chain, state.head.last, fields);
  const bytes = Buffer.from(`${line}\n`);
  const isFull =
    state.head.bytes > 0 &&
    (state.head.bytes + bytes.length > maxFileBytes || now.getTime() - state.fileSince > MAX_FILE_MS);
  if (isFull) {
    rotate(state, openStore);
    state.fileSince = now.getTime();
  }
  appendBytes(state, bytes, sync);
  state.head = { ...state.head, bytes: state.head.bytes + bytes.length, last: link };
  state.headIsDue = true;
  writeHead(state);
  sync?.(state.headFd);
  return isFull;
};

/** Whether the file that records go to still has its name. */
export const isChainThere = ({ fd, headFd }: ChainState): boolean =>
  fstatSync(fd).nlink === 1 && fstatSync(headFd).nlink === 1;

/** Notes that retention is about to remove the files before `firstPart`. */
export const moveChainStart = (state: ChainState, firstPart: number, first: Link): void => {
  state.head = { ...state.head, firstPart, first };
  state.headStart = encodeStart(state.head);
  writeHead(state);
};

/** Ends the chain; `closed` says in its head that nothing comes after. */
export const closeChain = (state: ChainState, closed: boolean): void => {
  try {
    if (closed) {
      state.head = { ...state.head, closed: true };
      writeHead(state);
    }
  } finally {
    closeSync(state.fd);
    closeSync(state.headFd);
  }
};

export type { ChainState, WritableStore };
