import { createWriteStream, fstatSync } from "node:fs";
import { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";

export interface ProtocolStreams {
  readonly input: Readable;
  readonly output: Writable;
}

const openWriter = (fd: number): Writable => {
  const stats = fstatSync(fd);
  // Sockets and pipes are written without a thread of their own; anything else (a file, a terminal) as a file.
  if (stats.isFIFO() || stats.isSocket()) return new Socket({ fd, readable: false, writable: true });
  return createWriteStream("", { fd });
};

/**
 * Takes stdout for the protocol alone. The launcher hands the real stdout over as another descriptor and points
 * descriptor 1 at stderr, so that nothing in this process or its children can reach the stream, not even native code.
 * Started without the launcher, everything that writes through `process.stdout` is sent to stderr.
 */
export const claimStdout = (protocolFd: number | undefined): ProtocolStreams => {
  if (protocolFd !== undefined) return { input: process.stdin, output: openWriter(protocolFd) };
  const output = openWriter(1);
  const toStderr = (chunk: string | Uint8Array): boolean => {
    process.stderr.write(chunk);
    return true;
  };
  process.stdout.write = toStderr as typeof process.stdout.write;
  return { input: process.stdin, output };
};

/** Log lines wait here for a client that does not read stderr; past this many bytes they are dropped. */
const MAX_UNREAD_BYTES = 1_048_576;
/** How long the last lines may take at the end of the program, in milliseconds. */
const FLUSH_MS = 200;

export interface Stderr {
  write(text: string): void;
  /** Resolves when everything is out, or soon if nobody reads. */
  flush(): Promise<void>;
}

/** stderr without waiting for its reader: Node writes to a pipe synchronously, so a client that never drains it would stop us. */
export const createStderr = (): Stderr => {
  const stream = fstatSync(2).isFIFO() ? openWriter(2) : process.stderr;
  stream.on("error", () => {});
  return {
    write: (text) => {
      if (stream.writableLength < MAX_UNREAD_BYTES) stream.write(text);
    },
    flush: () =>
      new Promise((resolve) => {
        setTimeout(resolve, FLUSH_MS).unref();
        stream.write("", () => resolve());
      }),
  };
};
