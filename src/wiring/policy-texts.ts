import { basename, dirname, join, relative, resolve } from "node:path";
import { isInside } from "../base/paths.ts";
import type { Loaded } from "../config/load.ts";
import type { UserFolders } from "../config/user-folders.ts";
import { sha256 } from "../host/os/lazy-builtins.ts";
import {
  isPolicyPattern,
  type PolicyText,
  readPolicyFiles,
  type UnreadablePolicy,
} from "../host/own-files/policy-files.ts";
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

export const policyPatterns = ({ mcp }: Loaded["config"], where: PolicyFolders): readonly string[] =>
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

const isOperators = (path: string, patterns: readonly PolicyPattern[]): boolean =>
  patterns.some((one) => isPolicyPattern(one.pattern, path) && one.isOperators(path));

/** A policy file that is in force because of the workspace: its permits need the operator's trust in its content. */
export interface WorkspacePolicy {
  /** Its path from the root, which names it in records of trust. */
  readonly file: string;
  readonly digest: string;
  readonly isGranted: boolean;
}

const judge = (
  { path, text }: PolicyText,
  operators: readonly PolicyPattern[],
  { digests }: Loaded,
  { root }: PolicyFolders,
): WorkspacePolicy | undefined => {
  if (isOperators(path, operators)) return undefined;
  const file = relative(root, path);
  const digest = sha256(text);
  return { file, digest, isGranted: digests[POLICIES_KEY]?.[file] === digest };
};

export interface PolicyTexts {
  readonly files: readonly PolicyFile[];
  /** Those of the files that need trust: what only forbids, in words of ours, needs none. */
  readonly ofWorkspace: readonly WorkspacePolicy[];
  /** Of files that cannot be used as they are. */
  readonly problems: readonly (PolicyProblem & { readonly mayPermit: boolean })[];
}

/** Validating a policy takes some 10 ms of the server's thread, and a repository may bring any number. */
const MAX_UNTRUSTED_CHARS = 8 * 1024;

const TOO_LARGE = "a workspace's own policies take up to 8 KiB until it is trusted with them (llmc trust)";

/** The untrusted files that come after the limit of all of them together. */
const beyondLimit = (files: readonly PolicyText[]): readonly UnreadablePolicy[] => {
  let chars = 0;
  return files.flatMap(({ path, text }) => {
    chars += text.length;
    return chars > MAX_UNTRUSTED_CHARS ? { path, reason: TOO_LARGE } : [];
  });
};

const nameOf = (path: string, root: string): string => (isInside(path, root) ? relative(root, path) : path);

/** The policy files in force, or others in their place. */
export const readPolicyTexts = (
  loaded: Loaded,
  where: PolicyFolders,
  patterns: readonly string[] = policyPatterns(loaded.config, where),
  read: typeof readPolicyFiles = readPolicyFiles,
): PolicyTexts => {
  const operators = operatorPatterns(loaded, where);
  const { files, unreadable } = read(patterns);
  const judged = files.map((file) => ({ file, own: judge(file, operators, loaded, where) }));
  return {
    files: judged.map(({ file, own }) => ({
      name: nameOf(file.path, where.root),
      text: file.text,
      mayPermit: own?.isGranted ?? true,
    })),
    ofWorkspace: judged.flatMap(({ file, own }) => (own !== undefined && needsTrust(file.text) ? own : [])),
    problems: [
      ...unreadable,
      ...beyondLimit(judged.flatMap(({ file, own }) => (own?.isGranted === false ? file : []))),
    ].map(({ path, reason }) => ({
      file: nameOf(path, where.root),
      line: 0,
      column: 0,
      message: reason,
      // A folder that cannot be read is named in place of its files.
      mayPermit: operators.some(
        (one) =>
          (isPolicyPattern(one.pattern, path) || dirname(one.pattern) === path) && one.isOperators(path),
      ),
    })),
  };
};
