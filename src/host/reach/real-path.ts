import { isUtf8 } from "node:buffer";
import { realpath } from "node:fs/promises";

/**
 * Where a path leads, through all links; undefined if nothing is there, or under a name that is not UTF-8, which could become
 * equal to another one when it is decoded.
 */
export const realPathOf = async (path: string): Promise<string | undefined> => {
  try {
    const name = await realpath(path, { encoding: "buffer" });
    return isUtf8(name) ? name.toString() : undefined;
  } catch {
    // Whatever the reason: nothing could be read there.
    return undefined;
  }
};
