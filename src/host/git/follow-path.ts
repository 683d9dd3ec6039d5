import { lstatSync, readlinkSync, type Stats } from "node:fs";
import { posix } from "node:path";
import { isMissing, systemErrorCode } from "../../base/system-error.ts";
import { isNothing, MISSING, type Missing, obeyedEntry, unfollowable } from "./obeyed-files.ts";

const MAX_LINKS = 40;
/** Longer than any path that a system call takes. */
const MAX_TARGET_CHARS = 4096;

/** Longer than any name of a file. */
const MAX_NAME_CHARS = 255;

/** What is at a path itself, whoever asked for it; "closed" where that cannot be known. */
export const entryAt = (path: string): Stats | Missing | "closed" => {
  // A system call that fails takes ten times as long, and arguments are mostly no paths.
  if (path.length - path.lastIndexOf("/") > MAX_NAME_CHARS + 1) return MISSING;
  if (path.length > MAX_TARGET_CHARS) return "closed";
  try {
    return lstatSync(path, { throwIfNoEntry: false }) ?? MISSING;
  } catch (error) {
    return isNothing(error, path) ? MISSING : "closed";
  }
};

/** Such a path means something else to every process; those in `/dev` that do are links to here. */
const OF_THE_PROCESS = /^\/proc\//;

/** A name and then `..`: whoever puts a link in the place of what has that name decides where it leads. */
const CLIMBS_BACK = /(?:^|\/)(?!\.{0,2}(?:\/|$))[^/]+\/(?:\.?\/)*\.\.(?:\/|$)/;

/** A written path from a folder, left as it is: the kernel takes `..` after a link for where the link leads. */
export const joinPath = (folder: string, written: string): string =>
  posix.isAbsolute(written) ? written : `${folder}/${written}`;

/** A path as it is written somewhere, from a folder as the kernel sees it: after a link, `..` is where the link leads. */
export const pathFrom = (folder: string, written: string): string => {
  if (CLIMBS_BACK.test(written)) throw unfollowable(written);
  return joinPath(folder, written);
};

/** Where a link leads; undefined if something else is in its place by now. */
const targetOfLink = (path: string): string | undefined => {
  try {
    return readlinkSync(path);
  } catch (error) {
    if (isMissing(error) || systemErrorCode(error) === "EINVAL") return undefined;
    throw error;
  }
};

interface Followed {
  readonly target: string;
  readonly exists: boolean;
  /** The links on the way, by their real paths. */
  readonly links: readonly string[];
}

interface WalkOptions {
  /** A real path, which the path is relative to. */
  readonly from?: string;
  /** Called before each question to the system, with the path that it is about. */
  readonly onQuestion?: (path: string) => void;
}

/**
 * Where a path leads, or would lead once something is there: links that lead to nothing are followed as well. One walk from
 * the top, which ends at the first part that is missing. As for the kernel, `..` is where the link before it leads. A link
 * whose target climbs back over a name is refused where it is to stay where it leads ("steady link").
 */
export const follow = (
  path: string,
  allowed: "steady link" | "any link" = "steady link",
  { from = "/", onQuestion }: WalkOptions = {},
): Followed => {
  const links: string[] = [];
  let here = path.startsWith("/") ? "/" : from;
  const parts = path.split("/").reverse();
  let exchanged = 0;
  while (parts.length > 0) {
    const part = parts.pop() as string;
    if (part === "" || part === ".") continue;
    // What is above a folder that was reached is a folder, too.
    if (part === "..") {
      here = posix.dirname(here);
      continue;
    }
    const next = here === "/" ? `/${part}` : `${here}/${part}`;
    onQuestion?.(next);
    if (OF_THE_PROCESS.test(next)) throw unfollowable(path);
    const entry = allowed === "steady link" ? obeyedEntry(next) : entryAt(next);
    // What is closed to us is closed to a command that is given its path, too.
    const found = entry === "closed" ? MISSING : entry;
    if (found === MISSING || (found.isSymbolicLink() && links.length >= MAX_LINKS)) {
      const whole = posix.join(next, ...parts.reverse());
      // Whoever wants to make it has to make its first missing part.
      return { target: whole.length > MAX_TARGET_CHARS ? next : whole, exists: found !== MISSING, links };
    }
    if (!found.isSymbolicLink()) here = next;
    else {
      const target = targetOfLink(next);
      if (target === undefined) {
        if (++exchanged > MAX_LINKS) throw unfollowable(path);
        parts.push(part);
        continue;
      }
      links.push(next);
      if (allowed === "steady link" && CLIMBS_BACK.test(target)) throw unfollowable(next);
      if (target.startsWith("/")) here = "/";
      parts.push(...target.split("/").reverse());
    }
  }
  return { target: here, exists: true, links };
};

export const resolveTarget = (path: string): string => follow(path).target;
