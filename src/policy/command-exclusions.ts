import { splitGit } from "./command-git.ts";

/**
 * Without a sandbox, hides secrets by name from programs that search folders recursively (FAIL-J12), by adding the
 * program's own exclude options after the caller's, so that ours win. A program that has none is refused while there
 * are secrets.
 */

/** A name in which nothing is a wildcard. */
const literal = (name: string): string => name.replace(/[*?[\]{}\\!]/g, (letter) => `[${letter}]`);
const escaped = (name: string): string => name.replace(/[*?[\]{}\\!]/g, (letter) => `\\${letter}`);

type Exclude = (names: readonly string[]) => readonly string[];

// Links are not followed: behind one, a secret has another name.
const EXCLUDES: ReadonlyMap<string, Exclude> = new Map<string, Exclude>([
  ["rg", (names) => ["--no-follow", ...names.map((name) => `--iglob=!**/${escaped(name)}`)]],
  ...["grep", "egrep", "fgrep"].map(
    (program) =>
      [
        program,
        (names: readonly string[]) =>
          names.flatMap((name) => [`--exclude=${literal(name)}`, `--exclude-dir=${literal(name)}`]),
      ] as const,
  ),
  ["diff", (names) => ["--no-dereference", ...names.map((name) => `--exclude=${literal(name)}`)]],
]);

/** grep follows links with one option and has none that takes it back. */
const followsLinks = (program: string, args: readonly string[]): boolean =>
  /^[ef]?grep$/.test(program) && args.some((arg) => /^-(?!-)[^ ]*R|^--de/.test(arg));

/**
 * They show no content of files below a folder that they are given: they do not go into it, or tell names and sizes alone.
 * Git is judged by itself, and pytest runs the code of the folder, which nothing holds on the plain tier. A program that is
 * not in this list may do anything with a folder.
 */
const KEEPS_OUT: ReadonlySet<string> = new Set(
  (
    "ls dir vdir cat head tail wc stat file find tree sort uniq git pytest pwd echo printf true false test [ basename dirname " +
    "realpath readlink du df cut tr tac rev nl paste join comm cmp fold fmt expand column tee touch mkdir rmdir rm mv chmod " +
    "chown chgrp ln truncate md5sum sha1sum sha256sum sha512sum cksum base64 od xxd hexdump sed awk gawk mawk jq yq date seq " +
    "sleep uname whoami id nproc which type"
  ).split(" "),
);

/** find runs another program on whatever it finds. */
const handsOn = (program: string, args: readonly string[]): boolean =>
  program === "find" && args.some((arg) => /^-(?:exec|ok)/.test(arg));

/** They search the current folder when they are given none. */
const SEARCHES_BY_ITSELF: ReadonlySet<string> = new Set(["ag", "ack", "ugrep", "bat", "batcat"]);

/** Where an ignore file is a link to what is withheld, ripgrep would print its lines as rules: then it reads none. */
export const withoutIgnoreFiles = (program: string, args: readonly string[]): readonly string[] =>
  program === "rg" ? insertOptions(args, ["--no-ignore"]) : args;

/** Before what ends the options. Twice: an option of the caller may take the first of them as its value. */
const insertOptions = (args: readonly string[], ours: readonly string[]): readonly string[] => {
  const end = args.indexOf("--");
  const at = end < 0 ? args.length : end;
  return [...args.slice(0, at), ...ours, ...ours, ...args.slice(at)];
};

export type Exclusion =
  | { readonly kind: "arguments"; readonly args: readonly string[] }
  | { readonly kind: "refused"; readonly why: "recursive" | "links" };

const PATCHES = String.raw`-(?!-)\S*p|--p(at?c?h?)?$`;

/**
 * The sub-commands that certainly print no content of the work tree, and the arguments of some with which they might: a
 * patch to choose from, or the changes that a commit would have. What git keeps is no content of the work tree.
 */
const PRINTS_NO_CONTENT: ReadonlyMap<string, RegExp | undefined> = new Map<string, RegExp | undefined>([
  ...(
    "log show whatchanged diff-tree range-diff reflog cat-file verify-pack " +
    "ls-files ls-tree rev-parse rev-list describe name-rev for-each-ref show-ref merge-base count-objects " +
    "check-ignore check-attr check-mailmap check-ref-format cherry show-branch shortlog var version " +
    "branch tag remote worktree notes symbolic-ref config " +
    "clean sparse-checkout switch commit-tree hash-object merge-tree mktag mktree pack-refs prune prune-packed " +
    "replace unpack-objects update-index update-ref write-tree format-patch init mv pack-objects " +
    "bundle commit-graph gc merge-file multi-pack-index repack rm read-tree am fsck cherry-pick revert merge apply " +
    "rebase ls-remote push fetch pull clone"
  )
    .split(" ")
    .map((name) => [name, undefined] as const),
  ...["reset", "restore", "checkout"].map((name) => [name, new RegExp(`^(${PATCHES})`)] as const),
  ...["add", "stage"].map((name) => [name, new RegExp(`^(${PATCHES}|-(?!-)\\S*[ie]|--[ie])`)] as const),
  ["commit", new RegExp(`^(${PATCHES}|-(?!-)\\S*v|--v|--int)`)],
]);

/** The arguments of `status` that only choose which names it prints, and how. */
const NAMES_OF_STATUS =
  /^(-[sbz]+|-u(no|normal|all)?|--(short|branch|long|null|show-stash|ignored|porcelain|untracked-files|ignore-submodules|find-renames|column)(=.*)?|--(no-)?(ahead-behind|renames)|--no-column)$/;

const certainlyPrintsNoContent = (subcommand: string, rest: readonly string[]): boolean => {
  if (subcommand === "status") {
    const end = rest.indexOf("--");
    const options = (end < 0 ? rest : rest.slice(0, end)).filter((arg) => arg.startsWith("-"));
    return options.every((arg) => NAMES_OF_STATUS.test(arg));
  }
  if (subcommand === "stash") return rest[0] === "list";
  const unless = PRINTS_NO_CONTENT.get(subcommand);
  return PRINTS_NO_CONTENT.has(subcommand) && !rest.some((arg) => unless?.test(arg) === true);
};

/** Options that take git to files which it does not keep: `--untracked`, `--no-index`, `--no-exclude-standard`. */
const GOES_BEYOND = /^--(u|no-i|no-e)/;

/**
 * What git shows of files that it does not keep, or not as they are now. `git diff` of two paths compares them as
 * `--no-index` does where one of them lies outside the work tree, or where there is none; so no argument may, whatever
 * it stands for.
 */
export const gitShowsSecrets = (
  args: readonly string[],
  secrets: { readonly untracked: boolean; readonly changed: boolean },
  isInWorkTree: (argument: string) => boolean,
): boolean => {
  const { subcommand, rest } = splitGit(args);
  if (subcommand === undefined || certainlyPrintsNoContent(subcommand, rest)) return false;
  const goesBeyond = rest.some((arg) => GOES_BEYOND.test(arg) || !isInWorkTree(arg));
  return secrets.changed || (secrets.untracked && goesBeyond);
};

/** `names` are the base names of secrets and of the server's own folders in the roots; `args` the arguments after the program. Whoever knows no way to exclude names from a program says whether it is given a folder in which there are some. */
export const excludeNames = (
  program: string,
  args: readonly string[],
  names: readonly string[],
  isGivenFolder: boolean,
): Exclusion => {
  if (names.length === 0) return { kind: "arguments", args };
  if (followsLinks(program, args)) return { kind: "refused", why: "links" };
  const exclude = EXCLUDES.get(program);
  if (exclude === undefined) {
    const mayShow =
      SEARCHES_BY_ITSELF.has(program) || handsOn(program, args) || (isGivenFolder && !KEEPS_OUT.has(program));
    return mayShow ? { kind: "refused", why: "recursive" } : { kind: "arguments", args };
  }
  // No argument can have such a name: arguments are UTF-8.
  if (!names.every((name) => name.isWellFormed())) return { kind: "refused", why: "recursive" };
  return { kind: "arguments", args: insertOptions(args, exclude(names)) };
};
