import { dirname, resolve } from "node:path";
import type { Finding } from "../cli/doctor-command.ts";
import type { Loaded } from "../config/load.ts";
import { gitDirOf } from "../host/git/git-dir.ts";
import { repositoriesAbove } from "../host/git/obeyed-elsewhere.ts";
import { packagesAbove } from "../host/os/packages-above.ts";
import { insideRoots } from "../policy/paths.ts";

/** What the user's own programs find above the workspace, and commands do not. */
export const examineAbove = (root: string, loaded: Loaded | undefined): readonly Finding[] => {
  if (loaded === undefined) return [];
  const { allowed_roots: allowed, command_read_paths: read } = loaded.config.mcp.tools;
  const roots = allowed.map((path) => resolve(root, path));
  const seen = [...roots, ...read.map((path) => resolve(root, path))];
  const packages = packagesAbove(root);
  const repository = gitDirOf(resolve(root, ".git"))
    ? undefined
    : repositoriesAbove(roots).find((path) => gitDirOf(path) !== undefined);
  return [
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
