import { quoteForMessage } from "../base/text.ts";
import type { Launched } from "./launch.ts";
import type { Output } from "./output.ts";

/** How programs speak of a file that a sandbox does not show. */
const NOT_SEEN =
  /no such file or directory|permission denied|cannot access|can't open|not found|ENOENT|EACCES/i;
/** More than an error message needs. */
const READ_CHARS = 100_000;

const OUTSIDE = "lies outside of what commands see: the roots, and folders in mcp.tools.command_read_paths";
const ABOVE = "lies above the roots: commands see nothing in it but the way there, whatever else there is";
const TEMPORARY =
  "each program has a /tmp of its own, which is gone when it ends: what another one is to read belongs into the workspace";

/** Why a file was not there that the user knows to be there, or a folder looks empty. */
export const unseenNote = (launched: Launched, output: Output): string | undefined => {
  const { programs, tier, unseen = [] } = launched;
  if (unseen.length === 0) return undefined;
  const above = unseen.find(({ kind }) => kind === "above");
  if (above !== undefined) return `${quoteForMessage(above.path)} ${ABOVE}`;
  const hasOwnTemp = tier === "bubblewrap";
  // It wrote there, and nobody will find it.
  if (hasOwnTemp && unseen.some((one) => one.kind === "temporary" && one.isWriter)) return TEMPORARY;
  if (programs.every(({ exitCode }) => exitCode === 0)) return undefined;
  const lines = `${output.stderr().slice(-READ_CHARS)}\n${output.stdout(false).slice(-READ_CHARS)}`.split(
    "\n",
  );
  const named = unseen.find(({ path }) => lines.some((line) => line.includes(path) && NOT_SEEN.test(line)));
  if (named === undefined) return undefined;
  return named.kind === "temporary" && hasOwnTemp ? TEMPORARY : `${quoteForMessage(named.path)} ${OUTSIDE}`;
};
