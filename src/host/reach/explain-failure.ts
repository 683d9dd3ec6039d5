import { opendir, readlink } from "node:fs/promises";
import { posix } from "node:path";
import { LlmcError, toLlmcError } from "../../base/error.ts";
import { systemErrorCode } from "../../base/system-error.ts";
import { nearest, quoteForMessage } from "../../base/text.ts";
import { pathDenied } from "../../policy/paths.ts";
import type { Locate, Located } from "../reach/located.ts";
import type { Reach } from "../reach/reach.ts";

/** Translates an error of the system, for a path that is known to be inside the roots. */
export const translate = (error: unknown, requestedPath: string, hint?: string): LlmcError => {
  const quoted = quoteForMessage(requestedPath);
  const nextStep = hint ?? "List a directory above it to see what is there.";
  switch (systemErrorCode(error)) {
    case "ENOENT":
      return new LlmcError("file_not_found", `There is nothing at ${quoted}.`, {
        hint: nextStep,
        cause: error,
      });
    case "ELOOP":
      return new LlmcError("file_not_found", `The links at ${quoted} lead in a circle.`, { cause: error });
    case "ENOTDIR":
      return new LlmcError("not_a_directory", `A part of ${quoted} is a file, not a directory.`, {
        hint: nextStep,
        cause: error,
      });
    case "EACCES":
    case "EPERM":
      return new LlmcError("permission_denied", `The operating system does not let llmc read ${quoted}.`, {
        hint: "Its mode or owner would have to change.",
        cause: error,
      });
    case "EAGAIN":
      // Only a lease makes opening without waiting fail like this.
      return new LlmcError("busy", `Another program holds ${quoted} under a lease.`, {
        hint: "Try again in a moment: the system takes a lease away after 45 seconds.",
        cause: error,
      });
    case "ENAMETOOLONG":
      return new LlmcError("path_denied", `${quoted} is too long for this disk.`, { cause: error });
    default:
      return toLlmcError(error);
  }
};

// The kernel gives up after as many links.
const MAX_LINKS = 40;

// Failures that tell something about what is, or is not, at the far end of the links in a path.
const isTelling = (error: unknown): boolean =>
  ["ENOENT", "ENOTDIR", "EACCES", "ELOOP", "ENAMETOOLONG"].includes(String(systemErrorCode(error)));

const nearestAncestor = async (
  path: string,
  locate: Locate,
): Promise<{ dir: Located; missing: string[] }> => {
  const dir = posix.dirname(path);
  try {
    return { dir: await locate(dir, () => {}), missing: [posix.basename(path)] };
  } catch (error) {
    if (dir === "/" || !isTelling(error)) throw error;
    const found = await nearestAncestor(dir, locate);
    return { dir: found.dir, missing: [...found.missing, posix.basename(path)] };
  }
};

// Larger directories are not read just for a hint.
const MAX_SIBLINGS = 1000;

const siblingsOf = async (dir: Located): Promise<string[]> => {
  const names: string[] = [];
  for await (const entry of await opendir(dir.at, { bufferSize: MAX_SIBLINGS })) {
    names.push(entry.name);
    if (names.length === MAX_SIBLINGS) break;
  }
  return names;
};

/** Letters that two names may differ in: those of an extension that both have say nothing. */
const isNear = (name: string, other: string): boolean => {
  const extension = posix.extname(name);
  const isShared = extension !== "" && posix.extname(other).toLowerCase() === extension.toLowerCase();
  const [stem, otherStem] = isShared
    ? [name.slice(0, -extension.length), other.slice(0, -extension.length)]
    : [name, other];
  if (Math.abs(otherStem.length - stem.length) > Math.max(2, Math.ceil(stem.length / 3))) return false;
  return nearest(stem, [otherStem]) !== undefined;
};

/** A similar name in the same directory that the caller probably meant and may access. */
const suggest = async (dir: Located, name: string, reach: Reach): Promise<string | undefined> => {
  const { rules, locate, refuseRead } = reach;
  // All names of one or two letters are similar to each other.
  if (name.length < 3 || refuseRead(dir.realPath, "name") !== undefined) return undefined;
  const judge = (realPath: string): void => {
    const refusal = refuseRead(realPath, "content");
    if (refusal !== undefined) throw pathDenied(name, refusal, rules);
  };
  try {
    const names = await siblingsOf(dir);
    const best = nearest(
      name,
      names.filter((other) => isNear(name, other)),
    );
    if (best === undefined) return undefined;
    const found = await locate(posix.join(dir.at, best), judge);
    found.close();
    return found.stats.isFile() || found.stats.isDirectory() ? best : undefined;
  } catch {
    return undefined;
  }
};

/** The folder of a path, or of the folder above it, as the caller wrote it; empty where that is not known. */
const writtenFolder = (path: string, requestedPath: string, namesBelow: number): string => {
  let written = posix.join(requestedPath, ".").replace(/\/$/, "");
  // What is to be made is looked for by its folder.
  if (!path.endsWith(written)) written = posix.dirname(written);
  if (!posix.join("/", path).endsWith(posix.join("/", written))) return "";
  for (let i = 0; i <= namesBelow; i++) written = posix.dirname(written);
  return written;
};

const hintFor = async (
  dir: Located,
  missing: readonly string[],
  path: string,
  requestedPath: string,
  reach: Reach,
): Promise<string | undefined> => {
  const [name = "", ...below] = missing;
  const found = await suggest(dir, name, reach);
  if (found === undefined) return undefined;
  const folder = writtenFolder(path, requestedPath, below.length);
  const [asked, meant] = [name, found].map((one) => quoteForMessage(posix.join(folder, one)));
  return below.length === 0 ? `Did you mean ${meant}?` : `${asked} is not there; did you mean ${meant}?`;
};

const explainAt = async (
  path: string,
  links: number,
  error: unknown,
  requestedPath: string,
  reach: Reach,
): Promise<LlmcError> => {
  const { rules, locate, refuseRead, refuseWritten } = reach;
  const { dir, missing } = await nearestAncestor(path, locate);
  try {
    const refusal = refuseRead(posix.join(dir.realPath, ...missing), "name");
    if (refusal !== undefined) return pathDenied(requestedPath, refusal, rules);
    const [first = "", ...below] = missing;
    const link = dir.stats.isDirectory()
      ? await readlink(posix.join(dir.at, first)).catch(() => undefined)
      : undefined;
    if (link !== undefined && links < MAX_LINKS) {
      const target = posix.resolve(dir.realPath, link, ...below);
      const leads = refuseWritten(target);
      if (leads !== undefined) return pathDenied(requestedPath, leads, rules);
      return await explainAt(target, links + 1, error, requestedPath, reach);
    }
    const isOwnName = links === 0 && systemErrorCode(error) === "ENOENT";
    return translate(
      error,
      requestedPath,
      isOwnName ? await hintFor(dir, missing, path, requestedPath, reach) : undefined,
    );
  } finally {
    dir.close();
  }
};

/**
 * Why nothing could be opened at a path. Whether something exists outside the roots must not show, so a path that leads
 * out through a link is denied like any other there, missing or not.
 */
export const explainFailure = async (
  error: unknown,
  requestedPath: string,
  path: string,
  reach: Reach,
): Promise<LlmcError> => {
  if (error instanceof LlmcError || !isTelling(error)) return translate(error, requestedPath);
  try {
    return await explainAt(path, 0, error, requestedPath, reach);
  } catch (second) {
    return translate(second, requestedPath);
  }
};
