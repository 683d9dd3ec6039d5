import { isUtf8 } from "node:buffer";
import { type Dirent, lstatSync, readdirSync, realpathSync, type Stats } from "node:fs";
import { LlmcError } from "../../base/error.ts";
import { isMissing, systemErrorCode } from "../../base/system-error.ts";
import { quoteForMessage } from "../../base/text.ts";
import { readOwnFile } from "../own-files/read-own-file.ts";

/**
 * How everything is read that git obeys, and what leads there. There are two outcomes: what is at a path, or that certainly
 * nothing is. Nothing there means that nothing is obeyed, so that commands and tools may write elsewhere; therefore whatever
 * else happens (a closed folder, a file under a lease, no descriptors left) throws: a repository that cannot be looked at may
 * obey anything.
 */
export const MISSING = Symbol("certainly nothing there");
export type Missing = typeof MISSING;

/** What git would obey cannot be known, so nothing may change that it might be. */
export const unfollowable = (path: string): LlmcError =>
  new LlmcError(
    "forbidden",
    `Nothing is changed here: ${quoteForMessage(path)} is obeyed by git or another program of the user, and leads where it cannot be followed.`,
    {
      hint: "The user can remove that link or setting, or the operator can take its folder out of mcp.tools.allowed_roots.",
    },
  );

/** The same for what is there, and cannot be read. */
export const unreadable = (path: string, why: string, cause?: unknown): LlmcError =>
  new LlmcError(
    "forbidden",
    `Nothing is run or changed here: ${quoteForMessage(path)} is obeyed by git or another program of the user, and cannot be followed, because it cannot be read (${why}).`,
    {
      hint: "Try again when no other program holds it. If that does not help, the user has to make it readable, or the operator can take its folder out of mcp.tools.allowed_roots.",
      cause,
    },
  );

const MAX_NAME_BYTES = 255;

/** No file has a longer name; a path that is too long, on the other hand, may lead to one. */
const hasImpossibleName = (path: string): boolean =>
  path.split("/").some((name) => Buffer.byteLength(name) > MAX_NAME_BYTES);

/** Whether an error of the system says that there is certainly nothing at a path. */
export const isNothing = (error: unknown, path: string): boolean =>
  isMissing(error) || (systemErrorCode(error) === "ENAMETOOLONG" && hasImpossibleName(path));

const outcome = <T>(path: string, ask: (path: string) => T): T | Missing => {
  // Half a surrogate pair stands for a byte that is not UTF-8; the system would be asked for another name.
  if (!path.isWellFormed()) throw unreadable(path, "its name is not UTF-8");
  try {
    return ask(path);
  } catch (error) {
    if (isNothing(error, path)) return MISSING;
    throw unreadable(path, systemErrorCode(error) ?? "it has no valid name", error);
  }
};

/** The kernel leads nobody through links that lead in a circle. A file is opened without following: there, it says a link. */
const unlessCircle = <T>(follow: () => T): T | Missing => {
  try {
    return follow();
  } catch (error) {
    if (systemErrorCode(error) === "ELOOP") return MISSING;
    throw error;
  }
};

/** What is at a path itself; a link is not followed. */
export const obeyedEntry = (path: string): Stats | Missing =>
  outcome(path, () => unlessCircle(() => lstatSync(path, { throwIfNoEntry: false })) ?? MISSING);

export const isThere = (path: string): boolean => obeyedEntry(path) !== MISSING;

export const obeyedRealPath = (path: string): string | Missing =>
  outcome(path, () => unlessCircle(() => realpathSync.native(path)));

/** The content of a regular file of at most `maxBytes`; anything else that is there cannot be read. Never blocks. */
export const readObeyed = (path: string, maxBytes: number): Buffer | Missing =>
  outcome(path, () => readOwnFile(path, { maxBytes }));

/** The same for text; decoded, bytes that are not UTF-8 would name something else than git reads. */
export const readObeyedText = (path: string, maxBytes: number): string | Missing => {
  const bytes = readObeyed(path, maxBytes);
  if (bytes === MISSING) return MISSING;
  if (!isUtf8(bytes)) throw unreadable(path, "it is not UTF-8");
  return bytes.toString();
};

/** The entries of a folder; a file there has none. */
export const listObeyed = (folder: string): readonly Dirent[] => {
  const entries = outcome(folder, () => readdirSync(folder, { withFileTypes: true }));
  return entries === MISSING ? [] : entries;
};
