import { LlmcError, toLlmcError } from "../../base/error.ts";
import { systemErrorCode } from "../../base/system-error.ts";
import { quoteForMessage } from "../../base/text.ts";
import { translate } from "../reach/explain-failure.ts";

/** For something that was replaced or changed a moment ago; another try may succeed. */
export const changedMeanwhile = (requestedPath: string): LlmcError =>
  new LlmcError("busy", `${quoteForMessage(requestedPath)} was changed by somebody else at the same time.`, {
    hint: "Nothing was changed; try again.",
  });

export const shaMismatch = (requestedPath: string, why: string): LlmcError =>
  new LlmcError("sha_mismatch", `${quoteForMessage(requestedPath)} ${why}. Nothing was written.`, {
    hint: "Read it again, and repeat the change on what is there now.",
  });

export const alreadyExists = (requestedPath: string, hint = "Choose another name."): LlmcError =>
  new LlmcError("already_exists", `There is something at ${quoteForMessage(requestedPath)} already.`, {
    hint,
  });

export const isDirectory = (requestedPath: string, hint: string): LlmcError =>
  new LlmcError("is_directory", `${quoteForMessage(requestedPath)} is a directory.`, { hint });

export const notADirectory = (requestedPath: string): LlmcError =>
  new LlmcError(
    "not_a_directory",
    `A part of ${quoteForMessage(requestedPath)} is a file, not a directory.`,
    {
      hint: "List a directory above it to see what is there.",
    },
  );

const refused = (requestedPath: string, why: string, hint: string, cause: unknown): LlmcError =>
  new LlmcError("permission_denied", `${quoteForMessage(requestedPath)} ${why}.`, { hint, cause });

const failed = (requestedPath: string, why: string, cause: unknown): LlmcError =>
  new LlmcError("write_failed", `${quoteForMessage(requestedPath)} could not be written: ${why}.`, { cause });

/** Translates an error of the system, for a change of a path that is known to be inside the roots. */
export const translateWrite = (error: unknown, requestedPath: string): LlmcError => {
  switch (systemErrorCode(error)) {
    case "EACCES":
    case "EPERM":
      return refused(
        requestedPath,
        "cannot be changed: the operating system does not let llmc do it",
        "Its mode or owner, or its directory's, would have to change.",
        error,
      );
    case "EROFS":
      return refused(requestedPath, "is on a read-only disk", "Use another path.", error);
    case "ENOSPC":
    case "EDQUOT":
      return failed(requestedPath, "no space is left on the disk", error);
    case "EFBIG":
      return failed(requestedPath, "it would be larger than the system allows", error);
    case "EIO":
      return failed(requestedPath, "the disk reports an error", error);
    case "EBUSY":
      return failed(requestedPath, "the system holds on to it, as a mount point for instance", error);
    case "EISDIR":
      return isDirectory(requestedPath, "Name a file.");
    case "EEXIST":
      return alreadyExists(requestedPath);
    case "ETXTBSY":
    case "ENOTEMPTY":
    case "ELOOP":
    case "ESTALE":
      return changedMeanwhile(requestedPath);
    case "ENOENT":
    case "ENOTDIR":
    case "ENAMETOOLONG":
      return translate(error, requestedPath);
    default:
      return toLlmcError(error);
  }
};
