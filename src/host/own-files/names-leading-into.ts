import { type BigIntStats, lstatSync, readdirSync, readlinkSync } from "node:fs";
import { posix } from "node:path";
import { LlmcError } from "../../base/error.ts";
import { isInside } from "../../base/paths.ts";
import { quoteForMessage } from "../../base/text.ts";
import { namesLeadingTo } from "./names-leading-to.ts";

/**
 * Entries of all obeyed folders together: more than the packages of a large project. To read as many takes some tenths of a
 * second the first time; after that, each folder is only asked whether it has changed.
 */
const MAX_ENTRIES = 200_000;

/** To follow a link takes as long as to read so many entries. */
const ENTRIES_PER_LINK = 20;

/** What bytes that are not UTF-8 are decoded to: a folder that we cannot enter by this name. */
const UNKNOWN_BYTES = "\uFFFD";

/** Counts what is looked at below a folder; throws where it is too much. */
export type LinkBudget = (count: number, top: string) => void;

/** One for everything that is asked at once. What is not known cannot be protected, so nothing is written then. */
export const createLinkBudget = (): LinkBudget => {
  let left = MAX_ENTRIES;
  return (count, top) => {
    left -= count;
    if (left >= 0) return;
    throw new LlmcError(
      "forbidden",
      `Nothing is changed here: llmc obeys what is in ${quoteForMessage(top)}, and that is too much to look for links that lead elsewhere.`,
      {
        hint: "The operator can name a folder with less in it (mcp.tools.custom_modules, mcp.tools.executables, mcp.kb.flows or a policy).",
      },
    );
  };
};

interface Listing {
  /** Changes with every name in the folder. */
  readonly stamp: string;
  readonly entries: number;
  readonly folders: readonly string[];
  readonly links: readonly { readonly path: string; readonly target: string }[];
}

/** Of folders that have not changed since: they are asked about at every write. */
const listings = new Map<string, Listing>();
const MAX_LISTINGS = 50_000;

/** Two changes within a tick of the clock have the same time; what was listed so soon after one is not kept. */
const TICK_MS = 100;

const list = (folder: string, { ino, dev, ctimeNs, ctimeMs }: BigIntStats): Listing => {
  const stamp = `${dev} ${ino} ${ctimeNs}`;
  const known = listings.get(folder);
  if (known?.stamp === stamp) return known;
  const isSettled = Date.now() - Number(ctimeMs) > TICK_MS;
  const entries = readdirSync(folder, { withFileTypes: true });
  const pathOf = ({ name }: { readonly name: string }): string => posix.join(folder, name);
  const listing = {
    stamp,
    entries: entries.length,
    folders: entries.filter((entry) => entry.isDirectory()).map(pathOf),
    links: entries
      .filter((entry) => entry.isSymbolicLink())
      .map((entry) => ({ path: pathOf(entry), target: readlinkSync(pathOf(entry)) })),
  };
  if (listings.size >= MAX_LISTINGS) listings.clear();
  if (isSettled) listings.set(folder, listing);
  return listing;
};

const tryList = (folder: string): Listing | undefined => {
  try {
    const stats = lstatSync(folder, { bigint: true, throwIfNoEntry: false });
    return stats?.isDirectory() === true ? list(folder, stats) : undefined;
  } catch {
    // Closed to us: then we read nothing there either.
    return undefined;
  }
};

/**
 * Whether a link stays in the real folder that it was found below. All of that is obeyed and searched, so it leads to
 * nothing else; another link on its way was found by itself.
 */
const staysIn = (top: string, path: string, target: string): boolean => {
  const steps = target.split("/").filter((step) => step !== "" && step !== ".");
  const first = steps.findIndex((step) => step !== "..");
  // After a name that may be a link, `..` leads anywhere.
  if (first >= 0 && steps.includes("..", first)) return false;
  return isInside(posix.resolve(posix.dirname(path), target), top);
};

/** The links below a real folder that lead out of it; `seen` are real folders whose links are known. */
const linksOutOf = (top: string, seen: Set<string>, spend: LinkBudget): readonly string[] => {
  const links: string[] = [];
  const folders = [top];
  for (const folder of folders) {
    if (seen.has(folder)) continue;
    seen.add(folder);
    const found = tryList(folder);
    if (found === undefined) continue;
    spend(found.entries, top);
    if (found.folders.some((inner) => inner.includes(UNKNOWN_BYTES))) spend(Number.POSITIVE_INFINITY, top);
    folders.push(...found.folders);
    for (const { path, target } of found.links) {
      if (staysIn(top, path, target)) continue;
      spend(ENTRIES_PER_LINK, top);
      links.push(path);
    }
  }
  return links;
};

/** The names that lead to paths, and to everything that lies in folders there: a link in them leads to what is obeyed, too. */
export const namesLeadingInto = (paths: readonly string[], spend: LinkBudget): readonly string[] => {
  const found = new Set<string>();
  const seen = new Set<string>();
  const tops = new Set(paths);
  for (const top of tops) {
    const names = namesLeadingTo(top);
    for (const name of names) found.add(name);
    for (const link of linksOutOf(names.at(-1) ?? top, seen, spend)) tops.add(link);
  }
  return [...found];
};
