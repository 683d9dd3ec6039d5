import { insideRoots } from "../../../policy/paths.ts";
import {
  createObeyedBudget,
  type ObeyedElsewhere,
  obeyedElsewhere,
  repositoriesAbove,
  resolveTarget,
} from "../../git/obeyed-elsewhere.ts";
import { filesOfManyNames } from "./other-names.ts";
import type { Finding } from "./workspace-scan.ts";

/** A name that is obeyed, and the target that it resolves to, which must not be changed. */
export interface ObeyedName extends Omit<ObeyedElsewhere, "kind"> {
  readonly kind: ObeyedElsewhere["kind"] | "startup";
}

/** What start-up links, links in git directories and settings of git lead to, as it is now. */
export const obeyedNamesOf = (
  findings: readonly Finding[],
  roots: readonly string[],
): readonly ObeyedName[] => {
  const spend = createObeyedBudget();
  return [
    ...repositoriesAbove(roots).flatMap((path) => obeyedElsewhere(path, spend)),
    ...findings.flatMap(({ kind, path, isLink }): readonly ObeyedName[] => {
      if (kind === "git") return obeyedElsewhere(path, spend);
      return kind === "startup" && isLink ? [{ kind, name: path, real: resolveTarget(path) }] : [];
    }),
  ];
};

/** Names that now resolve to another target, because a link in the path, which no mount can cover, was replaced. */
export const findRedirected = (names: readonly ObeyedName[], roots: readonly string[]): readonly string[] =>
  names
    .filter(({ name, real }) => name !== real && insideRoots(name, roots) && resolveTarget(name) !== real)
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
    ...obeyedNames.map(({ real }) => real),
    ...configFiles,
  ]);
};
