import { quoteForMessage } from "../base/text.ts";
import type { Launched } from "./launch.ts";
import type { Output } from "./output.ts";

/** How programs speak of a file that a sandbox does not show. */
const NOT_SEEN = /no such file or directory|permission denied|cannot access|can't open|not found/i;
/** More than an error message needs. */
const READ_CHARS = 100_000;

/** Why a file was not there that the user knows to be there. */
export const unseenNote = ({ programs, unseen = [] }: Launched, output: Output): string | undefined => {
  if (unseen.length === 0 || programs.every(({ exitCode }) => exitCode === 0)) return undefined;
  const lines = `${output.stderr().slice(-READ_CHARS)}\n${output.stdout(false).slice(-READ_CHARS)}`.split(
    "\n",
  );
  const named = unseen.find((path) => lines.some((line) => line.includes(path) && NOT_SEEN.test(line)));
  return named === undefined
    ? undefined
    : `${quoteForMessage(named)} lies outside of what commands see: the roots, and folders in mcp.tools.command_read_paths`;
};
