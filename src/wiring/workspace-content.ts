import { isAbsolute, resolve } from "node:path";
import { LlmcError } from "../base/error.ts";
import { isInside } from "../base/paths.ts";
import type { Origin } from "../config/layer.ts";
import type { Loaded } from "../config/load.ts";
import type { TrustRecord } from "../config/trust-record.ts";
import type { UserFolders } from "../config/user-folders.ts";
import { sha256 } from "../host/os/lazy-builtins.ts";
import { readFlowFiles } from "../host/own-files/flow-files.ts";
import { realOrFuture } from "../host/own-files/real-or-future.ts";
import { EXECUTABLES_KEY, FLOWS_KEY, MODULES_KEY } from "./load.ts";

export interface ContentFolders {
  readonly root: string;
  readonly folders: UserFolders;
}

type Digests = TrustRecord["digests"][string];

/** Keys that name a folder whose content the server executes or obeys. */
export const FOLDER_KEYS = [MODULES_KEY, EXECUTABLES_KEY, FLOWS_KEY] as const;
export type FolderKey = (typeof FOLDER_KEYS)[number];

/** The folder that is in force for a key, as it is written; empty for none. */
const folderInForce = ({ config: { mcp } }: Loaded, key: FolderKey): string => {
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
const isInRoots = ({ config: { mcp } }: Loaded, { root, folders }: ContentFolders, path: string): boolean => {
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
  where: ContentFolders,
  source: Origin["source"] | undefined,
  written: string,
  path: string,
): boolean => {
  if (source === "cli") return false;
  return (isRelative(written) && source !== "env") || isInRoots(loaded, where, path);
};

const isFolderOfWorkspace = (
  loaded: Loaded,
  where: ContentFolders,
  key: FolderKey,
  path = resolve(where.root, folderInForce(loaded, key)),
): boolean => {
  const source = loaded.origins.get(key)?.source;
  if (source === "file" && loaded.workspaceFile !== undefined) return true;
  return isOfWorkspace(loaded, where, source, folderInForce(loaded, key), path);
};

const NOTHING_GRANTED: Digests = {};

/** Of a folder that is the workspace's content, the contents that were granted; the operator's need no digest. */
export const grantedDigests = (
  loaded: Loaded,
  where: ContentFolders,
  key: FolderKey,
  path?: string,
): Digests | undefined =>
  isFolderOfWorkspace(loaded, where, key, path) ? (loaded.digests[key] ?? NOTHING_GRANTED) : undefined;

/** The folder of a key that trust is about, as written: the one that a workspace's file asks for, or the one in force. */
export const folderToTrust = (loaded: Loaded, where: ContentFolders, key: FolderKey): string | undefined => {
  const asked = loaded.workspaceFile?.widening.find((one) => one.key === key)?.asked;
  const folder = typeof asked === "string" ? asked : folderInForce(loaded, key);
  const isTheirs = asked !== undefined || isFolderOfWorkspace(loaded, where, key);
  return folder !== "" && isTheirs ? folder : undefined;
};

/** SHA-256 of each declaration that can be read, by its name. Throws if the folder cannot be read. */
export const digestFlowFiles = (folder: string): Digests =>
  Object.fromEntries(
    readFlowFiles(folder).flatMap(({ name, text }) =>
      text instanceof LlmcError ? [] : [[name, sha256(text)] as const],
    ),
  );

/** Nothing waits in a folder that cannot be read, and that it cannot is said by whoever uses it. */
const digestsIn = (folder: string): readonly (readonly [file: string, digest: string])[] => {
  try {
    return Object.entries(digestFlowFiles(folder));
  } catch {
    return [];
  }
};

/** The flows of the workspace that were not granted: none of them can be used. */
const waitingFlows = (loaded: Loaded, where: ContentFolders): readonly string[] => {
  const granted = grantedDigests(loaded, where, FLOWS_KEY);
  const folder = folderInForce(loaded, FLOWS_KEY);
  if (granted === undefined || folder === "") return [];
  return digestsIn(resolve(where.root, folder))
    .filter(([file, digest]) => granted[file] !== digest)
    .map(([file]) => `the flow ${file}`);
};

/** Folders that the workspace's file asks for and that are not in force. */
export const waitingFolders = ({ waiting }: Loaded): readonly string[] =>
  waiting.filter(({ key }) => FOLDER_KEYS.some((one) => one === key)).map(({ asked }) => String(asked));

/** What waits for trust, but for what modules, scripts and policies say themselves. */
export const describeWaitingKeys = (loaded: Loaded, where: ContentFolders): readonly string[] => [
  ...loaded.waiting.map(({ key }) => key),
  ...waitingFlows(loaded, where),
];
