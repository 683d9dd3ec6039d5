import { NO_GIT_DIR } from "../host/run/contract.ts";
import type { Launched } from "./launch.ts";
import type { Output } from "./output.ts";

const NOT_WRITTEN = /could not (?:write|lock) config file|unable to (?:write|update) (?:the )?.{0,40}config/i;
/** More than an error message needs. */
const READ_CHARS = 100_000;

const NOT_REMOVED = /failed to delete '.*': (?:Device or resource busy|Read-only file system)/;

const WITHHELD = /^error: open\("([^"\n]{1,300})"\): Permission denied$/m;

const NOT_REPLACED =
  /unable to unlink (?:old )?'([^'\n]{1,300})': (?:Device or resource busy|Read-only file system)/;

/** The stand-in that ends an interactive rebase, which nobody could edit. */
const NO_TODO_EDITOR = /problem with the editor 'false'/;

/** Git may start no program here, neither `false` in the place of gpg nor itself. */
const NOT_SIGNED = /gpg failed to sign the data/;
const NOT_CHOSEN = /cannot fork\(\) for diff-files/;

/**
 * Git says in the system's words what is kept from it: keys, dialogs about parts of files, withheld files, its configuration, the `.git` of work trees,
 * repositories further up, and an editor.
 */
export const configNote = ({ programs }: Launched, output: Output): string | undefined => {
  if (!programs.some(({ name }) => name === "git")) return undefined;
  const errors = output.stderr().slice(-READ_CHARS);
  if (NOT_WRITTEN.test(errors))
    return "the upstream branch was not set or removed: commands do not write git's configuration; the user can do that in a terminal";
  if (errors.includes(NO_GIT_DIR))
    return "there is no git repository that llmc recognises in this folder, or above it in the workspace; the name in the message is what git was told to use, so that it finds none further up";
  if (NO_TODO_EDITOR.test(errors))
    return "the list of an interactive rebase cannot be edited here, and nothing was changed: GIT_SEQUENCE_EDITOR=true git rebase -i … takes it as it is, also with --autosquash after git commit --fixup=COMMIT; git reset --soft and git commit join the last commits";
  if (NOT_SIGNED.test(errors))
    return "commands sign nothing, so that no key is used unasked: leave the option out, and the user signs in a terminal";
  if (NOT_CHOSEN.test(errors))
    return "git asks nobody here which parts to take: write a patch with git diff FILE > x.patch, keep the hunks that are wanted, and stage them with git apply --cached x.patch";
  const withheld = WITHHELD.exec(errors)?.[1];
  if (withheld !== undefined)
    return `${withheld} is withheld from commands, and git does not ignore it: put it into .gitignore, or leave it out: git add -A -- . ':(exclude)${withheld}'`;
  const kept = NOT_REPLACED.exec(errors)?.[1];
  if (kept !== undefined)
    return `no command changes ${kept}: the user does this in a terminal, or git rm --cached ${kept} takes it out of git`;
  return NOT_REMOVED.test(errors)
    ? "commands do not remove what git obeys; the user removes a work tree in a terminal: git worktree remove --force PATH, or git worktree prune"
    : undefined;
};
