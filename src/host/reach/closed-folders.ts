import { lstatSync } from "node:fs";
import { posix } from "node:path";
import { LlmcError } from "../../base/error.ts";
import { quoteForMessage } from "../../base/text.ts";

/** The owner of a folder, or of the nearest one above it that is open to us. */
const ownerOf = (folder: string): number | undefined => {
  try {
    return lstatSync(folder, { throwIfNoEntry: false })?.uid;
  } catch {
    return folder === "/" ? undefined : ownerOf(posix.dirname(folder));
  }
};

/**
 * A folder that its own user cannot look into was closed by its mode, which commands can do, and they can open it again.
 * Until it is open nobody knows which repositories are in it and what they obey. A folder of another user is out of the
 * reach of commands, and so is what that user's repositories obey there.
 */
export const refuseOwnClosed = (folders: readonly string[]): void => {
  const closed = folders.find((folder) => ownerOf(folder) === process.getuid?.());
  if (closed === undefined) return;
  throw new LlmcError(
    "forbidden",
    `Nothing is changed here: ${quoteForMessage(posix.basename(closed))} is closed by its mode, so what repositories in it obey cannot be followed.`,
    {
      hint: "Make that folder readable (chmod u+rwx), or end the command that closed it; the operator can also take it out of mcp.tools.allowed_roots.",
    },
  );
};
