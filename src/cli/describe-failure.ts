import { toLlmcError } from "../base/error.ts";
import { ERROR_TABLE } from "../base/error-table.ts";

/** What the system says about a file or folder, in words. */
const SYSTEM: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EPERM: "not permitted",
  EROFS: "the file system is read-only",
  EISDIR: "it is a folder",
  ENOTDIR: "a part of the path is not a folder",
  ENOENT: "a part of the path is missing, or is a link that leads to nothing",
  EEXIST: "something else is in its place",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  EMFILE: "too many files are open",
  EIO: "the disk reports an error",
  EBUSY: "it is in use",
  ENOTEMPTY: "the folder is not empty",
  EXDEV: "it lies on another disk",
  ELOOP: "too many symbolic links",
  ENAMETOOLONG: "the name is too long",
};

const WAY_OUT =
  "Nothing was changed there. Make it readable and writable for you, or use --root or --config for another; where a command has --print, it shows what would be written.";

interface Refusal {
  readonly code: string;
  readonly path: string | undefined;
}

/** The system's refusal behind an error, however deep: the person at the terminal may see its path. */
const refusalBehind = (thrown: unknown): Refusal | undefined => {
  for (let at = thrown, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth++) {
    if ("code" in at && typeof at.code === "string" && at.code in SYSTEM)
      return { code: at.code, path: "path" in at && typeof at.path === "string" ? at.path : undefined };
  }
  return undefined;
};

/** How a command ends on its terminal: the text for stderr and the exit code. Only a fault of ours shows its stack. */
export const describeFailure = (thrown: unknown): { readonly text: string; readonly exit: number } => {
  const error = toLlmcError(thrown);
  const refusal = error.code === "internal_error" ? refusalBehind(thrown) : undefined;
  if (refusal !== undefined) {
    const { code } = refusal;
    // A file is written under a name of the moment beside its own.
    const path = refusal.path?.replace(/\/\.([^/]+)\.[0-9a-f]{16}$/, "/$1");
    return {
      text: `llmc: ${path ?? "A file or folder"} cannot be used: ${SYSTEM[code]} (${code}).\n      ${WAY_OUT}\n`,
      exit: ERROR_TABLE.permission_denied.exit,
    };
  }
  const hint = error.hint === undefined ? "" : `\n      ${error.hint}`;
  const stack =
    error.code === "internal_error" && error.cause instanceof Error ? `\n${error.cause.stack ?? ""}` : "";
  return { text: `llmc: ${error.message}${hint}${stack}\n`, exit: ERROR_TABLE[error.code].exit };
};
