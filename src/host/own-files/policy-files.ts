import { type FSWatcher, readdirSync, watch } from "node:fs";
import { basename, dirname, join } from "node:path";
import { isMissing } from "../../base/system-error.ts";
import { readOwnFile } from "./read-own-file.ts";

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

const asPattern = (name: string): RegExp =>
  new RegExp(
    `^${name
      .split("*")
      .map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&"))
      .join("[^/]*")}$`,
  );

/** The files that an absolute path with `*` in its last part stands for, in the order of their names. */
const expand = (pattern: string): readonly string[] => {
  const name = basename(pattern);
  if (!name.includes("*")) return [pattern];
  try {
    const matches = asPattern(name);
    return readdirSync(dirname(pattern))
      .filter((entry) => matches.test(entry) && !entry.startsWith("."))
      .toSorted()
      .map((entry) => join(dirname(pattern), entry));
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
};

/** Reads every policy file. One that is named and missing is an error: somebody believes it to be in force. */
export const readPolicyFiles = (
  patterns: readonly string[],
): { readonly files: readonly PolicyText[]; readonly unreadable: readonly UnreadablePolicy[] } => {
  const files: PolicyText[] = [];
  const unreadable: UnreadablePolicy[] = [];
  for (const path of new Set(patterns.flatMap(expand))) {
    if (files.length >= MAX_FILES) {
      unreadable.push({ path, reason: `there are more than ${MAX_FILES} policy files` });
      break;
    }
    try {
      files.push({ path, text: readOwnFile(path, { maxBytes: MAX_BYTES }).toString() });
    } catch (error) {
      const reason = error instanceof Error && "code" in error ? String(error.code) : "cannot be read";
      unreadable.push({ path, reason: isMissing(error) ? "there is no such file" : reason });
    }
  }
  return { files, unreadable };
};

const DEBOUNCE_MS = 100;

/** The folder itself or, until it exists, the nearest one above it. */
const openWatch = (folder: string, changed: () => void): FSWatcher | undefined => {
  for (let path = folder; path !== dirname(path); path = dirname(path)) {
    try {
      return watch(path, { persistent: false }, changed);
    } catch {
      // It does not exist, or the system has no watches left: then the next reload of the configuration notices.
    }
  }
  return undefined;
};

/** Calls back soon after a policy file has changed, appeared or gone; returns the stop function. */
export const watchPolicyFiles = (patterns: readonly string[], changed: () => void): (() => void) => {
  let timer: NodeJS.Timeout | undefined;
  const soon = (): void => {
    timer ??= setTimeout(() => {
      timer = undefined;
      changed();
    }, DEBOUNCE_MS).unref();
  };
  const watches = [...new Set(patterns.map((pattern) => dirname(pattern)))].map((folder) =>
    openWatch(folder, soon),
  );
  for (const one of watches) one?.on("error", () => one.close());
  return () => {
    clearTimeout(timer);
    for (const one of watches) one?.close();
  };
};
