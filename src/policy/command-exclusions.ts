import { subcommandOf } from "./command-git.ts";

/**
 * Keeping secrets by name from programs that go through folders by themselves, where no sandbox does it (FAIL-J12):
 * the program's own option to leave names out, behind the caller's own so that ours win. A program that has none is
 * refused while there are secrets.
 */

/** A name in which nothing is a wildcard. */
const literal = (name: string): string => name.replace(/[*?[\]{}\\!]/g, (letter) => `[${letter}]`);
const escaped = (name: string): string => name.replace(/[*?[\]{}\\!]/g, (letter) => `\\${letter}`);

type Exclude = (names: readonly string[]) => readonly string[];

const EXCLUDES: ReadonlyMap<string, Exclude> = new Map<string, Exclude>([
  ["rg", (names) => names.map((name) => `--iglob=!**/${escaped(name)}`)],
  ...["grep", "egrep", "fgrep"].map(
    (program) =>
      [program, (names: readonly string[]) => names.map((name) => `--exclude=${literal(name)}`)] as const,
  ),
  ["diff", (names) => names.map((name) => `--exclude=${literal(name)}`)],
]);

/** They search folders, and cannot be told to leave a name out for good. */
const RECURSIVE: ReadonlySet<string> = new Set(["ag", "ack", "ugrep", "bat", "batcat"]);

export type Exclusion =
  | { readonly kind: "arguments"; readonly words: readonly string[] }
  | { readonly kind: "refused" };

/** What git shows of files that it does not keep, or not as they are now. */
export const gitShowsSecrets = (
  words: readonly string[],
  secrets: { readonly untracked: boolean; readonly changed: boolean },
): boolean => {
  const subcommand = subcommandOf(words);
  if (!["grep", "diff", "diff-files", "diff-index", "status", "stash", "blame"].includes(subcommand ?? ""))
    return false;
  const goesBeyond = words.some((word) => /^--(u|no-i|no-e)/.test(word));
  return (secrets.changed && subcommand !== "status") || (secrets.untracked && goesBeyond);
};

/** `names` are the base names of the secrets in the roots; `words` the arguments after the program. */
export const excludeNames = (
  program: string,
  words: readonly string[],
  names: readonly string[],
): Exclusion => {
  if (names.length === 0) return { kind: "arguments", words };
  if (RECURSIVE.has(program)) return { kind: "refused" };
  const exclude = EXCLUDES.get(program);
  if (exclude === undefined) return { kind: "arguments", words };
  const end = words.indexOf("--");
  const at = end < 0 ? words.length : end;
  // Twice: an option of the caller's that wants a value may swallow the first of them.
  const ours = exclude(names);
  return { kind: "arguments", words: [...words.slice(0, at), ...ours, ...ours, ...words.slice(at)] };
};
