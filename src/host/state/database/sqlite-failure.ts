import { LlmcError } from "../../../base/error.ts";
import { systemErrorCode } from "../../../base/system-error.ts";
import { UnsafeFolder } from "../../own-files/own-folder.ts";

// Result codes of SQLite (sqlite.org/rescode.html).
const BUSY = [5, 6];
const DAMAGED = [11, 26];
const CANNOT_OPEN = 14;
const UNWRITABLE = [3, 8, CANNOT_OPEN];
const FULL = 13;
const IO = 10;
const ERROR = 1;

export const resultCode = (error: unknown): number =>
  error instanceof Error && "errcode" in error && typeof error.errcode === "number"
    ? error.errcode & 0xff
    : 0;

export const isBusy = (error: unknown): boolean => BUSY.includes(resultCode(error));
export const isDamaged = (error: unknown): boolean => DAMAGED.includes(resultCode(error));

/** Another process may have been making the database, or moving a bad one aside, in the same moment. */
export const isTransient = (error: unknown): boolean =>
  isBusy(error) ||
  [CANNOT_OPEN, IO].includes(resultCode(error)) ||
  (error instanceof LlmcError && error.code === "unavailable" && error.retryable);

/** SQLite reports tables and columns that are missing as a plain error. */
export const lacksTables = (error: unknown): boolean =>
  resultCode(error) === ERROR && error instanceof Error && /no such (table|column)/.test(error.message);

/** Damage that we found ourselves, reported as SQLite reports it. */
export const damage = (what: string): Error => Object.assign(new Error(what), { errcode: DAMAGED[0] });

const isWriteRefused = (error: unknown): boolean => UNWRITABLE.includes(resultCode(error));

const READ_ONLY = ["EROFS", "EACCES", "EPERM", "ENOTDIR"];

/** The disk is read-only or not ours to write, or the folder is not safe to keep trusted files in. */
export const isUnwritable = (error: unknown): boolean =>
  isWriteRefused(error) ||
  (error instanceof LlmcError && error.cause instanceof UnsafeFolder) ||
  READ_ONLY.includes(systemErrorCode(error) ?? "");

/** A failure of the disk, as the end of a sentence about the file; undefined for any other error. */
export const diskFailure = (error: unknown): string | undefined => {
  const code = resultCode(error);
  if (code === FULL) return "cannot be written: no space is left on the disk.";
  if (code === IO) return "cannot be read or written: the disk reports an error.";
  return isWriteRefused(error) ? "cannot be written." : undefined;
};
