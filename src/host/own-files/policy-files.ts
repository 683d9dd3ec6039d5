import { opendirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { isMissing } from "../../base/system-error.ts";
import { watchFiles } from "./watch-files.ts";

/** Absolute patterns, of which the last part may hold `*`, by who fills the folders in which they look. */
export interface PolicyPatterns {
  /** Named by the operator, in folders of the operator's. Each of them has limits of its own. */
  readonly operators: readonly string[];
  /** All others, such as those that a workspace names or whose folder is in it. They share one budget. */
  readonly others: readonly string[];
}

/** Something that is named but cannot be read. */
export interface UnreadablePolicy {
  readonly path: string;
  readonly reason: string;
  /** Whether it is the operator's. */
  readonly isOperators: boolean;
}

/** More than anybody writes by hand: of one pattern of the operator's, and of all others together. */
const MAX_FILES = 200;

/** So many entries of folders are compared with the patterns that are not the operator's, some milliseconds at each poll. */
const MAX_COMPARED = 5000;

const TOO_MANY_FILES = `there are more than ${MAX_FILES} policy files`;
const TOO_MANY_ENTRIES = `the folders of the workspace's policy patterns hold too many files: up to ${MAX_COMPARED} are compared, each with every pattern`;

/** Whether a name matches a pattern with `*`, in one pass: the pattern may be a workspace's. */
const matches = (pattern: string, name: string): boolean => {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return name === first;
  if (!name.startsWith(first)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return name.length - last.length >= at && name.endsWith(last);
};

/** Whether an absolute path with `*` in its last part stands for this file. */
export const isPolicyPattern = (pattern: string, path: string): boolean =>
  dirname(pattern) === dirname(path) && matches(basename(pattern), basename(path));

/** Names in a folder, or why there are none. */
type Listing = readonly string[] | { readonly reason: string };

const reasonOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : "cannot be read";

const namesIn = (folder: string, max: number): Listing => {
  const directory = opendirSync(folder, { bufferSize: 1024 });
  try {
    const names: string[] = [];
    for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) {
      if (names.length >= max) return { reason: TOO_MANY_ENTRIES };
      names.push(entry.name);
    }
    return names;
  } finally {
    directory.closeSync();
  }
};

/** A folder that does not exist holds no policies; one that cannot be read may, and is reported. */
const list = (folder: string, max: number): Listing => {
  try {
    return namesIn(folder, max);
  } catch (error) {
    return isMissing(error) ? [] : { reason: reasonOf(error) };
  }
};

const isWildcard = (pattern: string): boolean => basename(pattern).includes("*");

/** The files that a pattern stands for, in the order of their names. */
const filesOf = (pattern: string, names: readonly string[]): readonly string[] =>
  names
    .filter((name) => !name.startsWith(".") && matches(basename(pattern), name))
    .map((name) => join(dirname(pattern), name))
    .toSorted();

export interface FoundPolicies {
  readonly paths: readonly string[];
  readonly unreadable: readonly UnreadablePolicy[];
}

const NOTHING: FoundPolicies = { paths: [], unreadable: [] };

const first = (paths: readonly string[], max: number, isOperators: boolean): FoundPolicies => ({
  paths: paths.slice(0, max),
  unreadable: paths.slice(max, max + 1).map((path) => ({ path, reason: TOO_MANY_FILES, isOperators })),
});

/**
 * Finds the files of patterns once. Each folder is listed once, and what is not the operator's takes up to a fixed amount of
 * work, however many patterns there are and whatever lies in their folders: beyond that, one problem is reported.
 */
export const createPolicyFinder = () => {
  const listings = new Map<string, Listing>();
  // What is left for the patterns that are not the operator's.
  let comparisons = MAX_COMPARED;
  let files = MAX_FILES;
  let isOver = false;

  const listOnce = (folder: string, max: number): Listing => {
    const listing = listings.get(folder) ?? list(folder, max);
    listings.set(folder, listing);
    return listing;
  };

  const findOperators = (pattern: string): FoundPolicies => {
    if (!isWildcard(pattern)) return { paths: [pattern], unreadable: [] };
    const path = dirname(pattern);
    const listing = listOnce(path, Number.POSITIVE_INFINITY);
    return "reason" in listing
      ? { paths: [], unreadable: [{ path, reason: listing.reason, isOperators: true }] }
      : first(filesOf(pattern, listing), MAX_FILES, true);
  };

  const stop = (path: string, reason: string): FoundPolicies => {
    isOver = true;
    return { paths: [], unreadable: [{ path, reason, isOperators: false }] };
  };

  const expand = (pattern: string): FoundPolicies => {
    if (!isWildcard(pattern)) return { paths: [pattern], unreadable: [] };
    const path = dirname(pattern);
    // An empty folder and one that cannot be listed are work, too.
    const listing = listOnce(path, comparisons);
    comparisons -= "reason" in listing ? 1 : Math.max(1, listing.length);
    if ("reason" in listing && listing.reason !== TOO_MANY_ENTRIES)
      return { paths: [], unreadable: [{ path, reason: listing.reason, isOperators: false }] };
    if ("reason" in listing || comparisons < 0) return stop(pattern, TOO_MANY_ENTRIES);
    return { paths: filesOf(pattern, listing), unreadable: [] };
  };

  const findOthers = (pattern: string): FoundPolicies => {
    if (isOver) return NOTHING;
    const { paths, unreadable } = expand(pattern);
    const found = first(paths, files, false);
    files -= found.paths.length;
    isOver ||= found.unreadable.length > 0;
    return { paths: found.paths, unreadable: [...unreadable, ...found.unreadable] };
  };

  return (pattern: string, isOperators: boolean): FoundPolicies =>
    isOperators ? findOperators(pattern) : findOthers(pattern);
};

/** All patterns, the operator's first, as a finder takes them. */
export const inOrder = ({ operators, others }: PolicyPatterns) => [
  ...operators.map((pattern) => ({ pattern, isOperators: true })),
  ...others.map((pattern) => ({ pattern, isOperators: false })),
];

/** Calls back soon after a policy file has changed, appeared or gone; returns the stop function. */
export const watchPolicyFiles = (patterns: PolicyPatterns, changed: () => void): (() => void) =>
  watchFiles(() => {
    const find = createPolicyFinder();
    return inOrder(patterns).flatMap(({ pattern, isOperators }) => find(pattern, isOperators).paths);
  }, changed);
