import { isUtf8 } from "node:buffer";
import { lstatSync, readdirSync, readlinkSync } from "node:fs";
import { posix } from "node:path";

/** The kernel follows no more in one path (MAXSYMLINKS). */
const MAX_LINKS = 40;

/** What is at a path; a link also says where it leads, unless that cannot be compared as text. */
const entryAt = (path: string): "missing" | "other" | { readonly target: string } => {
  try {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats === undefined) return "missing";
    if (!stats.isSymbolicLink()) return "other";
    const target = readlinkSync(path, { encoding: "buffer" });
    return isUtf8(target) ? { target: target.toString() } : "other";
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

/** Folders that are obeyed hold some files; one with a runtime of packages in it has some thousands. */
const MAX_ENTRIES = 5000;

const listLinks = (top: string): readonly string[] => {
  const links: string[] = [];
  const folders = [top];
  let entries = 0;
  for (const folder of folders) {
    if (lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) continue;
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (++entries > MAX_ENTRIES) return links;
      if (entry.isSymbolicLink()) links.push(posix.join(folder, entry.name));
      else if (entry.isDirectory()) folders.push(posix.join(folder, entry.name));
    }
  }
  return links;
};

const linksIn = (top: string): readonly string[] => {
  try {
    return listLinks(top);
  } catch {
    // Not a folder, or closed to us: then we read nothing there either.
    return [];
  }
};

/** The same for everything that lies in a folder, too: a link in it leads to what is obeyed. */
export const namesLeadingInto = (path: string): readonly string[] => {
  const found = new Set<string>();
  const tops = new Set([path]);
  for (const top of tops) {
    const names = namesLeadingTo(top);
    for (const name of names) found.add(name);
    for (const link of linksIn(names.at(-1) ?? top)) tops.add(link);
  }
  return [...found];
};
