import { posix } from "node:path";
import { LlmcError } from "../../base/error.ts";
import { quoteForMessage } from "../../base/text.ts";
import { insideRoots } from "../../policy/paths.ts";
import { closedPaths } from "../../policy/reach.ts";
import { OBEYED_IDS, REACH } from "../../policy/reach-table.ts";
import type { Reach } from "../reach/reach.ts";
import { type GitRepository, obeyedParts } from "./git/repository.ts";
import type { ReadPaths } from "./read-paths.ts";
import { coverFiles } from "./scan/cover-files.ts";
import { type ObeyedName, obeyedTargets } from "./scan/obeyed-names.ts";
import type { Finding } from "./scan/workspace-scan.ts";
import type { SandboxProfile } from "./tiers/contract.ts";
import type { CommandLimits } from "./tree/limits.ts";

/** What the profile is made for. */
export interface ProfileRequest {
  readonly cwd: string;
  readonly writes: boolean;
  readonly network: boolean;
  readonly noFork: boolean;
  readonly limits: CommandLimits;
  /**
   * Set where the program is git: the repository that it works on, the withheld files that it tracks and that
   * are unmodified, and whether it may write start-up files, because it writes only tracked content.
   */
  readonly git:
    | {
        readonly repository: GitRepository | undefined;
        readonly unmodified: ReadonlySet<string>;
        readonly writesTracked: boolean;
      }
    | undefined;
  /** Whether single names in a writable folder can be guarded; Landlock closes the whole folder then. */
  readonly guardsNames: boolean;
  /** What the operator opened besides the roots. */
  readonly readPaths: ReadPaths;
}

/** Number of names that bubblewrap covers in about 50 ms; the time grows with the square of that number. */
const MAX_COVERED = 100;
/** Each is a mount, and so is every folder between it and its root. */
const MAX_READ_ONLY = 120;

const tooManySecrets = (count: number): LlmcError =>
  new LlmcError(
    "unavailable",
    `More than ${MAX_COVERED} of ${count} withheld files lie in a root itself, so no command can be kept from them.`,
    { hint: "Move them into a folder of their own, or narrow mcp.tools.denylist_globs." },
  );

const tooManyProtected = (count: number): LlmcError =>
  new LlmcError(
    "unavailable",
    `${count} start-up files and git directories lie in this folder, too many to keep a writing command from them.`,
    {
      hint: "Run it in a folder further down, or narrow mcp.tools.startup_globs or mcp.tools.allowed_roots.",
    },
  );

const cannotBeNamed = (): LlmcError =>
  new LlmcError(
    "unavailable",
    "Something that is withheld or obeyed has a name that is not UTF-8, or lies too deep, so no command can be kept from it.",
    { hint: "Rename it, or move it into a folder of its own inside the workspace." },
  );

/** A longer path, prefixed with the directory in which the sandbox is assembled, exceeds the system's limit. */
const MAX_MOUNT_BYTES = 2048;

/** The path itself, or the nearest parent folder whose path can be passed to a sandbox. */
const nearestNameable = (path: string, roots: readonly string[]): string => {
  if (path.isWellFormed() && Buffer.byteLength(path) <= MAX_MOUNT_BYTES) return path;
  const above = posix.dirname(path);
  if (!insideRoots(above, roots) || roots.includes(above)) throw cannotBeNamed();
  return nearestNameable(above, roots);
};

const pathsOf = (
  findings: readonly Finding[],
  kind: Finding["kind"],
  roots: readonly string[],
): readonly string[] => [
  ...new Set(
    findings
      .filter((finding) => finding.kind === kind && !finding.isLink)
      .map(({ path }) => nearestNameable(path, roots)),
  ),
];

/** The nearest folder around the working directory that is a project by itself; the directory where there is none. */
const projectOf = (cwd: string, roots: readonly string[], findings: readonly Finding[]): string => {
  const tops = new Set(findings.filter(({ kind }) => kind === "git").map(({ path }) => posix.dirname(path)));
  for (let dir = cwd; insideRoots(dir, roots) && dir !== "/"; dir = posix.dirname(dir))
    if (tops.has(dir)) return dir;
  return cwd;
};

/** Entries of the table that commands must not change; those that they must not see either are hidden besides. */
const readOnlyPaths = ({ reachRules }: Reach): readonly string[] =>
  OBEYED_IDS.filter((id) => !REACH[id].write.includes("commands")).flatMap(
    (id) => reachRules.obeyedPaths[id],
  );

const needsNamespaces = (): LlmcError =>
  new LlmcError(
    "unavailable",
    "This git command writes, and starts other programs that would write as well.",
    {
      hint: "It needs the bubblewrap sandbox, in which hooks and configuration stay read-only: see `llmc doctor`.",
    },
  );

/** Git's own repository is writable for git that may write, except what git executes or obeys. */
const readOnlyGit = (
  gitDirs: readonly string[],
  { git, noFork, guardsNames }: ProfileRequest,
  roots: readonly string[],
): readonly string[] => {
  if (git?.repository === undefined) return gitDirs;
  const { gitDir, commonDir } = git.repository;
  const others = gitDirs.filter((path) => path !== gitDir && path !== commonDir);
  if (guardsNames) return [...others, ...obeyedParts(git.repository, roots)];
  // Git alone writes its index, objects and refs; what it would start might write the rest.
  if (!noFork) throw needsNamespaces();
  return others;
};

/** What bytes that are not UTF-8 are decoded to: another name than the one that is obeyed. */
const UNKNOWN_BYTES = "\uFFFD";

const cannotBeHeld = (path: string): LlmcError =>
  new LlmcError(
    "forbidden",
    `No command that can write is started: ${quoteForMessage(path)} is obeyed, and its name is not UTF-8, so it cannot be held.`,
    { hint: "The user has to rename it, or remove the link or setting that leads there." },
  );

const elsewherePaths = (
  { git, guardsNames }: ProfileRequest,
  obeyedNames: readonly ObeyedName[],
): readonly string[] => {
  if (git === undefined) return obeyedTargets(obeyedNames);
  const { gitDir, commonDir } = git.repository ?? {};
  const directories = [gitDir, commonDir].filter((path) => path !== undefined);
  const own = guardsNames ? [] : directories;
  const guarded = obeyedNames
    .filter(({ kind }) => !(kind === "startup" && git.writesTracked))
    // What it obeys in its own directories is guarded part by part.
    .filter(({ real }) => !insideRoots(real, own) && !directories.includes(real));
  return obeyedTargets(guarded);
};

/**
 * Turns the reach table (`policy/reach.ts`) into the sandbox profile of one command. A command that writes nothing gets
 * every root read-only, so that nothing has to be guarded one by one; what is secret is withheld from both kinds.
 */
export const buildProfile = (
  request: ProfileRequest,
  reach: Reach,
  findings: readonly Finding[],
  obeyedNames: readonly ObeyedName[],
): SandboxProfile => {
  const { roots } = reach.rules;
  const { stateFiles } = reach.reachRules;
  // To be covered, what is missing is made: as a folder, which a file must not become.
  const closed = closedPaths("commands", reach.reachRules).filter(
    (path) => !stateFiles.includes(path) || reach.reachRules.entryKind(path) !== undefined,
  );
  const inRoots = (path: string): boolean => insideRoots(path, roots);
  const secrets = pathsOf(findings, "secret", roots);
  const unseen = [...pathsOf(findings, "closed", roots), ...pathsOf(findings, "unknown", roots)];
  const cover = coverFiles([...secrets, ...unseen], roots, MAX_COVERED);
  if (cover === undefined) throw tooManySecrets(secrets.length);
  const { folders: opened, hidden, withheld } = request.readPaths;
  const covered =
    request.git === undefined ? cover : cover.filter((path) => !request.git?.unmodified.has(path));
  const shared = {
    hidden: [...new Set([...[...closed, ...pathsOf(findings, "state", roots)].filter(inRoots), ...hidden])],
    withheld: [...covered, ...withheld],
    refusesWithheld: request.git !== undefined,
    network: request.network,
    noFork: request.noFork,
    limits: request.limits,
  };
  if (!request.writes)
    return { ...shared, writable: [], readableRoots: [...roots, ...opened], protectedInside: [] };

  const gitDirs = pathsOf(findings, "git", roots);
  // Git with write access may check out start-up files with a branch; nobody may change hooks and configuration.
  const writesTracked = request.git?.writesTracked === true;
  const startup = writesTracked ? [] : pathsOf(findings, "startup", roots);
  const elsewhere = elsewherePaths(
    request,
    obeyedNames.filter(({ real }) => inRoots(real)),
  ).map((path) => nearestNameable(path, roots));
  const placed = [...readOnlyPaths(reach), ...pathsOf(findings, "config", roots)].filter(
    (path) => !writesTracked || !reach.reachRules.obeyedPaths.startup.includes(path),
  );
  const readOnly = [
    ...new Set([...placed, ...startup, ...elsewhere, ...readOnlyGit(gitDirs, request, roots)]),
  ].filter((path) => inRoots(path) && !insideRoots(path, [...shared.hidden, ...shared.withheld]));
  const unnamed = readOnly.find((path) => path.includes(UNKNOWN_BYTES));
  if (unnamed !== undefined) throw cannotBeHeld(unnamed);
  const replaceable = [
    // A new file in a folder that Landlock has closed is out of the command's reach, unlike one beside a lost mount.
    ...(request.guardsNames
      ? []
      : [...reach.reachRules.obeyedPaths.config, ...reach.reachRules.obeyedPaths.state]),
    ...reach.reachRules.obeyedPaths.startup,
    ...startup,
    ...gitDirs,
  ];
  const own = request.git?.repository;
  const writableAgain =
    own === undefined
      ? []
      : [own.gitDir, own.commonDir].filter((path) =>
          readOnly.some((other) => other !== path && insideRoots(path, [other])),
        );
  if (readOnly.length <= MAX_READ_ONLY)
    return {
      ...shared,
      writable: roots,
      readableRoots: opened,
      protectedInside: readOnly,
      replaceable,
      writableAgain,
    };

  // Rather than guard hundreds of names, only the project around the working directory is writable.
  const project = projectOf(request.cwd, roots, findings);
  const inProject = readOnly.filter((path) => insideRoots(path, [project]));
  if (inProject.length > MAX_READ_ONLY) throw tooManyProtected(inProject.length);
  return {
    ...shared,
    writable: [project],
    readableRoots: [...roots, ...opened],
    protectedInside: inProject,
    replaceable,
    writableAgain,
  };
};
