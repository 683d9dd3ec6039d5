import { createHash } from "node:crypto";
import { join } from "node:path";
import { isRecord } from "../base/is-record.ts";
import { trustFolder } from "./user-folders.ts";

/** Where trust records lie; the wiring reaches the disk for it. */
export interface TrustFiles {
  /** The text of a record; undefined where there is none. Throws for anything but a small regular file of the user. */
  readRecord(path: string): Promise<string | undefined>;
}

/** What the operator granted to a workspace. */
export interface TrustRecord {
  readonly version: 1;
  /** Real path, for people and for `--list`. */
  readonly workspace: string;
  /** By key: the entries of a list that were granted, or the value. */
  readonly values: Readonly<Record<string, boolean | number | string | readonly string[]>>;
  /** By key: SHA-256 of each file that the key makes us execute or obey, by its path in the folder. */
  readonly digests: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

const isGrant = (value: unknown): boolean =>
  ["boolean", "number", "string"].includes(typeof value) ||
  (Array.isArray(value) && value.every((item) => typeof item === "string"));

const isDigests = (value: unknown): boolean =>
  isRecord(value) &&
  Object.values(value).every((digest) => typeof digest === "string" && /^[0-9a-f]{64}$/.test(digest));

const isTrustRecord = (value: unknown): value is TrustRecord =>
  isRecord(value) &&
  Object.keys(value).toSorted().join() === "digests,values,version,workspace" &&
  value["version"] === 1 &&
  typeof value["workspace"] === "string" &&
  isRecord(value["values"]) &&
  Object.values(value["values"]).every(isGrant) &&
  isRecord(value["digests"]) &&
  Object.values(value["digests"]).every(isDigests);

export const trustFile = (stateFolder: string, workspace: string): string =>
  join(trustFolder(stateFolder), `${createHash("sha256").update(workspace).digest("hex")}.json`);

export const parseTrustRecord = (text: string): TrustRecord | undefined => {
  try {
    const value: unknown = JSON.parse(text);
    return isTrustRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
};

export interface ReadTrust {
  readonly record: TrustRecord | undefined;
  readonly problem?: string;
}

/** A record that cannot be read, or is another workspace's, grants nothing, and is reported. */
export const readTrust = async (
  files: TrustFiles,
  stateFolder: string,
  workspace: string,
): Promise<ReadTrust> => {
  const path = trustFile(stateFolder, workspace);
  const bad = (why: string): ReadTrust => ({
    record: undefined,
    problem: `the trust record ${path} ${why}: it grants nothing (llmc trust writes a new one)`,
  });
  let text: string | undefined;
  try {
    text = await files.readRecord(path);
  } catch {
    return bad("cannot be read");
  }
  if (text === undefined) return { record: undefined };
  const record = parseTrustRecord(text);
  if (record === undefined) return bad("is malformed");
  return record.workspace === workspace ? { record } : bad("is another workspace's");
};
