import { LlmcError } from "../../../base/error.ts";
import { STATE_DIR } from "../../../policy/paths.ts";
import { UnfitFolder } from "../../own-files/own-folder.ts";
import { diskFailure, isDamaged, isWriteRefused, resultCode } from "./sqlite-failure.ts";

/** Tables that are missing or have other columns are damage too: SQLite calls that a plain error (1). */
export const isDamage = (error: unknown): boolean =>
  isDamaged(error) ||
  (resultCode(error) === 1 && error instanceof Error && /no such (table|column)/.test(error.message));

const NO_WRITING = ["EROFS", "EACCES", "EPERM", "ENOTDIR"];

/** The disk is read-only or not ours to write, or a folder is not fit to hold what we trust later. */
export const isUnwritable = (error: unknown): boolean =>
  isWriteRefused(error) ||
  (error instanceof LlmcError && error.cause instanceof UnfitFolder) ||
  (error instanceof Error && "code" in error && NO_WRITING.includes(String(error.code)));

export const unavailableIndex = (what: string, cause: unknown, retryable = false): LlmcError =>
  new LlmcError("unavailable", `The search index in ${STATE_DIR}/index.db ${what}`, {
    hint: retryable ? "Try again." : `The workspace's ${STATE_DIR} folder must be writable.`,
    retryable,
    cause,
  });

/** In our words, where it is a failure of the disk; undefined otherwise. */
export const explainDiskFailure = (error: unknown): LlmcError | undefined => {
  const what = diskFailure(error);
  return what === undefined ? undefined : unavailableIndex(what, error);
};
