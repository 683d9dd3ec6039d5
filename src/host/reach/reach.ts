import { lstatSync, type Stats } from "node:fs";
import { posix } from "node:path";
import { CONFIG_FILE } from "../../base/paths.ts";
import { compileDenylist, type Denylist, leadingFolders } from "../../policy/denylist.ts";
import { insideRoots, nameBeforeRefusal, type PathRules } from "../../policy/paths.ts";
import { NO_OBEYED_PATHS, type ObeyedId, type ObeyedPaths, type ReachRules } from "../../policy/reach.ts";
import { obeyedElsewhere, upFrom } from "../git/obeyed-elsewhere.ts";
import { namesLeadingInto, namesLeadingTo } from "../own-files/names-leading-to.ts";
import { canLocateByDescriptor, createLocateByDescriptor } from "./locate-by-descriptor.ts";
import { locateByName } from "./locate-by-name.ts";
import type { Locate } from "./located.ts";
import type { OwnWrites } from "./own-writes.ts";
import { cacheByList, createPathRules } from "./path-rules.ts";
import type { WithheldFiles } from "./withheld-files.ts";

/**
 * What a caller may reach, as configured. Every value is read again on each call, because the configuration can change.
 */
export interface ReachOptions {
  readonly workspace: string;
  /** Relative to the workspace or absolute. */
  readonly roots: () => readonly string[];
  /** Globs of names whose content is withheld. */
  readonly denylist: () => readonly string[];
  /** Files and folders that are obeyed, by entry of the table; relative to the workspace or absolute. */
  readonly obeyedPaths?: () => Partial<ObeyedPaths>;
  /** Globs of start-up files. */
  readonly startup?: () => readonly string[];
  readonly withheldFiles?: WithheldFiles;
  /** Obeyed files with several names that the last scan saw. */
  readonly obeyedFiles?: WithheldFiles;
  readonly ownWrites?: OwnWrites;
  /** What the operator could still do about a path outside the roots, in one sentence. */
  readonly outsideHint?: (path: string) => string | undefined;
  /** If omitted, the best method that works on this machine. */
  readonly locate?: Locate;
}

/** What one call may reach, as it is at the call's start. */
export interface Reach {
  readonly rules: PathRules;
  readonly reachRules: ReachRules;
  readonly locate: Locate;
  /**
   * By its name or, where the file itself is known, because the last scan saw it under a withheld one. A folder is
   * withheld only with everything in it; what is there now decides where `file` is left out.
   */
  readonly isWithheld: (realPath: string, file?: Stats) => boolean;
  /** By its name alone, for a folder as for a file: where nobody looks at what is in it. */
  readonly hasWithheldName: (path: string) => boolean;
  /** Whether the last scan saw this very file as one that is obeyed and has several names. */
  readonly isObeyedFile: (file: Stats) => boolean;
  /**
   * Withheld by more than a part of its name. A tree of packages always holds some `tokenizer.js.map`, and must still be
   * removable; but not with an `.env` or a key in it.
   */
  readonly isSecret: (realPath: string) => boolean;
  /** Whether this path, if it is a folder or a link to one, can contain start-up files. */
  readonly isAboveStartup: (path: string) => boolean;
}

/** The one object that says what a caller may reach. Everything that takes a path asks it, at the start of each call. */
export interface CallerReach extends Pick<ReachOptions, "workspace"> {
  readonly withheldFiles: WithheldFiles | undefined;
  readonly obeyedFiles: WithheldFiles | undefined;
  readonly ownWrites: OwnWrites | undefined;
  readonly outsideHint: ReachOptions["outsideHint"] | undefined;
  current(): Reach;
  /** Changes whenever the rules do. */
  rulesKey(): string;
}

/** Globs such as `*token*`, which name a part of a name. */
const PART_OF_NAME = /^(?:\*\*\/)?\*\p{Letter}+\*$/u;

const entryKind: ReachRules["entryKind"] = (path) => {
  let found: Stats | undefined;
  try {
    found = lstatSync(path, { throwIfNoEntry: false });
  } catch {
    // A part of the path is a file, or closed to us: nothing is there that git could find.
    return undefined;
  }
  if (found === undefined) return undefined;
  if (found.isFile()) return "file";
  if (found.isDirectory()) return "directory";
  return found.isSymbolicLink() ? "link" : "other";
};

/** What git includes as configuration, asked of each repository once: of those above a path, and of those of the roots. */
const createGitConfiguration = ({ roots }: PathRules): ReachRules["gitConfiguration"] => {
  const known = new Map<string, readonly string[]>();
  const includedBy = (top: string): readonly string[] => {
    const before = known.get(top);
    if (before !== undefined) return before;
    const entry = posix.join(top, ".git");
    const found = entryKind(entry) === undefined ? [] : obeyedElsewhere(entry);
    const files = found
      .filter(({ kind }) => kind === "config")
      .flatMap(({ name, real }) => [name, real])
      .filter((path) => insideRoots(path, roots));
    known.set(top, files);
    return files;
  };
  return (path) => {
    const tops = new Set([path, ...roots].flatMap(upFrom));
    return [...tops].flatMap(includedBy);
  };
};

/** Entries whose folders the operator fills by hand, with links too. */
const HOLDS_LINKS: ReadonlySet<ObeyedId> = new Set(["config", "modules", "models"]);

const noGlobs = (): readonly string[] => [];

export const createReach = (options: ReachOptions): CallerReach => {
  const closed = (): readonly string[] =>
    (options.obeyedPaths?.().user ?? []).map((path) => posix.resolve(options.workspace, path));
  const currentRules = createPathRules(options.workspace, options.roots, closed);
  const currentDenylist = cacheByList(options.denylist, compileDenylist);
  const currentSecrets = cacheByList(options.denylist, (globs) =>
    compileDenylist(globs.filter((glob) => !PART_OF_NAME.test(glob))),
  );
  const currentStartup = cacheByList(options.startup ?? noGlobs, compileDenylist);
  const currentAbove = cacheByList(options.startup ?? noGlobs, (globs) =>
    compileDenylist(leadingFolders(globs)),
  );
  const locate = options.locate ?? (canLocateByDescriptor() ? createLocateByDescriptor() : locateByName);

  const obeyedPathsFor = ({ workspace }: PathRules): ObeyedPaths => {
    const given = { ...NO_OBEYED_PATHS, ...options.obeyedPaths?.() };
    // Who changes a link on the way to a configuration file, or one in a folder of modules, changes what is read.
    const resolveAll = (id: ObeyedId, paths: readonly string[]): readonly string[] => {
      const written = paths.map((path) => posix.resolve(workspace, path));
      return [...new Set(written.flatMap(HOLDS_LINKS.has(id) ? namesLeadingInto : namesLeadingTo))];
    };
    // The workspace's own configuration file is protected before it exists, and whichever is in force.
    const withConfig = { ...given, config: [CONFIG_FILE, ...given.config] };
    const entries = (Object.keys(withConfig) as ObeyedId[]).map((id) => [id, resolveAll(id, withConfig[id])]);
    return Object.fromEntries(entries) as Record<ObeyedId, readonly string[]>;
  };

  const current = (): Reach => {
    const rules = currentRules();
    const denies = currentDenylist();
    const isNamedSecret = currentSecrets();
    const isStartupName = currentStartup();
    const isAboveStartup = currentAbove();
    const bases = [rules.workspace, ...rules.roots];
    const isNamed = (list: Denylist, realPath: string, isFolder = false): boolean => {
      const before = nameBeforeRefusal(realPath);
      return list(realPath, bases, isFolder) || (before !== realPath && list(before, bases, isFolder));
    };
    const hasWithheldName = (path: string): boolean => isNamed(denies, path);
    let obeyedPaths: ObeyedPaths | undefined;
    const isWithheld: Reach["isWithheld"] = (realPath, file) => {
      if (file !== undefined && options.withheldFiles?.has(file) === true) return true;
      if (!hasWithheldName(realPath)) return false;
      const isFolder = file === undefined ? entryKind(realPath) === "directory" : file.isDirectory();
      return !isFolder || isNamed(denies, realPath, true);
    };
    return {
      rules,
      locate,
      isWithheld,
      hasWithheldName,
      isObeyedFile: (file) => options.obeyedFiles?.has(file) === true,
      isSecret: (realPath) => isNamed(isNamedSecret, realPath),
      isAboveStartup: (path) => isAboveStartup(path, bases),
      reachRules: {
        workspace: rules.workspace,
        roots: [...rules.roots, ...rules.writtenRoots],
        get obeyedPaths() {
          obeyedPaths ??= obeyedPathsFor(rules);
          return obeyedPaths;
        },
        isStartup: (path) => isStartupName(path, bases),
        isWithheld,
        entryKind,
        gitConfiguration: createGitConfiguration(rules),
      },
    };
  };

  return {
    workspace: options.workspace,
    withheldFiles: options.withheldFiles,
    obeyedFiles: options.obeyedFiles,
    ownWrites: options.ownWrites,
    outsideHint: options.outsideHint,
    current,
    rulesKey: () => JSON.stringify([options.roots(), options.denylist(), options.startup?.() ?? []]),
  };
};
