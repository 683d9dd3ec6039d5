import { accessSync, constants, statSync } from "node:fs";
import { posix } from "node:path";
import { hooksOf, signingKeyOf } from "../../../policy/git-hooks.ts";
import { insideRoots } from "../../../policy/paths.ts";
import type { GitSetting } from "../../git/config.ts";
import { settingsByFile } from "../../git/files.ts";
import type { GitRepository } from "./repository.ts";
import { atHome, lastValue, systemSettings, userSettings } from "./user-settings.ts";

/** Git passes by a hook that cannot be executed. */
const isHook = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
};

/** The settings of the repository itself, which win over the user's. */
export const ownSettings = ({ gitDir, commonDir }: GitRepository): readonly GitSetting[] =>
  [...new Set([commonDir, gitDir])].flatMap((dir) => settingsByFile(dir).flatMap(({ settings }) => settings));

const missedHooks = (
  names: readonly string[],
  { top, commonDir }: GitRepository,
  [own, users]: readonly [readonly GitSetting[], readonly GitSetting[]],
  roots: readonly string[],
): readonly string[] => {
  const chosen = lastValue(own, "core.hookspath");
  const path = chosen ?? lastValue(users, "core.hookspath");
  const folder = path === undefined ? posix.join(commonDir, "hooks") : posix.resolve(top, atHome(path));
  // Whether something exists outside the roots must not show where the repository chose the path.
  if (chosen !== undefined && !insideRoots(folder, roots)) return ["those in core.hooksPath"];
  return names.filter((name) => isHook(posix.join(folder, name)));
};

const isOn = (value: string | undefined): boolean => /^(true|yes|on|[1-9]\d*)$/i.test(value ?? "");

/** What git would do besides in the user's terminal, and does not do here: no program of a repository's choice runs. */
export const leftOutNotes = (
  args: readonly string[],
  repository: GitRepository,
  roots: readonly string[],
  gitFolder?: string,
): readonly string[] => {
  const names = hooksOf(args);
  const key = signingKeyOf(args);
  if (names.length === 0 && key === undefined) return [];
  const own = ownSettings(repository);
  const users = [...systemSettings(), ...userSettings(gitFolder)];
  const hooks = missedHooks(names, repository, [own, users], roots);
  const isUnsigned = key !== undefined && isOn(lastValue([...users, ...own], key));
  const missed = [
    ...(hooks.length === 0 ? [] : [`hooks were not run: ${hooks.join(", ")}`]),
    ...(isUnsigned ? [`nothing was signed, although ${key} is set`] : []),
  ];
  return missed.length === 0
    ? []
    : [`${missed.join("; ")} (the user can do that in a terminal, or the operator allows git:run)`];
};
