import { follow } from "../git/follow-path.ts";
import { obeyedElsewhere } from "../git/obeyed-elsewhere.ts";
import { refuseOwnClosed } from "./closed-folders.ts";

/** What the last scan saw that leads to obeyed files elsewhere. */
export interface SeenEntries {
  /** Git directories, under whatever name: what they include is obeyed wherever it lies. */
  readonly repositories: readonly string[];
  /** Links that have the name of a configuration file. */
  readonly configLinks: readonly string[];
  /** Folders that could not be looked into. */
  readonly closed: readonly string[];
}

/** What repositories include is asked again after this long: nobody but the user changes their configuration. */
const FRESH_MS = 1000;

/** The configuration files that lie beside what names them: file tools must not write them. */
export type ObeyedBeside = ReturnType<typeof createObeyedBeside>;

const targetsOf = (link: string): readonly string[] => {
  const { target, links } = follow(link);
  return [...links, target];
};

export const createObeyedBeside = () => {
  let seen: SeenEntries = { repositories: [], configLinks: [], closed: [] };
  let asked: { readonly atMs: number; readonly paths: readonly string[] } | undefined;
  return {
    /** What the last scan found. */
    see: (entries: SeenEntries): void => {
      if (JSON.stringify(entries) === JSON.stringify(seen)) return;
      seen = entries;
      asked = undefined;
    },
    /** Real paths of configuration, and of the links on the way to it. */
    paths: (): readonly string[] => {
      const nowMs = performance.now();
      if (asked !== undefined && nowMs - asked.atMs < FRESH_MS) return asked.paths;
      refuseOwnClosed(seen.closed);
      const ofGit = obeyedElsewhere(seen.repositories)
        .filter(({ kind }) => kind !== "hooks")
        .map(({ name }) => name);
      asked = { atMs: nowMs, paths: [...new Set([...ofGit, ...seen.configLinks.flatMap(targetsOf)])] };
      return asked.paths;
    },
  };
};
