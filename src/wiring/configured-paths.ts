import { resolve } from "node:path";
import type { PathEntry } from "../base/option.ts";
import type { Loaded } from "../config/load.ts";
import { ENTRIES, valueAt } from "../config/sections.ts";
import type { UserFolders } from "../config/user-folders.ts";
import { tokenFileOf } from "../host/net/named-socket.ts";
import { isFolderName } from "../host/os/local-model.ts";

const listOf = (value: unknown): readonly string[] =>
  [value].flat().filter((path): path is string => typeof path === "string" && path !== "");

const pathsIn = (config: Loaded["config"], entry: PathEntry): readonly string[] =>
  [...ENTRIES.values()].flatMap(({ key, option }) =>
    option.path === entry ? listOf(valueAt(config, key)) : [],
  );

/**
 * The paths of the configuration, by the entry of the reach table that their options name. Derived from all options: one
 * that is added later cannot be forgotten here.
 */
export const configuredPaths = (
  config: Loaded["config"],
): Readonly<Record<PathEntry, readonly string[]>> => ({
  "state folder": pathsIn(config, "state folder"),
  "state file": [
    ...pathsIn(config, "state file"),
    ...listOf(config.mcp.server.invoke_socket).map(tokenFileOf),
  ],
  config: pathsIn(config, "config"),
  modules: pathsIn(config, "modules"),
  // Otherwise it is the name of a package.
  models: pathsIn(config, "models").filter(isFolderName),
  startup: pathsIn(config, "startup"),
});

/** What the configuration names as the server's state, for whoever judges paths. */
export const configuredState = (config: () => Loaded["config"]) => ({
  stateFolders: (): readonly string[] => configuredPaths(config())["state folder"],
  stateFiles: (): readonly string[] => configuredPaths(config())["state file"],
});

/** Where the server keeps what is its own, besides `.llmc`: never content of the workspace. Absolute. */
export const ownPaths = (config: Loaded["config"], root: string, folders: UserFolders): readonly string[] => {
  const configured = configuredPaths(config);
  const state = [...configured["state folder"], ...configured["state file"]];
  return [folders.config, folders.state, ...state.map((path) => resolve(root, path))];
};
