import { dirname, join, resolve } from "node:path";
import { LlmcError } from "../base/error.ts";
import type { Finding } from "../cli/doctor-command.ts";
import type { Loaded } from "../config/load.ts";
import { settingsOf } from "../host/git/files.ts";
import { commonDirOf, gitDirOf, knownGitDirOf } from "../host/git/git-dir.ts";
import { repositoriesAbove } from "../host/git/obeyed-elsewhere.ts";
import { isThere, obeyedRealPath } from "../host/git/obeyed-files.ts";
import { packagesAbove } from "../host/os/packages-above.ts";
import { realOrFuture } from "../host/own-files/real-or-future.ts";
import { linkedEntryOf } from "../host/run/git/work-tree-folder.ts";
import { insideRoots } from "../policy/paths.ts";

/** The git directory that the `.git` of a workspace leads to, as all work trees share it. */
interface OutsideGitDirectory {
  readonly path: string;
  /** A `.git` file came with the workspace and may name any folder; the repository itself says whose it is. */
  readonly knowsWorkspace: boolean;
}

const isGitDirectory = (dir: string): boolean =>
  ["HEAD", "objects", "refs"].every((name) => isThere(join(dir, name)));

/** Whether a git directory says that a workspace is its work tree: as `git worktree add` records it, or for a submodule. */
const knows = (gitDir: string, common: string, root: string): boolean => {
  if (!isGitDirectory(common)) return false;
  if (gitDir !== common)
    return (
      dirname(gitDir) === join(common, "worktrees") &&
      linkedEntryOf(gitDir) === obeyedRealPath(resolve(root, ".git"))
    );
  const named = settingsOf(gitDir)?.findLast(({ key }) => key === "core.worktree")?.value;
  return named !== undefined && obeyedRealPath(resolve(gitDir, named)) === obeyedRealPath(root);
};

/** Undefined inside the roots. */
const outsideGitDirectory = (root: string, allowed: readonly string[]): OutsideGitDirectory | undefined => {
  try {
    const gitDir = gitDirOf(resolve(root, ".git"));
    if (gitDir === undefined) return undefined;
    const path = commonDirOf(gitDir);
    const roots = allowed.map((one) => realOrFuture(resolve(root, one)));
    return insideRoots(path, roots) ? undefined : { path, knowsWorkspace: knows(gitDir, path, root) };
  } catch {
    return undefined;
  }
};

const unknownRepository = (path: string): string =>
  `the .git of this workspace points at ${path}, which is no repository that knows this workspace`;

const UNKNOWN_HINT =
  "whoever made the workspace chose it: remove .git, or, if it is yours, git worktree repair in that repository";

export const requireOutsideGitDirectory = (root: string, allowed: readonly string[]): string => {
  const directory = outsideGitDirectory(root, allowed);
  if (directory === undefined)
    throw new LlmcError("invalid_args", "This workspace has no git directory outside its roots.", {
      hint: "Nothing has to be allowed: --repository is for work trees of git worktree add.",
    });
  if (directory.knowsWorkspace) return directory.path;
  throw new LlmcError("invalid_args", `Nothing is allowed: ${unknownRepository(directory.path)}.`, {
    hint: `Look at it: ${UNKNOWN_HINT}.`,
  });
};

const gitDirectoryFindings = ({ path, knowsWorkspace }: OutsideGitDirectory): readonly Finding[] => [
  {
    name: "repository",
    state: "weak",
    detail: knowsWorkspace
      ? `the git directory of this work tree is ${path}, outside the roots, so git does not run here`
      : `${unknownRepository(path)}, so git does not run here`,
    fix: knowsWorkspace ? "llmc allow --repository" : UNKNOWN_HINT,
  },
];

/** What the user's own programs find above the workspace, and commands do not. */
export const examineAbove = (root: string, loaded: Loaded | undefined): readonly Finding[] => {
  if (loaded === undefined) return [];
  const { allowed_roots: allowed, command_read_paths: read } = loaded.config.mcp.tools;
  const roots = allowed.map((path) => resolve(root, path));
  const seen = [...roots, ...read.map((path) => resolve(root, path))];
  const packages = packagesAbove(root);
  const repository = gitDirOf(resolve(root, ".git"))
    ? undefined
    : repositoriesAbove(roots).find((path) => knownGitDirOf(path) !== undefined);
  const opened = loaded.config.mcp.tools.git_directories;
  const gitDirectory = outsideGitDirectory(root, [...allowed, ...opened]);
  return [
    ...(gitDirectory === undefined ? [] : gitDirectoryFindings(gitDirectory)),
    ...(packages === undefined || insideRoots(packages, seen)
      ? []
      : [
          {
            name: "packages",
            state: "weak" as const,
            detail: `${packages} lies above the workspace, so commands do not see it`,
            fix: `--root ${dirname(packages)}, or command_read_paths = ["${packages}"]`,
          },
        ]),
    ...(repository === undefined
      ? []
      : [
          {
            name: "repository",
            state: "weak" as const,
            detail: `${dirname(repository)} is the repository of this workspace, and git uses none above it`,
            fix: `--root ${dirname(repository)}`,
          },
        ]),
  ];
};
