import { createHash, createHmac, createSecretKey } from "node:crypto";
import { LlmcError } from "../../base/error.ts";
import { isMissing } from "../../base/system-error.ts";
import type { Sign } from "../../observe/audit/chain.ts";
import { STATE_DIR } from "../../policy/paths.ts";
import { makeOwnFolder, type OwnFolder, openOwnFolder } from "../own-files/own-folder.ts";
import { openSecretKey, openUserState } from "../own-files/secret-key.ts";
import { judged, makeOuterStateFolder, openOuterStateFolder } from "../own-files/state-folder.ts";

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
  const records = within(makeOuterStateFolder(paths.workspace), (at) =>
    judged(() => makeOwnFolder(`${at}/${FOLDER}`), RECORDS),
  );
  try {
    return { ...storeOf(records, makeHeads(paths), key), records };
  } catch (error) {
    records.close();
    throw error;
  }
};

const openRecords = ({ workspace }: AuditPaths): OwnFolder | undefined => {
  try {
    return within(openOuterStateFolder(workspace), (at) =>
      judged(() => openOwnFolder(`${at}/${FOLDER}`), RECORDS),
    );
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
};

/** Why records cannot be kept in a workspace that brings a `.llmc` of its own; undefined where they can. */
export const refusedRecords = (paths: AuditPaths): LlmcError | undefined => {
  try {
    openRecords(paths)?.close();
    return undefined;
  } catch (error) {
    return error instanceof LlmcError ? error : undefined;
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
