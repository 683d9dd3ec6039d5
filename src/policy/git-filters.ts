import { splitGit } from "./command-git.ts";
import { parseArguments } from "./command-options.ts";

/** They store content of the work tree, or write content to it, whatever their arguments are. */
const ALWAYS: ReadonlySet<string> = new Set(
  "merge rebase pull cherry-pick revert am apply read-tree update-index hash-object sparse-checkout".split(
    " ",
  ),
);
const SHOWS: ReadonlySet<string> = new Set(["status", "diff", "diff-files", "diff-index"]);

const COMMIT = {
  flags: "nqvse --no-edit --amend --allow-empty --no-verify --quiet --signoff --verbose",
  values: "mFCct",
  longValues:
    "--message --file --author --date --template --cleanup --trailer --fixup --squash --reuse-message",
};
/** With these alone, a commit takes what the index holds. */
const FROM_INDEX =
  /^(-[nqvsemFCct]|--(no-edit|amend|allow-empty(-message)?|no-verify|quiet|signoff|verbose|message|file|author|date|template|cleanup|trailer|fixup|squash|reuse-message|reset-author|no-gpg-sign|dry-run|short|porcelain))$/;

const ADDS_NAMED = /^(-[vf]+|--verbose|--force|--)$/;

type Stores = (rest: readonly string[]) => boolean;

const commits: Stores = (rest) => {
  const { options, operands } = parseArguments(rest, COMMIT);
  return operands.length > 0 || options.some(({ name }) => !FROM_INDEX.test(name));
};

/** A new branch at the commit that is checked out changes no file. */
const isNewBranch = (rest: readonly string[], option: string): boolean =>
  rest.length === 2 && rest[0] === option;

const BY_ARGUMENTS: ReadonlyMap<string, Stores> = new Map<string, Stores>([
  ["commit", commits],
  ["stash", ([mode = ""]) => !["list", "show", "drop", "clear"].includes(mode)],
  ["checkout", (rest) => !isNewBranch(rest, "-b")],
  ["switch", (rest) => !isNewBranch(rest, "-c") && !isNewBranch(rest, "--create")],
  [
    "restore",
    (rest) => !/^(-S|--staged)$/.test(rest[0] ?? "") || rest.some((arg) => /^(-\w*W|--w)/.test(arg)),
  ],
  ["reset", (rest) => rest.some((arg) => /^--(h|m|k)/.test(arg) && arg !== "--mixed")],
  ["worktree", ([mode]) => mode === "add"],
  ["add", () => true],
  ["stage", () => true],
]);

/** Whether a git command passes content through filters: to store it or check it out, or only to compare it. */
export const useOfFilters = (args: readonly string[]): "stores" | "shows" | undefined => {
  const { subcommand = "", rest } = splitGit(args);
  if (SHOWS.has(subcommand)) return "shows";
  return ALWAYS.has(subcommand) || BY_ARGUMENTS.get(subcommand)?.(rest) === true ? "stores" : undefined;
};

/** The only names that a command adds to the index; undefined where it may be others. */
export const namesAdded = (args: readonly string[]): readonly string[] | undefined => {
  const { subcommand, rest } = splitGit(args);
  if (subcommand !== "add" && subcommand !== "stage") return undefined;
  const options = rest.filter((arg) => arg.startsWith("-"));
  return options.every((option) => ADDS_NAMED.test(option))
    ? rest.filter((arg) => !arg.startsWith("-"))
    : undefined;
};
