import { lstatSync, readdirSync } from "node:fs";
import { posix } from "node:path";
import { GIT_STRATEGIES } from "../../../policy/git-settings.ts";
import { parseGitConfig } from "../../git/config.ts";
import { readSmallFile, refusedRepository } from "../../git/files.ts";
import { isThere } from "../../git/obeyed-files.ts";
import type { GitRepository } from "./repository.ts";

/** Folders in which git keeps what it goes on with: a rebase, patches of a mailbox, a series of picks. */
export const PLANS: ReadonlySet<string> = new Set(["rebase-merge", "rebase-apply", "sequencer"]);

const MAX_PLAN_BYTES = 4 * 1024 * 1024;

type Judge = (text: string) => boolean;

/** Every instruction but `exec`, what counts as a comment, and blank lines. */
const STEP =
  /^[ \t]*(?:$|\r$|[^\sA-Za-z0-9]|(?:pick|p|revert|edit|e|reword|r|squash|s|fixup|f|drop|d|label|l|reset|t|merge|m|update-ref|u|break|b|noop)(?:\s|$))/;
const isTodo: Judge = (text) => text.split("\n").every((line) => STEP.test(line));

const isStrategy: Judge = (text) => GIT_STRATEGIES.has(text.trim());

const SIGNING: Judge = (text) => /^(-S[^\n]*)?\n?$/.test(text);

/** Former gits ran this file as a script. */
const AUTHOR = /^GIT_AUTHOR_(?:NAME|EMAIL|DATE)='(?:[^']|'\\''|'\\!')*'$/;
const isAuthor: Judge = (text) =>
  // A name may hold a line break, inside its quotes.
  text.split(/\n(?=GIT_AUTHOR_|$)/).every((line) => line === "" || AUTHOR.test(line));

/** Options of `git apply`: where and how patches apply, never outside the work tree. */
const APPLY =
  /^\s*'?(?:-[Cp]\d+|--whitespace=[a-z-]+|--ignore-(?:space-change|whitespace)|--reject|--(?:directory|exclude|include)=(?:[^']|'\\'')*)'?$/;
const areApplyOptions: Judge = (text) =>
  text.split(/ (?='?-)|\n/).every((option) => option.trim() === "" || APPLY.test(option));

const SEQUENCER_OPTIONS: ReadonlySet<string> = new Set(
  (
    "no-commit edit allow-empty allow-empty-message keep-redundant-commits drop-redundant-commits signoff record-origin " +
    "allow-ff mainline strategy gpg-sign strategy-option allow-rerere-auto default-msg-cleanup commit-use-reference"
  )
    .split(" ")
    .map((name) => `options.${name}`),
);
const areOptions: Judge = (text) =>
  parseGitConfig(text)?.every(
    ({ key, value }) => SEQUENCER_OPTIONS.has(key) && (key !== "options.strategy" || isStrategy(value)),
  ) === true;

/** What a file says that git acts upon when it goes on. */
const JUDGED: ReadonlyMap<string, Judge> = new Map([
  ["git-rebase-todo", isTodo],
  ["git-rebase-todo.backup", isTodo],
  ["todo", isTodo],
  ["opts", areOptions],
  ["strategy", isStrategy],
  ["gpg_sign_opt", SIGNING],
  ["author-script", isAuthor],
  ["apply-opt", areApplyOptions],
]);

/** What git only shows, counts or stores; in `rebase-apply`, numbers are the patches. */
const DATA =
  /^(?:\d+|head|abort-safety|head-name|onto|orig-head|squash-onto|msgnum|end|done|message|message-(?:squash|fixup)|current-fixups|amend|rewritten|rewritten-(?:list|pending)|stopped-sha|autostash|interactive|quiet|verbose|signoff|(?:drop|keep)_redundant_commits|allow_rerere_autoupdate|cdate_is_adate|ignore_date|strategy_opts|(?:no-)?reschedule-failed-exec|refs-to-delete|update-refs|patch|dropped|next|last|final-commit|msg|msg-clean|info|utf8|keep|sign|scissors|threeway|messageid|no_inbody_headers|quoted-cr|dirtyindex|rebasing|applying|original-commit|keepcr|opt_extras|commit|patch-merge-\w+|.*\.lock)$/;

/** Whether a file of such a folder plans no program. Whatever is not known does. */
const isHarmlessFile = (path: string): boolean => {
  const name = posix.basename(path);
  if (!lstatSync(path).isFile()) return false;
  const judge = JUDGED.get(name);
  if (judge === undefined) return DATA.test(name);
  const text = readSmallFile(path, MAX_PLAN_BYTES)?.toString("latin1");
  return text !== undefined && judge(text);
};

/** Whether git would start a program when it goes on with what is in such a folder, as far as we can tell. */
export const plansProgram = (folder: string): boolean => {
  try {
    return !readdirSync(folder).every((name) => isHarmlessFile(posix.join(folder, name)));
  } catch {
    // What vanished meanwhile plans nothing; what cannot be read may.
    return isThere(folder);
  }
};

/** Whoever brought the git directory along may have left a rebase half done: no program is run out of its plan. */
export const refusePlannedPrograms = ({ gitDir }: GitRepository): void => {
  const folders = [...PLANS].map((name) => posix.join(gitDir, name)).filter(isThere);
  if (folders.some(plansProgram)) throw refusedRepository("its rebase in progress may have a program to run");
};
