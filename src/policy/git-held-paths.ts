import { posix } from "node:path";
import { LlmcError } from "../base/error.ts";
import { splitGit } from "./command-git.ts";
import { GIT_COMMANDS } from "./command-git-table.ts";
import { parseArguments } from "./command-options.ts";

/** Paths that git cannot change or remove: mounts of the sandbox, by their names from the top of the work tree. */
export interface HeldPaths {
  readonly names: readonly string[];
  /** One of them that git keeps; asked only where the answer matters. */
  readonly tracked: () => string | undefined;
  /** One of them that git keeps, and whose content is another now. */
  readonly changed: () => string | undefined;
}

export const refuseHeld = (name: string, what: string, wayOut: string): LlmcError =>
  new LlmcError("forbidden", `No command changes ${name}, and ${what}.`, { hint: wayOut });

/**
 * Pathspecs that leave out a path and all that is below it. They begin with a wildcard, since git takes a literal path
 * for one that is to be added, and complains if it is ignored.
 */
export const pathspecsWithout = (name: string): readonly string[] => {
  const [first = "", ...others] = name;
  const rest = others.join("").replaceAll(/[*?[\]\\]/g, "\\$&");
  const pathspec = `:(top,exclude,glob)${/[\w.]/.test(first) ? `[${first}]` : "*"}${rest}`;
  return [pathspec, `${pathspec}/**`];
};

const STASH_OPTIONS = {
  flags:
    "akpqSu --all --keep-index --no-keep-index --patch --quiet --staged --include-untracked --no-include-untracked",
  values: "m",
  longValues: "--message --pathspec-from-file",
};

/** A stash removes what it has put away, and stops half way where it cannot. */
const stashWithout = (rest: readonly string[], held: HeldPaths): readonly string[] => {
  const [mode = ""] = rest;
  const isShort = mode === "" || mode.startsWith("-");
  if (!isShort && mode !== "push" && mode !== "save") return rest;
  const args = isShort ? rest : rest.slice(1);
  const { options, operands } = parseArguments(args, STASH_OPTIONS);
  const isEnded = args.includes("--");
  // Git refuses these itself: behind options alone, paths need `--`.
  if (isShort && operands.length > 0 && !isEnded) return rest;
  const has = (...names: readonly string[]): boolean =>
    options.some(({ name }) =>
      names.some((one) => name === one || (name.length > 3 && one.startsWith(name))),
    );
  const takesOthers = has("-u", "--include-untracked", "-a", "--all");
  const tracked = held.tracked();
  if (!takesOthers && tracked === undefined) return rest;
  if (tracked !== undefined && has("-S", "--staged", "--pathspec-from-file"))
    throw refuseHeld(
      tracked,
      "git stash would put it away",
      `Name what to put away: git stash push -- . ':(top,exclude)${tracked}'`,
    );
  const excluded = held.names.flatMap(pathspecsWithout);
  if (mode === "save") {
    const message = operands.length === 0 ? [] : ["-m", operands.join(" ")];
    return ["push", ...options.map(({ name }) => name), ...message, "--", ":(top)", ...excluded];
  }
  const all = operands.length > 0 ? [] : [...(isEnded ? [] : ["--"]), ":(top)"];
  return ["push", ...args, ...all, ...excluded];
};

/** As a pattern of an ignore file, from the top of the work tree. */
const asPattern = (name: string): string => `/${name.replaceAll(/[*?[\]\\!# ]/g, "\\$&")}`;

const CLEAN_OPTIONS = {
  flags: "dfinqxX --force --interactive --dry-run --quiet",
  values: "e",
  longValues: "--exclude",
};

/** The last pattern wins, so ours come behind the caller's. */
const cleanWithout = (rest: readonly string[], { names }: HeldPaths): readonly string[] => {
  const [first = ""] = names;
  if (parseArguments(rest, CLEAN_OPTIONS).options.some(({ name }) => name === "-X"))
    throw refuseHeld(
      first,
      "git clean -X would remove it where git ignores it",
      "Remove ignored files by name, or run it by hand.",
    );
  const end = rest.includes("--") ? rest.indexOf("--") : rest.length;
  const excluded = names.map((name) => `--exclude=${asPattern(name)}`);
  return [...rest.slice(0, end), ...excluded, ...rest.slice(end)];
};

/** Whether its operands are pathspecs, as far as its words tell. */
const takesPathspecs = (subcommand: string, rest: readonly string[]): boolean => {
  const takes = GIT_COMMANDS.get(subcommand)?.pathspecs;
  return takes === "always" || (takes === "after --" && rest.includes("--"));
};

const PATHS_FROM_FILE = /^--pathspec-f/;

/** A command that takes pathspecs leaves out what git keeps with another content than it has now. */
const narrowed = (subcommand: string, rest: readonly string[], held: HeldPaths): readonly string[] => {
  const has = (pattern: RegExp): boolean => rest.some((arg) => pattern.test(arg));
  // These change the index alone.
  const isIndexOnly =
    subcommand === "rm" ? has(/^--c/) : has(/^(-[a-zA-Z]*S|--st)/) && !has(/^(-[a-zA-Z]*W|--w)/);
  const risked = isIndexOnly ? undefined : subcommand === "rm" ? held.tracked() : held.changed();
  if (risked === undefined) return rest;
  const isNamed = rest.some((arg) => held.names.includes(posix.normalize(arg)));
  if (isNamed || has(PATHS_FROM_FILE))
    throw refuseHeld(
      risked,
      `git ${subcommand} would have to`,
      `Name what is meant, without it: git ${subcommand} -- . ':(top,exclude)${risked}'`,
    );
  return [...rest, ...held.names.flatMap(pathspecsWithout)];
};

/**
 * The arguments of a git command that leaves out what it cannot change, so that it is done with the rest; refused
 * where it cannot be told to.
 */
export const withoutHeldPaths = (args: readonly string[], find: () => HeldPaths): readonly string[] => {
  const { globals, subcommand = "", rest } = splitGit(args);
  const isNarrowed = takesPathspecs(subcommand, rest);
  if (!isNarrowed && !["stash", "clean", "reset"].includes(subcommand)) return args;
  const held = find();
  if (held.names.length === 0) return args;
  if (isNarrowed) return [...globals, subcommand, ...narrowed(subcommand, rest, held)];
  const before = [...globals, subcommand];
  if (subcommand === "stash") return [...before, ...stashWithout(rest, held)];
  if (subcommand === "clean") return [...before, ...cleanWithout(rest, held)];
  const changed = rest.some((arg) => /^--ha/.test(arg)) ? held.changed() : undefined;
  if (changed !== undefined)
    throw refuseHeld(
      changed,
      "git reset --hard would bring it back",
      `Use git reset, and then git restore -- . ':(top,exclude)${changed}'`,
    );
  return args;
};
