import type { Stats } from "node:fs";
import { posix } from "node:path";
import { CONFIG_FILE } from "../../base/paths.ts";
import { compileDenylist, type Denylist, leadingFolders } from "../../policy/denylist.ts";
import { isInOtherRepository } from "../../policy/other-repositories.ts";
import {
  insideRoots,
  isState,
  judgeReal,
  judgeWritten,
  nameBeforeRefusal,
  type PathRefusal,
  type PathRules,
} from "../../policy/paths.ts";
import type { GrantedPaths } from "../../policy/permit.ts";
import {
  type FoundFile,
  isConfigName,
  judgeRead,
  type ReachRules,
  readRefusal,
  type Seen,
} from "../../policy/reach.ts";
import { NO_OBEYED_PATHS, type ObeyedId, type ObeyedPaths } from "../../policy/reach-table.ts";
import { entryAt } from "../git/follow-path.ts";
import { obeyedElsewhere, upFrom } from "../git/obeyed-elsewhere.ts";
import { MISSING } from "../git/obeyed-files.ts";
import { createLinkBudget, namesLeadingInto } from "../own-files/names-leading-into.ts";
import { namesLeadingTo } from "../own-files/names-leading-to.ts";
import { realOrFuture } from "../own-files/real-or-future.ts";
import { canLocateByDescriptor, createLocateByDescriptor } from "./locate-by-descriptor.ts";
import { locateByName } from "./locate-by-name.ts";
import type { Locate } from "./located.ts";
import type { ObeyedBeside } from "./obeyed-beside.ts";
import type { OwnWrites } from "./own-writes.ts";
import { cacheByList, createPathRules, resolveLinks } from "./path-rules.ts";
import type { WithheldFiles } from "./withheld-files.ts";

/**
 * What a caller may reach, as configured. What is a function is read again on each call, because the configuration can change; the
 * user's own folders only when the roots have changed.
 */
export interface ReachOptions {
  readonly workspace: string;
  /** Relative to the workspace or absolute. */
  readonly roots: () => readonly string[];
  /** What one call may read besides them. */
  readonly granted?: GrantedPaths;
  /** Globs of names whose content is withheld. */
  readonly denylist: () => readonly string[];
  /** What holds state of the server outside its state folder; relative to the workspace or absolute. */
  readonly stateFolders?: () => readonly string[];
  readonly stateFiles?: () => readonly string[];
  /** Files and folders that are obeyed, by entry of the table; relative to the workspace or absolute. */
  readonly obeyedPaths?: () => Partial<Omit<ObeyedPaths, "state">>;
  /** Folders of modules that the workspace asks for and is not trusted with: protected, but nothing in them is obeyed. */
  readonly waitingModules?: () => readonly string[];
  /** Globs of start-up files. */
  readonly startup?: () => readonly string[];
  /** Git directories outside the roots that git may use; relative to the workspace or absolute. */
  readonly gitDirectories?: () => readonly string[];
  readonly withheldFiles?: WithheldFiles;
  /** Obeyed files with several names that the last scan saw. */
  readonly obeyedFiles?: WithheldFiles;
  readonly obeyedBeside?: ObeyedBeside;
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
  /** Real paths that git alone reaches besides the roots. */
  readonly gitDirectories: readonly string[];
  readonly locate: Locate;
  /**
   * By its name or, where the file itself is known, because the last scan saw it under a withheld one. A folder is
   * withheld only with everything in it; what is there now decides where `file` is left out.
   */
  readonly isWithheld: (realPath: string, file?: FoundFile) => boolean;
  /**
   * Why a caller does not see what is at a real path, or its content. The one place where reads are judged: the file
   * tools, search, index, handles, documents and resources ask it of everything they open or name.
   */
  readonly refuseRead: (realPath: string, what: Seen, file?: FoundFile) => PathRefusal | undefined;
  /**
   * The same of a path by its text, before the disk is touched: refusing here keeps what exists outside from showing
   * through the errors. Passing proves nothing yet, because links have not been resolved.
   */
  readonly refuseWritten: (path: string) => PathRefusal | undefined;
  /** By its name alone, for a folder as for a file: where nobody looks at what is in it. */
  readonly hasWithheldName: (path: string) => boolean;
  /** Whether the last scan saw this very file as one that is obeyed and has several names. */
  readonly isObeyedFile: (file: Stats) => boolean;
  /**
   * Withheld by more than a part of its name. A tree of packages always holds some `tokenizer.js.map`, and must still be
   * removable; but not with an `.env` or a key in it.
   */
  readonly isSecret: (realPath: string) => boolean;
  /** The links that searches would obey as ignore files, and that lead to what nobody may read, as far as the last scan saw. */
  readonly closedIgnoreLinks: () => readonly string[];
  /** Whether this path, if it is a folder or a link to one, can contain start-up files. */
  readonly isAboveStartup: (path: string) => boolean;
}

/** The one object that says what a caller may reach. Everything that takes a path asks it, at the start of each call. */
export interface CallerReach extends Pick<ReachOptions, "workspace"> {
  readonly withheldFiles: WithheldFiles | undefined;
  readonly obeyedFiles: WithheldFiles | undefined;
  readonly obeyedBeside: ObeyedBeside | undefined;
  readonly ownWrites: OwnWrites | undefined;
  readonly outsideHint: ReachOptions["outsideHint"] | undefined;
  current(): Reach;
  /** Changes whenever the rules do. */
  rulesKey(): string;
}

/** Globs such as `*token*`, which name a part of a name. */
const PART_OF_NAME = /^(?:\*\*\/)?\*\p{Letter}+\*$/u;

const entryKind: ReachRules["entryKind"] = (path) => {
  const found = entryAt(path);
  if (found === MISSING) return undefined;
  if (found === "closed") return found;
  if (found.isFile()) return "file";
  if (found.isDirectory()) return "directory";
  return found.isSymbolicLink() ? "link" : "other";
};

/** What git includes as configuration, asked of each repository once: of those above a path, and of those of the roots. */
const createGitConfiguration = (
  { roots }: PathRules,
  obeyedBeside: ObeyedBeside | undefined,
): ReachRules["gitConfiguration"] => {
  const known = new Map<string, readonly string[]>();
  const includedBy = (top: string): readonly string[] => {
    const before = known.get(top);
    if (before !== undefined) return before;
    const files = obeyedElsewhere([posix.join(top, ".git")])
      .filter(({ kind }) => kind !== "hooks")
      .map(({ name }) => name)
      .filter((path) => insideRoots(path, roots));
    known.set(top, files);
    return files;
  };
  return (path) => {
    // Nobody's working folder is a link: below it, git starts where it leads.
    const folder = entryKind(path) === "link" ? posix.dirname(path) : path;
    const tops = new Set([folder, ...roots].flatMap(upFrom));
    const elsewhere = (obeyedBeside?.paths() ?? []).filter((name) => insideRoots(name, roots));
    return [...[...tops].flatMap(includedBy), ...elsewhere];
  };
};

/** Entries whose folders the operator fills by hand, with links too. */
const HOLDS_LINKS: ReadonlySet<ObeyedId> = new Set(["config", "modules", "models"]);

/** What is obeyed, with every name that leads there. */
const obeyedPathsFor = (
  options: Pick<ReachOptions, "stateFolders" | "stateFiles" | "obeyedPaths" | "waitingModules">,
  { workspace }: PathRules,
): ObeyedPaths => {
  const state = [...(options.stateFolders?.() ?? []), ...(options.stateFiles?.() ?? [])];
  const given = { ...NO_OBEYED_PATHS, ...options.obeyedPaths?.(), state };
  const spend = createLinkBudget();
  const absolute = (path: string): string => posix.resolve(workspace, path);
  const namesOf = (paths: readonly string[]): readonly string[] =>
    paths.flatMap((path) => namesLeadingTo(absolute(path)));
  // Who changes a link on the way to a configuration file, or one in a folder of modules, changes what is read.
  const resolveAll = (id: ObeyedId, paths: readonly string[]): readonly string[] => {
    // The workspace's file may be anything, a link to all of it as well, but is never read as a folder.
    const isFolder = (path: string): boolean => HOLDS_LINKS.has(id) && !isConfigName(posix.basename(path));
    const folders = paths.filter(isFolder).map(absolute);
    const others = [
      ...paths.filter((path) => !isFolder(path)),
      ...(id === "modules" ? (options.waitingModules?.() ?? []) : []),
    ];
    return [...new Set([...namesOf(others), ...namesLeadingInto(folders, spend)])];
  };
  // The workspace's own configuration file is protected before it exists, and whichever is in force.
  const withConfig = { ...given, config: [CONFIG_FILE, ...given.config] };
  const entries = (Object.keys(withConfig) as ObeyedId[]).map((id) => [id, resolveAll(id, withConfig[id])]);
  return Object.fromEntries(entries) as Record<ObeyedId, readonly string[]>;
};

const noPaths = (): readonly string[] => [];

/** What the options name, prepared again only when they change. */
const createNamed = (options: ReachOptions) => {
  const placed = (paths: readonly string[]): readonly string[] => {
    const absolute = paths.map((path) => posix.resolve(options.workspace, path));
    return absolute.filter((path) => !isState(path)).flatMap((path) => [path, realOrFuture(path)]);
  };
  return {
    stateFiles: cacheByList(options.stateFiles ?? noPaths, placed),
    stateFolders: cacheByList(options.stateFolders ?? noPaths, placed),
    denylist: cacheByList(options.denylist, compileDenylist),
    secrets: cacheByList(options.denylist, (globs) =>
      compileDenylist(globs.filter((glob) => !PART_OF_NAME.test(glob))),
    ),
    startup: cacheByList(options.startup ?? noPaths, compileDenylist),
    aboveStartup: cacheByList(options.startup ?? noPaths, (globs) => compileDenylist(leadingFolders(globs))),
    gitDirectories: cacheByList(options.gitDirectories ?? noPaths, (paths) =>
      paths.map((path) => realOrFuture(posix.resolve(options.workspace, path))),
    ),
  };
};

export const createReach = (options: ReachOptions): CallerReach => {
  const userDirs = (): readonly string[] =>
    (options.obeyedPaths?.().user ?? []).map((path) => posix.resolve(options.workspace, path));
  const currentRules = createPathRules(options.workspace, options.roots, userDirs, options.granted?.paths);
  const named = createNamed(options);
  const locate = options.locate ?? (canLocateByDescriptor() ? createLocateByDescriptor() : locateByName);

  const current = (): Reach => {
    const { rules, ownRoots, stateDirs, userDirs } = currentRules();
    const denies = named.denylist();
    const isNamedSecret = named.secrets();
    const isStartupName = named.startup();
    const isAboveStartup = named.aboveStartup();
    const bases = [rules.workspace, ...rules.roots];
    const isNamed = (list: Denylist, realPath: string, isFolder = false): boolean => {
      const before = nameBeforeRefusal(realPath);
      return list(realPath, bases, isFolder) || (before !== realPath && list(before, bases, isFolder));
    };
    const hasWithheldName = (path: string): boolean => isNamed(denies, path);
    let obeyedPaths: ObeyedPaths | undefined;
    const isWithheld: Reach["isWithheld"] = (realPath, file) => {
      if (typeof file === "object" && options.withheldFiles?.has(file) === true) return true;
      if (!hasWithheldName(realPath)) return false;
      if (file === "file") return true;
      const isFolder = file === undefined ? entryKind(realPath) === "directory" : file.isDirectory();
      return !isFolder || isNamed(denies, realPath, true);
    };
    const reachRules: ReachRules = {
      workspace: rules.workspace,
      roots: [...rules.roots, ...rules.writtenRoots],
      stateDirs,
      stateFolders: named.stateFolders(),
      stateFiles: named.stateFiles(),
      userDirs,
      get obeyedPaths() {
        obeyedPaths ??= obeyedPathsFor(options, rules);
        return obeyedPaths;
      },
      isStartup: (path) => isInOtherRepository(path, bases) || isStartupName(path, bases),
      isWithheld,
      entryKind,
      gitConfiguration: createGitConfiguration(rules, options.obeyedBeside),
    };
    const refuseClosed = (path: string, what: Seen, file?: FoundFile): PathRefusal | undefined => {
      const closed = judgeRead(path, "tools", reachRules, what, file);
      return closed === undefined ? undefined : readRefusal(closed);
    };
    /** Inside the roots, policy has no say about single files. */
    const refuseForbidden = (path: string): PathRefusal | undefined =>
      options.granted !== undefined && !insideRoots(path, ownRoots) && options.granted.forbids(path)
        ? "policy"
        : undefined;
    const refuseRead: Reach["refuseRead"] = (realPath, what, file) =>
      (what === "content of a seen name"
        ? undefined
        : (judgeReal(realPath, rules) ?? refuseForbidden(realPath))) ?? refuseClosed(realPath, what, file);
    return {
      rules,
      gitDirectories: named.gitDirectories(),
      locate,
      isWithheld,
      refuseRead,
      closedIgnoreLinks: () =>
        (options.obeyedBeside?.ignoreLinks() ?? []).filter((link) => {
          const found = resolveLinks(link);
          return found !== undefined && refuseRead(found.real, "content", found.stats) !== undefined;
        }),
      refuseWritten: (path) =>
        judgeWritten(path, rules) ?? refuseForbidden(path) ?? refuseClosed(path, "name"),
      hasWithheldName,
      isObeyedFile: (file) => options.obeyedFiles?.has(file) === true,
      isSecret: (realPath) => isNamed(isNamedSecret, realPath),
      isAboveStartup: (path) => isAboveStartup(path, bases),
      reachRules,
    };
  };

  return {
    workspace: options.workspace,
    withheldFiles: options.withheldFiles,
    obeyedFiles: options.obeyedFiles,
    obeyedBeside: options.obeyedBeside,
    ownWrites: options.ownWrites,
    outsideHint: options.outsideHint,
    current,
    rulesKey: () => JSON.stringify([options.roots(), options.denylist(), options.startup?.() ?? []]),
  };
};
