import { isUtf8 } from "node:buffer";
import { lstatSync, realpathSync } from "node:fs";
import { posix } from "node:path";
import { LlmcError } from "../../base/error.ts";
import { type ReadLimits, readOwnFile } from "../own-files/read-own-file.ts";
import { type GitSetting, parseGitConfig } from "./config.ts";

export const MAX_CONFIG_BYTES = 1024 * 1024;

export const realOf = (path: string): string | undefined => {
  try {
    return realpathSync.native(path);
  } catch {
    return undefined;
  }
};

/** The content of a regular file of at most `maxBytes`; undefined for anything else, and it never blocks. */
export const readSmallFile = (
  path: string,
  maxBytes: number,
  links: Pick<ReadLimits, "noFollow"> = {},
): Buffer | undefined => {
  try {
    return readOwnFile(path, { maxBytes, ...links });
  } catch {
    return undefined;
  }
};

/** Undefined for what is not UTF-8 as well: decoded, it would name something else than git reads. */
export const readText = (
  path: string,
  maxBytes: number,
  links: Pick<ReadLimits, "noFollow"> = {},
): string | undefined => {
  const bytes = readSmallFile(path, maxBytes, links);
  return bytes === undefined || !isUtf8(bytes) ? undefined : bytes.toString();
};

export const exists = (path: string): boolean => {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    // A part of the path is a file, so nothing is there.
    return false;
  }
};

export const refusedRepository = (
  why: string,
  hint = "The operator can add that folder to mcp.tools.allowed_roots, or run git by hand.",
): LlmcError => new LlmcError("forbidden", `git is not run in this repository: ${why}.`, { hint });

/** Settings that git reads of one git directory, by file; undefined for a file that it would not read as we do. */
export const settingsByFile = (
  dir: string,
): readonly { readonly name: string; readonly settings: readonly GitSetting[] | undefined }[] =>
  ["config", "config.worktree"]
    .filter((name) => exists(posix.join(dir, name)))
    .map((name) => {
      const text = readText(posix.join(dir, name), MAX_CONFIG_BYTES);
      return { name, settings: text === undefined ? undefined : parseGitConfig(text) };
    });

export const isInclude = ({ key }: GitSetting): boolean => /^include(if\..*)?\.path$/s.test(key);

/** Undefined where we cannot be sure of the settings: unreadable, or with more elsewhere. */
export const settingsOf = (dir: string): readonly GitSetting[] | undefined => {
  const all: GitSetting[] = [];
  for (const { settings } of settingsByFile(dir)) {
    if (settings === undefined || settings.some(isInclude)) return undefined;
    all.push(...settings);
  }
  return all;
};
