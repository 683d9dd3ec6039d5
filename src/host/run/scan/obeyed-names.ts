import { insideRoots } from "../../../policy/paths.ts";
import { resolveTarget } from "../../git/follow-path.ts";
import { type ObeyedElsewhere, obeyedElsewhere, repositoriesAbove } from "../../git/obeyed-elsewhere.ts";
import { refuseOwnClosed } from "../../reach/closed-folders.ts";
import { filesOfManyNames } from "./other-names.ts";
import type { Finding } from "./workspace-scan.ts";

/** A name that is obeyed, or leads to what is, and the target that it resolves to. */
export interface ObeyedName extends Omit<ObeyedElsewhere, "kind"> {
  readonly kind: ObeyedElsewhere["kind"] | "startup";
}

/** What start-up links, links in git directories and settings of git lead to, as it is now. */
export const obeyedNamesOf = (
  findings: readonly Finding[],
  roots: readonly string[],
): readonly ObeyedName[] => {
  const repositories = findings.filter(({ kind }) => kind === "git").map(({ path }) => path);
  refuseOwnClosed(findings.filter(({ kind }) => kind === "closed").map(({ path }) => path));
  return [
    ...obeyedElsewhere([...repositoriesAbove(roots), ...repositories]),
    ...findings.flatMap(({ kind, path, isLink }): readonly ObeyedName[] => {
      const isFollowed = isLink && (kind === "startup" || kind === "config");
      return isFollowed ? [{ kind, name: path, real: resolveTarget(path) }] : [];
    }),
  ];
};

/** What must not be changed; of a link on the way, only that it leads there. */
export const obeyedTargets = (names: readonly ObeyedName[]): readonly string[] =>
  names.filter(({ kind }) => kind !== "link").map(({ real }) => real);

/** Names that now resolve to another target, because a link in the path, which no mount can cover, was replaced. */
export const findRedirected = (names: readonly ObeyedName[], roots: readonly string[]): readonly string[] =>
  names
    .filter(({ name, real }) => insideRoots(name, roots) && resolveTarget(name) !== real)
    .map(({ name }) => name);

/** Files that are obeyed and have several names: through another one they could be written. */
export const linkedObeyedFiles = (
  found: readonly Finding[],
  obeyedNames: readonly ObeyedName[],
  configFiles: readonly string[],
): readonly string[] => {
  const guarded = found.filter(({ kind, isLink }) => (kind === "git" || kind === "startup") && !isLink);
  return filesOfManyNames([
    ...guarded.map(({ path }) => path),
    ...obeyedTargets(obeyedNames),
    ...configFiles,
  ]);
};
