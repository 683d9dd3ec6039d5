import type { LlmcError } from "../base/error.ts";
import { splitGit } from "./command-git.ts";
import { parseArguments } from "./command-options.ts";
import { type HeldPaths, refuseHeld } from "./git-held-paths.ts";

/** A question to git, before a command that would have to change what no command changes. */
export interface HeldTarget {
  /** Arguments of a git that lists the names of held paths which differ. */
  readonly args: readonly string[];
  refusal(name: string): LlmcError;
  /** Where git does not know the commit: then it is a path, whose changes would be lost. */
  unknown(): LlmcError | undefined;
}

interface Move {
  /** The commit that it goes to, as written. */
  readonly to: string;
  /** Whether it brings back what differs in the work tree as well. */
  readonly discards: boolean;
}

const CHECKOUT_OPTIONS = {
  flags: "fqdlmt --force --quiet --detach --merge --track --no-track --guess --no-guess --progress",
  values: "bBcC",
  longValues: "--create --force-create --orphan --conflict",
};

/** Where paths follow, only those are changed, and git says of each what it did. */
const moveOfCheckout = (rest: readonly string[]): Move | undefined => {
  const { options, operands } = parseArguments(rest, CHECKOUT_OPTIONS);
  const discards = options.some(({ name }) => /^(-f|--f(o.*)?|--di.*)$/.test(name));
  const [to = discards ? "HEAD" : undefined] = operands;
  if (to === undefined || operands.length > 1 || rest.includes("--")) return undefined;
  return { to: to === "-" ? "@{-1}" : to, discards };
};

const moveOfReset = (rest: readonly string[]): Move | undefined => {
  const { options, operands } = parseArguments(rest, { flags: "q --hard --keep --merge --quiet" });
  const mode = options.map(({ name }) => name).find((name) => /^--(ha|k|me)/.test(name));
  if (mode === undefined || operands.length > 1) return undefined;
  return { to: operands[0] ?? "HEAD", discards: mode.startsWith("--ha") };
};

const moveOf = (subcommand: string, rest: readonly string[]): Move | undefined => {
  if (subcommand === "checkout" || subcommand === "switch") return moveOfCheckout(rest);
  return subcommand === "reset" ? moveOfReset(rest) : undefined;
};

/** Undefined where the command goes to no other commit, or nothing is held. */
export const heldTarget = (args: readonly string[], find: () => HeldPaths): HeldTarget | undefined => {
  const { globals, subcommand = "", rest } = splitGit(args);
  const move = moveOf(subcommand, rest);
  // An option where a commit should be is for git itself to refuse.
  if (move === undefined || move.to.startsWith("-")) return undefined;
  const { names, tracked, changed } = find();
  if (names.length === 0) return undefined;
  const { to, discards } = move;
  const paths = names.map((name) => `:(top,literal)${name}`);
  const compared = discards ? [to] : ["HEAD", to];
  return {
    args: [
      ...globals,
      "diff",
      "--no-ext-diff",
      "--no-textconv",
      "--name-only",
      "-z",
      ...compared,
      "--",
      ...paths,
    ],
    unknown: () => {
      const name = subcommand === "checkout" ? changed() : undefined;
      return name === undefined
        ? undefined
        : refuseHeld(
            name,
            `git checkout ${to} may bring it back, if that is a path`,
            "Write git checkout -- PATH or git restore PATH, or git switch BRANCH.",
          );
    },
    refusal: (name) =>
      refuseHeld(
        name,
        `git ${subcommand} would have to, because it differs there`,
        tracked() === name
          ? `To go on without it in git: git rm --cached ${name}, commit, and put it into .gitignore. Or the user does this in a terminal.`
          : `The user does this in a terminal; git rm --cached ${name} on that branch takes it out of git, for good.`,
      ),
  };
};
