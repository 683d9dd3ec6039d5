import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";

const OPEN = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

/** The content of a regular file of at most so many bytes; undefined for anything else, and it never blocks. */
export const readSmallFile = (path: string, maxBytes: number): Buffer | undefined => {
  let fd: number;
  try {
    fd = openSync(path, OPEN);
  } catch {
    return undefined;
  }
  try {
    const stats = fstatSync(fd);
    const { size } = stats;
    if (!stats.isFile() || size > maxBytes) return undefined;
    const bytes = Buffer.alloc(size);
    let length = 0;
    while (length < size) {
      const count = readSync(fd, bytes, length, size - length, length);
      if (count === 0) break;
      length += count;
    }
    return bytes.subarray(0, length);
  } finally {
    closeSync(fd);
  }
};
