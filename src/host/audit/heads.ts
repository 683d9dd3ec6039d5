import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  existsSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { isMissing } from "../../base/system-error.ts";
import { ARCHIVE } from "../../observe/audit/archive.ts";
import { decodeHead, encodeHead, encodeStart, type Head, MAX_HEAD_BYTES } from "../../observe/audit/head.ts";
import type { Owners } from "../os/process-owner.ts";
import type { AuditStore } from "./store.ts";

const HEAD_NAME = /^([0-9a-z-]{1,64})\.head$/;

export const headPath = ({ heads }: Pick<AuditStore, "heads">, chain: string): string =>
  `${heads.at}/${chain}.head`;

/** The chains that have a head, in order. */
export const chainsOf = ({ heads }: Pick<AuditStore, "heads">): readonly string[] =>
  readdirSync(heads.at)
    .flatMap((name) => HEAD_NAME.exec(name)?.[1] ?? [])
    .sort();

const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;
const WRITE = constants.O_WRONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

/** A reader may see half of a write; the next read shows the rest. */
const READ_TRIES = 20;

/** "damaged" if the head is there and was not signed by us. */
export const readHead = (store: AuditStore, chain: string): Head | "damaged" | undefined => {
  let fd: number;
  try {
    fd = openSync(headPath(store, chain), READ);
  } catch (error) {
    if (isMissing(error)) return undefined;
    return "damaged";
  }
  try {
    const buffer = Buffer.alloc(MAX_HEAD_BYTES + 1);
    for (let tries = 0; tries < READ_TRIES; tries++) {
      const length = readSync(fd, buffer, 0, buffer.length, 0);
      const head = decodeHead(store.sign, chain, buffer.toString("utf8", 0, length));
      if (head !== undefined) return head;
    }
    return "damaged";
  } catch {
    return "damaged";
  } finally {
    closeSync(fd);
  }
};

/** Makes the head of a chain that has none yet; it gets its name when it is complete. Returns its descriptor. */
export const createHead = (store: Pick<AuditStore, "heads">, chain: string, text: string): number => {
  const path = headPath(store, chain);
  const temporary = `${path}.${randomBytes(4).toString("hex")}`;
  const fd = openSync(temporary, WRITE | constants.O_CREAT | constants.O_EXCL, 0o600);
  try {
    writeSync(fd, text, 0);
    renameSync(temporary, path);
    return fd;
  } catch (error) {
    closeSync(fd);
    rmSync(temporary, { force: true });
    throw error;
  }
};

/** Writes a head of which no process has a descriptor open. */
const writeHeadOnce = (store: AuditStore, chain: string, text: string): void => {
  if (!existsSync(headPath(store, chain))) {
    closeSync(createHead(store, chain, text));
    return;
  }
  const fd = openSync(headPath(store, chain), WRITE);
  try {
    writeSync(fd, text, 0);
  } finally {
    closeSync(fd);
  }
};

export const saveHead = (store: AuditStore, head: Head): void =>
  writeHeadOnce(store, head.chain, encodeHead(store.sign, encodeStart(head), head));

/** Whether nobody will add to the chain any more. */
export const hasChainEnded = (
  { chain, closed, pid, birth }: Head,
  { isGone }: Pick<Owners, "isGone">,
): boolean => chain !== ARCHIVE && (closed || isGone({ pid, birth }));
