import { LlmcError, toLlmcError } from "../../base/error.ts";
import { systemErrorCode } from "../../base/system-error.ts";
import { quoteForMessage } from "../../base/text.ts";
import { translate } from "../reach/explain-failure.ts";

/** For what was there a moment ago and is not what it was: worth another try. */
export const changedMeanwhile = (words: string): LlmcError =>
  new LlmcError("busy", `${quoteForMessage(words)} was changed by somebody else at the same time.`, {
    hint: "Nothing was changed; try again.",
  });

export const shaMismatch = (words: string, why: string): LlmcError =>
  new LlmcError("sha_mismatch", `${quoteForMessage(words)} ${why}. Nothing was written.`, {
    hint: "Read it again, and repeat the change on what is there now.",
  });

export const alreadyExists = (words: string, hint = "Choose another name."): LlmcError =>
  new LlmcError("already_exists", `There is something at ${quoteForMessage(words)} already.`, { hint });

export const isDirectory = (words: string, hint: string): LlmcError =>
  new LlmcError("is_directory", `${quoteForMessage(words)} is a directory.`, { hint });

export const notADirectory = (words: string): LlmcError =>
  new LlmcError("not_a_directory", `A part of ${quoteForMessage(words)} is a file, not a directory.`, {
    hint: "List the directory to see what is there.",
  });

const refused = (words: string, why: string, hint: string, cause: unknown): LlmcError =>
  new LlmcError("permission_denied", `${quoteForMessage(words)} ${why}.`, { hint, cause });

const failed = (words: string, why: string, cause: unknown): LlmcError =>
  new LlmcError("write_failed", `${quoteForMessage(words)} could not be written: ${why}.`, { cause });

/** The system's error in our words, for a change of a path that is known to be inside. */
export const translateWrite = (error: unknown, words: string): LlmcError => {
  switch (systemErrorCode(error)) {
    case "EACCES":
    case "EPERM":
      return refused(
        words,
        "cannot be changed: the operating system does not let llmc do it",
        "Its mode or owner, or its directory's, would have to change.",
        error,
      );
    case "EROFS":
      return refused(words, "is on a read-only disk", "Use another place.", error);
    case "ENOSPC":
    case "EDQUOT":
      return failed(words, "no space is left on the disk", error);
    case "EFBIG":
      return failed(words, "it would be larger than the system allows", error);
    case "EIO":
      return failed(words, "the disk reports an error", error);
    case "EBUSY":
      return failed(words, "the system holds on to it, as a mount point for instance", error);
    case "EISDIR":
      return isDirectory(words, "Name a file.");
    case "EEXIST":
      return alreadyExists(words);
    case "ETXTBSY":
    case "ENOTEMPTY":
    case "ELOOP":
    case "ESTALE":
      return changedMeanwhile(words);
    case "ENOENT":
    case "ENOTDIR":
    case "ENAMETOOLONG":
      return translate(error, words);
    default:
      return toLlmcError(error);
  }
};
