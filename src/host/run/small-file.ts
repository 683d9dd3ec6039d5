import { readOwnFile } from "../own-files/read-own-file.ts";

/** The content of a regular file of at most so many bytes; undefined for anything else, and it never blocks. */
export const readSmallFile = (path: string, maxBytes: number): Buffer | undefined => {
  try {
    return readOwnFile(path, { maxBytes });
  } catch {
    return undefined;
  }
};
