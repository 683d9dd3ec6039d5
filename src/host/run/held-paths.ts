import { posix } from "node:path";
import type { WithheldPaths } from "../../policy/git-collected-paths.ts";
import type { HeldPaths } from "../../policy/git-held-paths.ts";
import { insideRoots } from "../../policy/paths.ts";
import { readText } from "../git/files.ts";
import { isThere } from "../git/obeyed-files.ts";
import type { Reach } from "../reach/reach.ts";
import type { GitRepository } from "./git/repository.ts";
import type { createTrackedFinder, TrackedSecrets } from "./git/tracked.ts";
import type { SandboxProfile } from "./tiers/contract.ts";

/** Far more than people write by hand. */
const MAX_PATTERN_BYTES = 65_536;

/** What the sandbox mounts in the work tree: git would fail to replace or remove it after it has done the rest. */
export const heldPaths = (
  { top, gitDir, commonDir }: GitRepository,
  { hidden, withheld = [], protectedInside }: SandboxProfile,
  roots: readonly string[],
  findTracked: ReturnType<typeof createTrackedFinder>,
): HeldPaths => {
  const paths = [...new Set([...protectedInside, ...hidden, ...withheld])].filter(
    (path) =>
      path !== top && insideRoots(path, [top]) && !insideRoots(path, [gitDir, commonDir]) && isThere(path),
  );
  const nameOf = (path: string): string => posix.relative(top, path);
  const find = () => findTracked(paths, roots);
  return {
    names: paths.map(nameOf),
    tracked: () => {
      const { unmodified, changed } = find();
      return [...changed, ...unmodified].map(nameOf)[0];
    },
    changed: () => [...find().changed].map(nameOf)[0],
  };
};

/** What git would take into its objects although nobody may read it. */
export const withheldPaths = (
  { top }: GitRepository,
  paths: readonly string[],
  { unmodified, changed }: TrackedSecrets,
): WithheldPaths => ({
  names: paths
    .filter((path) => path !== top && insideRoots(path, [top]) && !unmodified.has(path))
    .map((path) => posix.relative(top, path)),
  isChanged: changed.size > 0,
});

/** Whether one of the usual files of patterns names it; a wrong answer only adds a note, or leaves it out. */
const isIgnored = ({ top, commonDir }: GitRepository, name: string): boolean =>
  [posix.join(top, ".gitignore"), posix.join(commonDir, "info/exclude")].some((file) =>
    readText(file, MAX_PATTERN_BYTES)
      ?.split("\n")
      .some((line) => posix.basename(line.trim()) === posix.basename(name)),
  );

/** llmc's own configuration, where git does not know it: it holds permissions of this machine. */
export const unknownConfig = (
  repository: GitRepository,
  { rules, reachRules }: Reach,
  findTracked: ReturnType<typeof createTrackedFinder>,
): readonly string[] => {
  const { top } = repository;
  const paths = reachRules.obeyedPaths.config.filter((path) => insideRoots(path, [top]) && isThere(path));
  const { unmodified, changed } = findTracked(paths, rules.roots);
  return paths
    .filter((path) => !unmodified.has(path) && !changed.has(path))
    .map((path) => posix.relative(top, path))
    .filter((name) => !isIgnored(repository, name));
};
