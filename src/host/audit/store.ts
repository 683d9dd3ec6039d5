import { createHash, createHmac, createSecretKey, randomBytes } from "node:crypto";
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
import { setTimeout as sleep } from "node:timers/promises";
import { LlmcError } from "../../base/error.ts";
import { isMissing } from "../../base/system-error.ts";
import type { Sign } from "../../observe/audit/chain.ts";
import { decodeHead, type Head, MAX_HEAD_BYTES } from "../../observe/audit/head.ts";
import { STATE_DIR } from "../../policy/paths.ts";
import { makeOwnFolder, type OwnFolder, openOwnFolder } from "../own-files/own-folder.ts";
import { openSecretKey, openUserState } from "../own-files/secret-key.ts";
import { makeOuterStateFolder, openOuterStateFolder } from "../own-files/state-folder.ts";

const FOLDER = "audit";

/** Where the records lie, as messages name it. */
export const RECORDS = `${STATE_DIR}/${FOLDER}`;

/** The two folders of a workspace's audit: its records in the workspace, how far they go in the user's state folder. */
export interface AuditStore {
  /** Undefined if there is none. */
  readonly records: OwnFolder | undefined;
  readonly heads: OwnFolder;
  readonly sign: Sign;
  /** In the names of the files that were signed with this key. */
  readonly tag: string;
  close(): void;
}

export type AuditKey = Pick<AuditStore, "sign" | "tag">;

export interface AuditPaths {
  readonly workspace: string;
  readonly userState: string;
}

/** Each workspace has a key of its own, so that no record of another one fits. */
export const openAuditKey = ({ workspace, userState }: AuditPaths): AuditKey => {
  const own = openSecretKey(userState);
  const key = createSecretKey(own.sign("audit", workspace));
  return {
    sign: (text) => createHmac("sha256", key).update(text).digest("base64url"),
    tag: own.sign("names of audit files", workspace).toString("hex", 0, 4),
  };
};

const within = (outer: OwnFolder, open: (at: string) => OwnFolder): OwnFolder => {
  try {
    return open(outer.at);
  } finally {
    outer.close();
  }
};

const makeHeads = ({ workspace, userState }: AuditPaths): OwnFolder => {
  const name = createHash("sha256").update(workspace).digest("hex").slice(0, 32);
  const all = within(openUserState(userState), (at) => makeOwnFolder(`${at}/${FOLDER}`));
  return within(all, (at) => makeOwnFolder(`${at}/${name}`));
};

const storeOf = (records: OwnFolder | undefined, heads: OwnFolder, key: AuditKey): AuditStore => ({
  records,
  heads,
  ...key,
  close: () => {
    records?.close();
    heads.close();
  },
});

/** For whoever writes records. To be closed after use. */
export const makeAuditStore = (paths: AuditPaths, key: AuditKey): AuditStore & { records: OwnFolder } => {
  const records = within(makeOuterStateFolder(paths.workspace), (at) => makeOwnFolder(`${at}/${FOLDER}`));
  try {
    return { ...storeOf(records, makeHeads(paths), key), records };
  } catch (error) {
    records.close();
    throw error;
  }
};

const openRecords = ({ workspace }: AuditPaths): OwnFolder | undefined => {
  try {
    return within(openOuterStateFolder(workspace), (at) => openOwnFolder(`${at}/${FOLDER}`));
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
};

/** For whoever reads records: makes nothing in the workspace. To be closed after use. */
export const openAuditStore = (paths: AuditPaths): AuditStore => {
  const records = openRecords(paths);
  try {
    return storeOf(records, makeHeads(paths), openAuditKey(paths));
  } catch (error) {
    records?.close();
    throw error;
  }
};

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

/** Makes the head of a chain that has none yet; it gets its name when it is complete. Gives its descriptor. */
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
export const writeHeadOnce = (store: AuditStore, chain: string, text: string): void => {
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

const LOCK_NAME = "lock";
const POLL_MS = 20;

/**
 * Does work while no other process merges or removes chains, after waiting for up to `waitMs`. Undefined: another one was
 * busy with it all the time.
 */
export const withAuditLock = async <T>(
  { heads }: AuditStore,
  waitMs: number,
  work: () => T,
): Promise<{ readonly value: T } | undefined> => {
  // Loads the library of system calls, which records need not wait for.
  const { tryLock } = await import("../os/file-lock.ts");
  const fd = openSync(
    `${heads.at}/${LOCK_NAME}`,
    constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW,
    0o600,
  );
  try {
    const deadline = performance.now() + waitMs;
    while (!tryLock(fd, "exclusive")) {
      if (performance.now() >= deadline) return undefined;
      await sleep(POLL_MS);
    }
    return { value: work() };
  } finally {
    closeSync(fd);
  }
};

/** How long a reader waits for a process that merges chains, in milliseconds. */
const READER_WAIT_MS = 10_000;

/** For whoever reads records. */
export const whileNobodyMerges = async <T>(store: AuditStore, work: () => T): Promise<T> => {
  const done = await withAuditLock(store, READER_WAIT_MS, work);
  if (done !== undefined) return done.value;
  throw new LlmcError("busy", "Another process is reading or merging the audit trail.", {
    hint: "Try again in a moment.",
  });
};
