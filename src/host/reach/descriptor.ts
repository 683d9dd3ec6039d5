import { fsync, lstat, open, read, write } from "node:fs";
import { promisify } from "node:util";

export const openAsync = promisify(open);
export const fsyncAsync = promisify(fsync);
export const lstatAsync = promisify(lstat);

/** Fills the buffer from `offset` on as far as one read goes; gives the number of bytes. */
export const readAt = (fd: number, buffer: Buffer, position: number, offset = 0): Promise<number> =>
  new Promise((resolve, reject) => {
    read(fd, buffer, offset, buffer.length - offset, position, (error, count) =>
      error ? reject(error) : resolve(count),
    );
  });

export const writeAll = async (fd: number, bytes: Buffer): Promise<void> => {
  for (let done = 0; done < bytes.length; ) {
    done += await new Promise<number>((resolve, reject) => {
      write(fd, bytes, done, bytes.length - done, null, (error, count) =>
        error ? reject(error) : resolve(count),
      );
    });
  }
};
