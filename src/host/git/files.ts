import { isUtf8 } from "node:buffer";
import { posix } from "node:path";
import { LlmcError } from "../../base/error.ts";
import { type ReadLimits, readOwnFile } from "../own-files/read-own-file.ts";
import { type GitSetting, parseGitConfig } from "./config.ts";
import { MISSING, readObeyedText } from "./obeyed-files.ts";

export const MAX_CONFIG_BYTES = 1024 * 1024;

/**
 * The content of a regular file of at most `maxBytes`; undefined for anything else, and it never blocks. For content that
 * only shows or proves something: where nothing there means that something is allowed, `readObeyed` is asked.
 */
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

export const refusedRepository = (
  why: string,
  hint = "The operator can add that folder to mcp.tools.allowed_roots, or run git by hand.",
): LlmcError => new LlmcError("forbidden", `git is not run in this repository: ${why}.`, { hint });

/** Settings that git reads of one git directory. Throws for a file that git would not read as we do. */
export const settingsByFile = (
  dir: string,
): readonly { readonly name: string; readonly settings: readonly GitSetting[] }[] =>
  ["config", "config.worktree"].flatMap((name) => {
    const text = readObeyedText(posix.join(dir, name), MAX_CONFIG_BYTES);
    if (text === MISSING) return [];
    const settings = parseGitConfig(text);
    if (settings === undefined) throw refusedRepository(`its ${name} cannot be read`);
    return [{ name, settings }];
  });

export const isInclude = ({ key }: GitSetting): boolean => /^include(if\..*)?\.path$/s.test(key);

/** Undefined where we cannot be sure of the settings: unreadable, or with more elsewhere. */
export const settingsOf = (dir: string): readonly GitSetting[] | undefined => {
  try {
    const all = settingsByFile(dir).flatMap(({ settings }) => settings);
    return all.some(isInclude) ? undefined : all;
  } catch (thrown) {
    if (thrown instanceof LlmcError) return undefined;
    throw thrown;
  }
};
