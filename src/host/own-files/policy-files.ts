import { readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { isMissing } from "../../base/system-error.ts";
import { readOwnFile } from "./read-own-file.ts";
import { watchFiles } from "./watch-files.ts";

export interface PolicyText {
  readonly path: string;
  readonly text: string;
}

/** A file that is named but cannot be read. */
export interface UnreadablePolicy {
  readonly path: string;
  readonly reason: string;
}

/** More than anybody writes by hand. */
const MAX_FILES = 200;
const MAX_BYTES = 1024 * 1024;

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

/** The files that a pattern stands for, in the order of their names. */
const expand = (pattern: string): readonly string[] => {
  if (!basename(pattern).includes("*")) return [pattern];
  return readdirSync(dirname(pattern))
    .map((entry) => join(dirname(pattern), entry))
    .filter((path) => isPolicyPattern(pattern, path) && !basename(path).startsWith("."))
    .toSorted();
};

/** A folder that does not exist holds no policies; one that cannot be read may, and is reported. */
const expandAll = (
  patterns: readonly string[],
  onUnreadable: (folder: string, error: unknown) => void = () => {},
): ReadonlySet<string> =>
  new Set(
    patterns.flatMap((pattern) => {
      try {
        return expand(pattern);
      } catch (error) {
        if (!isMissing(error)) onUnreadable(dirname(pattern), error);
        return [];
      }
    }),
  );

const reasonOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : "cannot be read";

/** Reads every policy file. One that is named and missing is an error: somebody believes it to be in force. */
export const readPolicyFiles = (
  patterns: readonly string[],
): { readonly files: readonly PolicyText[]; readonly unreadable: readonly UnreadablePolicy[] } => {
  const files: PolicyText[] = [];
  const unreadable: UnreadablePolicy[] = [];
  const paths = expandAll(patterns, (path, error) => unreadable.push({ path, reason: reasonOf(error) }));
  for (const path of paths) {
    if (files.length >= MAX_FILES) {
      unreadable.push({ path, reason: `there are more than ${MAX_FILES} policy files` });
      break;
    }
    try {
      files.push({ path, text: readOwnFile(path, { maxBytes: MAX_BYTES }).toString() });
    } catch (error) {
      unreadable.push({ path, reason: isMissing(error) ? "there is no such file" : reasonOf(error) });
    }
  }
  return { files, unreadable };
};

/** Calls back soon after a policy file has changed, appeared or gone; returns the stop function. */
export const watchPolicyFiles = (patterns: readonly string[], changed: () => void): (() => void) =>
  // By pattern: the many files of one leave those of another watched.
  watchFiles(() => patterns.flatMap((pattern) => [...expandAll([pattern])].slice(0, MAX_FILES)), changed);
