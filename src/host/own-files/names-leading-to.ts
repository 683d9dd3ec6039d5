import { lstatSync, readlinkSync } from "node:fs";
import { posix } from "node:path";

/** The kernel follows no more in one path (MAXSYMLINKS). */
const MAX_LINKS = 40;

/** What is at a path; a link also says where it leads. Bytes that are not UTF-8 become U+FFFD: commands are then refused. */
const entryAt = (path: string): "missing" | "other" | { readonly target: string } => {
  try {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats === undefined) return "missing";
    if (!stats.isSymbolicLink()) return "other";
    return { target: readlinkSync(path) };
  } catch {
    return "missing";
  }
};

/**
 * Every name that decides what is found at an absolute path: the path itself, each link on the way, by the real path of
 * its folder, and where it ends, whether something is there yet or not. Whoever may write one of them, or what it is in,
 * decides what a reader of the path gets.
 */
export const namesLeadingTo = (path: string): readonly string[] => {
  const links: string[] = [];
  const parts = path.split("/").toReversed();
  let at = "/";
  while (parts.length > 0) {
    const next = posix.join(at, parts.pop() ?? "");
    const entry = next === at || links.length >= MAX_LINKS ? "other" : entryAt(next);
    // A link in its place would lead `..` elsewhere.
    if (next !== at && parts.at(-1) === ".." && posix.dirname(next) === at) links.push(next);
    if (entry === "missing") {
      at = posix.join(next, ...parts.toReversed());
      break;
    }
    if (entry === "other") {
      at = next;
      continue;
    }
    links.push(next);
    parts.push(...entry.target.split("/").toReversed());
    if (entry.target.startsWith("/")) at = "/";
  }
  return [...new Set([path, ...links, at])];
};
