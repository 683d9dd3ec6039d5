import type { Launched } from "./launch.ts";
import type { Output } from "./output.ts";

const READ_ONLY = /read-only file system|\bEROFS\b|device or resource busy/i;
/** More than an error message needs. */
const READ_CHARS = 100_000;

/** Why a program could not change a file that its user may change; git's own failures have words of their own. */
export const readOnlyNote = ({ programs }: Launched, output: Output): string | undefined =>
  programs.some(({ name, exitCode }) => name !== "git" && exitCode !== 0) &&
  READ_ONLY.test(`${output.stderr().slice(-READ_CHARS)}\n${output.stdout(false).slice(-READ_CHARS)}`)
    ? "commands cannot change what git, editors, shells or CI obey (.git, .github), llmc's own files or anything outside the roots; git rm and git mv can where git tracks it, linux_fs_delete and linux_fs_move where they are listed, or the user in a terminal"
    : undefined;
