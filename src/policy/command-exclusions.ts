import { subcommandOf } from "./command-git.ts";

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

/** They search folders, and have no option that reliably excludes a name. */
const RECURSIVE: ReadonlySet<string> = new Set(["ag", "ack", "ugrep", "bat", "batcat"]);

export type Exclusion =
  | { readonly kind: "arguments"; readonly args: readonly string[] }
  | { readonly kind: "refused"; readonly why: "recursive" | "links" };

/** What git shows of files that it does not keep, or not as they are now. */
export const gitShowsSecrets = (
  args: readonly string[],
  secrets: { readonly untracked: boolean; readonly changed: boolean },
): boolean => {
  const subcommand = subcommandOf(args);
  if (!["grep", "diff", "diff-files", "diff-index", "status", "stash", "blame"].includes(subcommand ?? ""))
    return false;
  const goesBeyond = args.some((arg) => /^--(u|no-i|no-e)/.test(arg));
  return (secrets.changed && subcommand !== "status") || (secrets.untracked && goesBeyond);
};

/** `names` are the base names of secrets and of the server's own folders in the roots; `args` the arguments after the program. */
export const excludeNames = (
  program: string,
  args: readonly string[],
  names: readonly string[],
): Exclusion => {
  if (names.length === 0) return { kind: "arguments", args };
  if (RECURSIVE.has(program)) return { kind: "refused", why: "recursive" };
  if (followsLinks(program, args)) return { kind: "refused", why: "links" };
  const exclude = EXCLUDES.get(program);
  if (exclude === undefined) return { kind: "arguments", args };
  const end = args.indexOf("--");
  const at = end < 0 ? args.length : end;
  // Twice: an option of the caller may take the first of them as its value.
  const ours = exclude(names);
  return { kind: "arguments", args: [...args.slice(0, at), ...ours, ...ours, ...args.slice(at)] };
};
