import { LlmcError } from "../base/error.ts";
import { splitGit } from "./command-git.ts";
import { parseArguments } from "./command-options.ts";
import { pathspecsWithout } from "./git-held-paths.ts";
import { isRefusedName, REFUSED_GLOB } from "./paths.ts";

/** Withheld files that git would take into its objects, by their names from the top of the work tree. */
export interface WithheldPaths {
  readonly names: readonly string[];
  /** Whether git keeps one of them, with another content than it has now. */
  readonly isChanged: boolean;
}

/** Each is two arguments. */
const MAX_NAMES = 100;

const refuseCollecting = (subcommand: string): LlmcError =>
  new LlmcError(
    "forbidden",
    `git ${subcommand} would take withheld files along, which could be read there.`,
    {
      hint: "No sandbox works on this machine (see `llmc doctor`). Name each file: git add -- FILE, then git commit.",
    },
  );

/** Options by which names of files come from elsewhere; the beginning of a name counts as the name. */
const NAMES_FROM_ELSEWHERE: ReadonlyMap<string, RegExp> = new Map([
  ["hash-object", /^--stdin-/],
  ["update-index", /^--st/],
  ...["add", "stage", "commit", "stash"].map((name) => [name, /^--pathsp/] as const),
]);

const refusePatch = (): LlmcError =>
  new LlmcError("forbidden", "git apply would copy or rename withheld files where the patch says so.", {
    hint: "No sandbox works on this machine (see `llmc doctor`). Let git apply --index change what git keeps (--index comes first), or use repo_write_patch.",
  });

/**
 * A patch names what is copied or renamed, where no check of the arguments sees it. What is in the index is in git's
 * objects already. Only the first argument is certainly no value of another one.
 */
const keepsToIndex = ([first = "", ...others]: readonly string[]): boolean =>
  (first === "--index" || first === "--cached") && !others.some((arg) => /^--no-[ic]/.test(arg));

const COMMIT_OPTIONS = {
  flags: "aeinopqsvz --all --amend --no-edit --quiet --verbose --signoff --allow-empty --include --only",
  values: "CFcmt",
  attached: "Su",
  longValues: "--message --file --author --date --fixup --squash --reuse-message --reedit-message --template",
};

const commitWithout = (rest: readonly string[], { names, isChanged }: WithheldPaths): readonly string[] => {
  if (!isChanged) return rest;
  const { options, operands } = parseArguments(rest, COMMIT_OPTIONS);
  if (options.some(({ name }) => name === "-a" || /^--al?l?$/.test(name))) throw refuseCollecting("commit");
  return operands.length === 0 ? rest : [...rest, ...names.flatMap(pathspecsWithout)];
};

const operandsOf = (rest: readonly string[]): readonly string[] => {
  const end = rest.indexOf("--");
  return rest.filter((arg, at) => !arg.startsWith("-") || (end >= 0 && at > end));
};

const addWithout = (rest: readonly string[], pathspecs: readonly string[]): readonly string[] => {
  const hasPaths = operandsOf(rest).length > 0;
  const takesAll = rest.some((arg) => /^(-[a-zA-Z]*[Au]|--a|--no-ignore-r|--up)/.test(arg));
  if (!hasPaths && !takesAll) return rest;
  return [...rest, ...(hasPaths ? [] : [":(top)"]), ...pathspecs];
};

/**
 * The arguments of a git command that takes files into git's objects, without those that are withheld: what git has
 * taken can be read by its hash. Refused where git cannot be told to leave them out.
 */
export const withoutCollected = (args: readonly string[], find: () => WithheldPaths): readonly string[] => {
  const { globals, subcommand = "", rest } = splitGit(args);
  if (subcommand === "apply" && !keepsToIndex(rest) && find().names.length > 0) throw refusePatch();
  const elsewhere = NAMES_FROM_ELSEWHERE.get(subcommand);
  if (elsewhere === undefined) return args;
  const withheld = find();
  if (withheld.names.length === 0) return args;
  const cannotBeNamed =
    withheld.names.length > MAX_NAMES || !withheld.names.every((name) => name.isWellFormed());
  if (cannotBeNamed || rest.some((arg) => elsewhere.test(arg))) throw refuseCollecting(subcommand);
  const before = [...globals, subcommand];
  if (subcommand === "commit") return [...before, ...commitWithout(rest, withheld)];
  return subcommand === "add" || subcommand === "stage"
    ? [...before, ...addWithout(rest, withheld.names.flatMap(pathspecsWithout))]
    : args;
};

const EXCLUDES = /^:(?:[!^]|\(exclude\b)/;

/** Patterns, and what git alone knows how to read. */
const NOT_PLAIN = /[*?[\\:]/;

/**
 * The arguments of a git that adds whatever there is, without the names that are found: nobody asked for those. One that is
 * named outright is added, and one that lies in no folder that is named is not at risk.
 */
export const withoutUnasked = (
  args: readonly string[],
  find: () => readonly string[],
  /** Whether a plain path, as an argument names it, is a folder around a name. */
  isAround: (path: string, name: string) => boolean,
): readonly string[] => {
  const { globals, subcommand = "", rest } = splitGit(args);
  if (subcommand !== "add" && subcommand !== "stage") return args;
  // It takes only what git knows, and these are names that it does not.
  if (rest.some((arg) => /^(?:-[a-zA-Z]*u|--up)/.test(arg))) return args;
  const paths = operandsOf(rest).filter((path) => !EXCLUDES.test(path));
  const isCollected = (name: string): boolean =>
    paths.length === 0 || paths.some((path) => NOT_PLAIN.test(path) || isAround(path, name));
  const names = find()
    .filter((name) => !rest.some((arg) => arg === name || arg.endsWith(`/${name}`)))
    .filter(isCollected);
  return names.length === 0
    ? args
    : [...globals, subcommand, ...addWithout(rest, names.flatMap(pathspecsWithout))];
};

const WITHOUT_REFUSED = ["", "/**"].map((below) => `:(top,exclude,glob)**/${REFUSED_GLOB}${below}`);

/**
 * The arguments of a git that adds what there is, without files that were renamed because a command may have planted them:
 * they wait for the user, and belong into no commit. One that is named outright is added.
 */
export const withoutRefusedNames = (args: readonly string[]): readonly string[] => {
  const { globals, subcommand = "", rest } = splitGit(args);
  if (subcommand !== "add" && subcommand !== "stage") return args;
  if (operandsOf(rest).some((path) => isRefusedName(path))) return args;
  return [...globals, subcommand, ...addWithout(rest, WITHOUT_REFUSED)];
};
