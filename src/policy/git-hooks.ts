import { splitGit } from "./command-git.ts";

const COMMITS = "prepare-commit-msg commit-msg post-commit";

/** Hooks on the user's side that a sub-command runs (githooks(5)). */
const HOOKS: Readonly<Record<string, string>> = {
  commit: `pre-commit ${COMMITS} post-rewrite`,
  merge: `pre-merge-commit ${COMMITS} post-merge`,
  pull: `pre-merge-commit ${COMMITS} post-merge`,
  "cherry-pick": COMMITS,
  revert: COMMITS,
  rebase: "pre-rebase post-checkout post-rewrite",
  am: "applypatch-msg pre-applypatch post-applypatch",
  push: "pre-push",
  checkout: "post-checkout",
  switch: "post-checkout",
  worktree: "post-checkout",
};

/** Hooks that this option of these sub-commands leaves out. */
const VERIFYING: ReadonlySet<string> = new Set([
  "pre-commit",
  "commit-msg",
  "pre-merge-commit",
  "pre-push",
  "pre-rebase",
]);

/** Of a work tree, only adding one runs a hook. */
const isPassive = (subcommand: string, [mode]: readonly string[]): boolean =>
  subcommand === "worktree" && mode !== "add";

export const hooksOf = (args: readonly string[]): readonly string[] => {
  const { subcommand = "", rest } = splitGit(args);
  const names = Object.hasOwn(HOOKS, subcommand) ? (HOOKS[subcommand] ?? "") : "";
  if (names === "" || isPassive(subcommand, rest) || rest.includes("--abort")) return [];
  const isUnverified = rest.includes("--no-verify") || (subcommand === "commit" && rest.includes("-n"));
  const isAmended = subcommand !== "commit" || rest.includes("--amend");
  return names
    .split(" ")
    .filter((name) => !(isUnverified && VERIFYING.has(name)) && (isAmended || name !== "post-rewrite"));
};

const SIGNING = /^(commit|merge|pull|cherry-pick|revert|rebase|am)$/;

/** The setting by which a sub-command signs what it makes; undefined where it makes nothing that is signed. */
export const signingKeyOf = (args: readonly string[]): string | undefined => {
  const { subcommand = "", rest } = splitGit(args);
  if (rest.includes("--no-gpg-sign") || rest.includes("--abort")) return undefined;
  if (SIGNING.test(subcommand)) return "commit.gpgsign";
  const isMade = rest.some((arg) => /^(-[am]|--annotate|--message)/.test(arg));
  return subcommand === "tag" && isMade ? "tag.gpgsign" : undefined;
};
