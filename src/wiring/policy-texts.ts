import { basename, dirname, join, relative, resolve } from "node:path";
import { isInside } from "../base/paths.ts";
import type { Loaded } from "../config/load.ts";
import type { UserFolders } from "../config/user-folders.ts";
import { sha256 } from "../host/os/lazy-builtins.ts";
import { isPolicyPattern } from "../host/own-files/policy-files.ts";
import { type PolicySources, type ReadPolicies, readPolicies } from "../host/own-files/read-policies.ts";
import { needsTrust } from "../policy/cedar/cedar-text.ts";
import type { PolicyFile } from "../policy/cedar/policy-file.ts";
import type { PolicyProblem } from "../policy/cedar/positions.ts";
import { POLICIES_KEY } from "./load.ts";
import { isOfWorkspace } from "./workspace-content.ts";

export interface PolicyFolders {
  readonly root: string;
  readonly folders: UserFolders;
}

const USUAL_FOLDER = "~/.config/llmc/";

/** `~/.config` in the default stands for the user's configuration folder, wherever that is. */
const absolutePattern = (pattern: string, { root, folders }: PolicyFolders): string => {
  if (pattern.startsWith(USUAL_FOLDER)) return join(folders.config, pattern.slice(USUAL_FOLDER.length));
  return pattern.startsWith("~/") ? join(folders.home, pattern.slice(2)) : resolve(root, pattern);
};

const policyPatterns = ({ mcp }: Loaded["config"], where: PolicyFolders): readonly string[] =>
  mcp.security.policy_files.map((pattern) => absolutePattern(pattern, where));

/** What nobody but the operator may write: the files, or the folder in which a file would become one. */
export const policyPaths = (config: Loaded["config"], where: PolicyFolders): readonly string[] =>
  policyPatterns(config, where).map((pattern) =>
    basename(pattern).includes("*") ? dirname(pattern) : pattern,
  );

interface PolicyPattern {
  /** Absolute. */
  readonly pattern: string;
  /** Whether a file of it may permit without trust in its content. */
  readonly isOperators: (path: string) => boolean;
}

/**
 * The patterns whose files may permit: the operator's, but for what is the workspace's content. What only the workspace's
 * file names may forbid, wherever it lies.
 */
const operatorPatterns = (loaded: Loaded, where: PolicyFolders): readonly PolicyPattern[] => {
  const { config, origins, workspaceFile } = loaded;
  const source = origins.get(POLICIES_KEY)?.source;
  const isWorkspaces = source === "file" && workspaceFile !== undefined;
  const patterns = isWorkspaces
    ? (workspaceFile.valueWithout(POLICIES_KEY) as readonly string[])
    : config.mcp.security.policy_files;
  return patterns.map((written) => {
    const pattern = absolutePattern(written, where);
    // What is linked in the user's own folder was linked by the user.
    const isInOwnFolder = isInside(pattern, where.folders.config);
    return {
      pattern,
      isOperators: (path) => isInOwnFolder || !isOfWorkspace(loaded, where, source, written, path),
    };
  });
};

/** Validating a policy takes some 10 ms of the server's thread, and a repository may bring any number. */
const MAX_UNTRUSTED_BYTES = 8 * 1024;

/** Where the policies in force come from, and whose they are. */
export const policySources = (
  loaded: Loaded,
  where: PolicyFolders,
  maxUntrustedBytes = MAX_UNTRUSTED_BYTES,
): PolicySources => {
  const named = operatorPatterns(loaded, where);
  const patterns = policyPatterns(loaded.config, where);
  const isInOperatorsFolder = (pattern: string): boolean =>
    named.some((one) => one.pattern === pattern && one.isOperators(pattern));
  return {
    operators: patterns.filter(isInOperatorsFolder),
    others: patterns.filter((pattern) => !isInOperatorsFolder(pattern)),
    isOperators: (path) => named.some((one) => isPolicyPattern(one.pattern, path) && one.isOperators(path)),
    trustAt: (path) => {
      const digest = loaded.digests[POLICIES_KEY]?.[relative(where.root, path)];
      return digest === undefined ? undefined : (text) => sha256(text) === digest;
    },
    maxUntrustedBytes,
  };
};

/** Files that somebody names at the terminal, who may read them and says what they are. */
export const namedSources = (paths: readonly string[]): PolicySources => ({
  operators: paths,
  others: [],
  isOperators: () => true,
  trustAt: () => undefined,
  maxUntrustedBytes: 0,
});

/** A policy file that is in force because of the workspace: its permits need the operator's trust in its content. */
export interface WorkspacePolicy {
  /** Its path from the root, which names it in records of trust. */
  readonly file: string;
  readonly digest: string;
  readonly isGranted: boolean;
}

export interface PolicyTexts {
  readonly files: readonly PolicyFile[];
  /** Of files that cannot be used as they are. */
  readonly problems: readonly (PolicyProblem & { readonly mayPermit: boolean })[];
}

const nameOf = (path: string, root: string): string => (isInside(path, root) ? relative(root, path) : path);

/** What is read of some sources, as policy takes it. */
export const readPolicyTexts = (
  sources: PolicySources,
  { root }: Pick<PolicyFolders, "root">,
  read: (sources: PolicySources) => ReadPolicies = readPolicies,
): PolicyTexts => {
  const { files, unreadable } = read(sources);
  return {
    files: files.map(({ path, text, isOperators, isTrusted }) => ({
      name: nameOf(path, root),
      text,
      mayPermit: isOperators || isTrusted,
    })),
    problems: unreadable.map(({ path, reason, isOperators }) => ({
      file: nameOf(path, root),
      line: 0,
      column: 0,
      message: reason,
      mayPermit: isOperators,
    })),
  };
};

/** What the operator may read before trusting it: more than anybody writes by hand. */
const MAX_BYTES_TO_TRUST = 1024 * 1024;

/** The files that need trust, or have it: what only forbids, in words of ours, needs none. */
export const policiesToTrust = (loaded: Loaded, where: PolicyFolders): readonly WorkspacePolicy[] =>
  readPolicies(policySources(loaded, where, MAX_BYTES_TO_TRUST))
    .files.filter(({ text, isOperators }) => !isOperators && needsTrust(text))
    .map(({ path, text, isTrusted }) => ({
      file: relative(where.root, path),
      digest: sha256(text),
      isGranted: isTrusted,
    }));
