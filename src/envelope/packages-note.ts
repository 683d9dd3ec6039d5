import type { Launched } from "./launch.ts";
import type { Output } from "./output.ts";

const NO_PACKAGE = /\bcannot find (?:module|package) ['"]|\bERR_MODULE_NOT_FOUND\b/i;
/** More than an error message needs. */
const READ_CHARS = 100_000;

/** Why a package is not found that the user's own shell finds. */
export const packagesNote = (
  { programs }: Launched,
  output: Output,
  findAbove: (() => string | undefined) | undefined,
): string | undefined => {
  if (findAbove === undefined || programs.every(({ exitCode }) => exitCode === 0)) return undefined;
  const written = `${output.stderr().slice(-READ_CHARS)}\n${output.stdout(false).slice(-READ_CHARS)}`;
  const folder = NO_PACKAGE.test(written) ? findAbove() : undefined;
  return folder === undefined
    ? undefined
    : `${folder} lies above the workspace, where commands do not see it: start llmc with --root there, or add it to mcp.tools.command_read_paths`;
};
