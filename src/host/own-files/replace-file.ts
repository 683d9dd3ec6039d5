import { constants } from "node:fs";
import { open, rename, unlink } from "node:fs/promises";
import { basename, dirname } from "node:path";

/** For `open`: a file that did not exist, never one behind a link. */
export const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/**
 * Writes a file whole or not at all, under a name that may be taken: the old file is replaced, unless `mayReplace` says
 * in the last moment that it is not to be. Returns whether it was.
 */
export const replaceFile = async (
  path: string,
  text: string | Uint8Array | AsyncIterable<string>,
  mode: number,
  mayReplace: () => Promise<boolean> = async () => true,
): Promise<boolean> => {
  // Loaded here, because a server's start reads files of its own and writes none.
  const { randomBytes } = await import("node:crypto");
  const temporary = `${dirname(path)}/.${basename(path)}.${randomBytes(8).toString("hex")}`;
  const file = await open(temporary, NEW_FILE, mode);
  try {
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    if (await mayReplace()) {
      await rename(temporary, path);
      return true;
    }
    await unlink(temporary);
    return false;
  } catch (error) {
    await unlink(temporary);
    throw error;
  }
};
