import { isAbsolute, resolve } from "node:path";
import { isInside } from "../base/paths.ts";
import type { Origin } from "../config/layer.ts";
import type { Loaded } from "../config/load.ts";
import type { TrustRecord } from "../config/trust-record.ts";
import type { UserFolders } from "../config/user-folders.ts";
import { digestFlowFiles } from "../host/own-files/flow-files.ts";
import { realOrFuture } from "../host/own-files/real-or-future.ts";
import { EXECUTABLES_KEY, FLOWS_KEY, MODULES_KEY } from "./load.ts";

export interface ContentPlace {
  readonly root: string;
  readonly folders: UserFolders;
}

type Digests = TrustRecord["digests"][string];

/** Keys that name a folder whose content the server executes or obeys. */
export const FOLDER_KEYS = [MODULES_KEY, EXECUTABLES_KEY, FLOWS_KEY] as const;
export type FolderKey = (typeof FOLDER_KEYS)[number];

/** The folder that is in force for a key, as it is written; empty for none. */
export const folderInForce = ({ config: { mcp } }: Loaded, key: FolderKey): string => {
  switch (key) {
    case MODULES_KEY:
      return mcp.tools.custom_modules;
    case EXECUTABLES_KEY:
      return mcp.tools.executables;
    case FLOWS_KEY:
      return mcp.kb.flows;
  }
};

const isRelative = (written: string): boolean => !isAbsolute(written) && !written.startsWith("~/");

/**
 * Whether callers can reach a path, by its name or through links. The user's own folder of the configuration is closed to
 * all of them, whatever lies around it.
 */
const isInRoots = ({ config: { mcp } }: Loaded, { root, folders }: ContentPlace, path: string): boolean => {
  const real = realOrFuture(path);
  if (isInside(path, folders.config) && isInside(real, realOrFuture(folders.config))) return false;
  const { enforce_roots: isEnforced, allowed_roots: linux } = mcp.linux_ops.roots;
  const roots = [".", ...(isEnforced ? [] : ["/"]), ...mcp.tools.allowed_roots, ...(linux ?? [])];
  return roots
    .map((one) => resolve(root, one))
    .flatMap((one) => [one, realOrFuture(one)])
    .some((zone) => isInside(path, zone) || isInside(real, zone));
};

/**
 * Whether what a value of the operator's names is the workspace's content all the same: everything that lies in a root, or
 * is named in relation to whatever workspace is open. A flag names something for this one start, and is the operator's word
 * about any path; a variable may be set for all workspaces.
 */
export const isOfWorkspace = (
  loaded: Loaded,
  place: ContentPlace,
  source: Origin["source"] | undefined,
  written: string,
  path: string,
): boolean => {
  if (source === "cli") return false;
  return (isRelative(written) && source !== "env") || isInRoots(loaded, place, path);
};

const isFolderOfWorkspace = (
  loaded: Loaded,
  place: ContentPlace,
  key: FolderKey,
  path = resolve(place.root, folderInForce(loaded, key)),
): boolean => {
  const source = loaded.origins.get(key)?.source;
  if (source === "file" && loaded.workspaceFile !== undefined) return true;
  return isOfWorkspace(loaded, place, source, folderInForce(loaded, key), path);
};

const NOTHING_GRANTED: Digests = {};

/** Of a folder that is the workspace's content, the contents that were granted; the operator's need no digest. */
export const grantedDigests = (
  loaded: Loaded,
  place: ContentPlace,
  key: FolderKey,
  path?: string,
): Digests | undefined =>
  isFolderOfWorkspace(loaded, place, key, path) ? (loaded.digests[key] ?? NOTHING_GRANTED) : undefined;

/** The folder of a key that trust is about, as written: the one that a workspace's file asks for, or the one in force. */
export const folderToTrust = (loaded: Loaded, place: ContentPlace, key: FolderKey): string | undefined => {
  const asked = loaded.workspaceFile?.widening.find((one) => one.key === key)?.asked;
  const folder = typeof asked === "string" ? asked : folderInForce(loaded, key);
  const isTheirs = asked !== undefined || isFolderOfWorkspace(loaded, place, key);
  return folder !== "" && isTheirs ? folder : undefined;
};

/** Nothing waits in a folder that cannot be read, and that it cannot is said by whoever uses it. */
const digestsIn = (folder: string): readonly (readonly [file: string, digest: string])[] => {
  try {
    return Object.entries(digestFlowFiles(folder));
  } catch {
    return [];
  }
};

/** The flows of the workspace that were not granted: none of them can be used. */
export const waitingFlows = (loaded: Loaded, place: ContentPlace): readonly string[] => {
  const granted = grantedDigests(loaded, place, FLOWS_KEY);
  const folder = folderInForce(loaded, FLOWS_KEY);
  if (granted === undefined || folder === "") return [];
  return digestsIn(resolve(place.root, folder))
    .filter(([file, digest]) => granted[file] !== digest)
    .map(([file]) => `the flow ${file}`);
};
