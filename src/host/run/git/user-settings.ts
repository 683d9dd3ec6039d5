import { homedir } from "node:os";
import { posix } from "node:path";
import { isUserSetting } from "../../../policy/git-settings.ts";
import { type GitSetting, parseGitConfig, renderGitConfig } from "../../git/config.ts";
import { MAX_CONFIG_BYTES, readSmallFile, readText } from "../../git/files.ts";

/** As deep as git follows includes. */
const MAX_DEPTH = 10;

/** Where no other folder is named ($XDG_CONFIG_HOME). */
const usualFolder = (): string => posix.join(homedir(), ".config/git");

/** A path as git understands it in a setting. */
export const atHome = (path: string): string =>
  path === "~" || path.startsWith("~/") ? posix.join(homedir(), path.slice(1)) : path;

const readSettings = (path: string, depth = 0): readonly GitSetting[] => {
  const text = depth > MAX_DEPTH ? undefined : readText(path, MAX_CONFIG_BYTES);
  const settings = text === undefined ? undefined : parseGitConfig(text);
  return (settings ?? []).flatMap((setting) =>
    setting.key === "include.path"
      ? readSettings(posix.resolve(posix.dirname(path), atHome(setting.value)), depth + 1)
      : [setting],
  );
};

/** The user's own settings, in the order in which git reads them: the last one counts. */
export const userSettings = (gitFolder = usualFolder()): readonly GitSetting[] =>
  [posix.join(gitFolder, "config"), posix.join(homedir(), ".gitconfig")].flatMap((path) =>
    readSettings(path),
  );

/** Those that apply to everybody on this machine. */
export const systemSettings = (): readonly GitSetting[] => readSettings("/etc/gitconfig");

export const lastValue = (settings: readonly GitSetting[], key: string): string | undefined =>
  settings.findLast((setting) => setting.key === key)?.value;

/** A file of patterns that a setting names, or that lies in the user's folder for git. */
export const userFile = (
  settings: readonly GitSetting[],
  key: "core.excludesfile" | "core.attributesfile",
  name: "ignore" | "attributes",
  gitFolder = usualFolder(),
): Buffer | undefined => {
  const named = lastValue(settings, key);
  const path = named === undefined ? posix.join(gitFolder, name) : atHome(named);
  return posix.isAbsolute(path) ? readSmallFile(path, MAX_CONFIG_BYTES) : undefined;
};

/** What git in a sandbox gets of the user's settings, as a configuration file of its own. */
export const renderUserSettings = (settings: readonly GitSetting[], ignoreFile: string): string =>
  renderGitConfig([
    ...settings.filter(({ key }) => isUserSetting(key)),
    { key: "core.excludesfile", value: ignoreFile },
  ]);
