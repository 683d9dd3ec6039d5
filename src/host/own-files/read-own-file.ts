import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { open } from "node:fs/promises";

/**
 * How the server opens files for itself (configuration, keys, certificates, its own state): by a name that somebody else
 * may have put a FIFO, a device or an endless file under. Opening never waits, and only a regular file is read.
 */
const READ = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

export interface ReadLimits {
  /** A larger file is refused, not cut. */
  readonly maxBytes: number;
  /** Refuse a link in the last part of the path; the user's own files may be links, ours never are. */
  readonly noFollow?: boolean;
}

/** Has a `code`, as errors of the system have, so that callers can tell the cases apart. */
const refusal = (path: string, code: "EISDIR" | "ENOTREG" | "EFBIG", why: string): Error =>
  Object.assign(new Error(`${path} ${why}`), { code });

interface FileStats {
  isFile(): boolean;
  isDirectory(): boolean;
  readonly size: number;
}

const refuseIrregular = (path: string, stats: FileStats, maxBytes: number): void => {
  if (stats.isDirectory()) throw refusal(path, "EISDIR", "is a folder");
  if (!stats.isFile()) throw refusal(path, "ENOTREG", "is not a regular file");
  if (stats.size > maxBytes) throw tooLarge(path, maxBytes);
};

const tooLarge = (path: string, maxBytes: number): Error =>
  refusal(path, "EFBIG", `is larger than ${maxBytes} bytes`);

const flagsOf = ({ noFollow }: ReadLimits): number => READ | (noFollow === true ? constants.O_NOFOLLOW : 0);

/** One byte more than allowed, so that a file that grows meanwhile is noticed; files of /proc say that they are empty. */
const roomFor = (stats: FileStats, maxBytes: number): Buffer =>
  Buffer.alloc(Math.min(maxBytes, Math.max(stats.size, 4096)) + 1);

const grown = (buffer: Buffer, maxBytes: number): Buffer =>
  Buffer.concat([buffer, Buffer.alloc(Math.min(buffer.length, maxBytes + 1 - buffer.length))]);

/** The bytes of an open file. */
export const readDescriptor = (fd: number, path: string, { maxBytes }: ReadLimits): Buffer => {
  const stats = fstatSync(fd);
  refuseIrregular(path, stats, maxBytes);
  let buffer = roomFor(stats, maxBytes);
  let length = 0;
  for (;;) {
    const count = readSync(fd, buffer, length, buffer.length - length, null);
    length += count;
    if (length > maxBytes) throw tooLarge(path, maxBytes);
    if (count === 0) return buffer.subarray(0, length);
    if (length === buffer.length) buffer = grown(buffer, maxBytes);
  }
};

export const readOwnFile = (path: string, limits: ReadLimits): Buffer => {
  const fd = openSync(path, flagsOf(limits));
  try {
    return readDescriptor(fd, path, limits);
  } finally {
    closeSync(fd);
  }
};

/** The same without holding up the process, for files on disks that may be slow. */
export const readOwnFileSoon = async (path: string, limits: ReadLimits): Promise<Buffer> => {
  const { maxBytes } = limits;
  const file = await open(path, flagsOf(limits));
  try {
    const stats = await file.stat();
    refuseIrregular(path, stats, maxBytes);
    let buffer = roomFor(stats, maxBytes);
    let length = 0;
    for (;;) {
      const { bytesRead } = await file.read(buffer, length, buffer.length - length, null);
      length += bytesRead;
      if (length > maxBytes) throw tooLarge(path, maxBytes);
      if (bytesRead === 0) return buffer.subarray(0, length);
      if (length === buffer.length) buffer = grown(buffer, maxBytes);
    }
  } finally {
    await file.close();
  }
};
