import { LlmcError } from "../base/error.ts";
import { STATE_DIR } from "../policy/paths.ts";

// Result codes of SQLite (sqlite.org/rescode.html).
const BUSY = [5, 6];
const DAMAGED = [11, 26];
const UNWRITABLE = [3, 8, 14];
const FULL = 13;
const IO = 10;

const resultCode = (error: unknown): number =>
  error instanceof Error && "errcode" in error && typeof error.errcode === "number"
    ? error.errcode & 0xff
    : 0;

export const isBusy = (error: unknown): boolean => BUSY.includes(resultCode(error));

/** Tables that are missing or have other columns are damage too: SQLite calls that a plain error (1). */
export const isDamage = (error: unknown): boolean =>
  DAMAGED.includes(resultCode(error)) ||
  (resultCode(error) === 1 && error instanceof Error && /no such (table|column)/.test(error.message));

const NO_WRITING = ["EROFS", "EACCES", "EPERM", "ENOTDIR"];

/** The disk is read-only, or not ours to write. */
export const isUnwritable = (error: unknown): boolean =>
  UNWRITABLE.includes(resultCode(error)) ||
  (error instanceof Error && "code" in error && NO_WRITING.includes(String(error.code)));

export const unavailableIndex = (what: string, cause: unknown, retryable = false): LlmcError =>
  new LlmcError("unavailable", `The search index in ${STATE_DIR}/index.db ${what}`, {
    hint: retryable ? "Try again." : `The workspace's ${STATE_DIR} folder must be writable.`,
    retryable,
    cause,
  });

/** In our words, where it is a failure of the disk; undefined otherwise. */
export const explainDiskFailure = (error: unknown): LlmcError | undefined => {
  const code = resultCode(error);
  if (code === FULL) return unavailableIndex("cannot be written: no space is left on the disk.", error);
  if (code === IO) return unavailableIndex("cannot be read or written: the disk reports an error.", error);
  return UNWRITABLE.includes(code) ? unavailableIndex("cannot be written.", error) : undefined;
};
