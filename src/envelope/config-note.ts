import type { Launched } from "./launch.ts";
import type { Output } from "./output.ts";

const NOT_WRITTEN = /could not (?:write|lock) config file|unable to (?:write|update) (?:the )?.{0,40}config/i;
/** More than an error message needs. */
const READ_CHARS = 100_000;

const NOT_REMOVED = /failed to delete '.*': (?:Device or resource busy|Read-only file system)/;

/** Git says in the system's words what is kept from it: its configuration, and the `.git` of work trees. */
export const configNote = ({ programs }: Launched, output: Output): string | undefined => {
  if (!programs.some(({ name }) => name === "git")) return undefined;
  const errors = output.stderr().slice(-READ_CHARS);
  if (NOT_WRITTEN.test(errors))
    return "the upstream branch was not set or removed: commands do not write git's configuration; the user can do that in a terminal";
  return NOT_REMOVED.test(errors)
    ? "commands do not remove what git obeys; the user removes a work tree in a terminal: git worktree remove --force PATH, or git worktree prune"
    : undefined;
};
