import { createWriteStream, fstatSync } from "node:fs";
import { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";

export interface ProtocolStreams {
  readonly input: Readable;
  readonly output: Writable;
  /** Whether a person types the input. */
  readonly isTerminal: boolean;
}

const openWriter = (fd: number): Writable => {
  const stats = fstatSync(fd);
  // Sockets and pipes are written without a thread of their own; anything else (a file, a terminal) as a file.
  if (stats.isFIFO() || stats.isSocket()) return new Socket({ fd, readable: false, writable: true });
  return createWriteStream("", { fd });
};

/** What is printed waits here for a client that does not read stderr; past this many bytes it is dropped. */
const MAX_UNREAD_BYTES = 1_048_576;

/** Writing that a reader who never reads can neither stop nor make fill the memory. */
const boundedWrite = (stream: Writable) => {
  const write = stream.write.bind(stream) as (...args: readonly unknown[]) => boolean;
  return (...args: readonly unknown[]): boolean => {
    if (stream.writableLength < MAX_UNREAD_BYTES) return write(...args);
    const done = args.at(-1);
    if (typeof done === "function") process.nextTick(done);
    return true;
  };
};

/**
 * Takes stdout for the protocol alone. The launcher hands the real stdout over as another descriptor and points
 * descriptor 1 at stderr, so that nothing in this process or its children can reach the stream, not even native code.
 * With or without the launcher, everything that writes through `process.stdout` is sent to stderr.
 */
export const claimStdout = (protocolFd: number | undefined): ProtocolStreams => {
  const output = openWriter(protocolFd ?? 1);
  const toStderr = boundedWrite(process.stderr);
  for (const stream of [process.stdout, process.stderr]) stream.write = toStderr as typeof stream.write;
  return { input: process.stdin, output, isTerminal: Boolean(process.stdin.isTTY) };
};

/** How long the last lines may take at the end of the program, in milliseconds. */
const FLUSH_MS = 200;

export interface Stderr {
  /** Whether a person reads it. */
  readonly isTerminal?: boolean;
  write(text: string): void;
  /** Resolves when everything is out, or soon if nobody reads. */
  flush(): Promise<void>;
}

/** stderr without waiting for its reader: Node writes to a pipe synchronously, so a client that never drains it would stop us. */
export const createStderr = (): Stderr => {
  const stream = fstatSync(2).isFIFO() ? openWriter(2) : process.stderr;
  stream.on("error", () => {});
  const write = boundedWrite(stream);
  return {
    isTerminal: process.stderr.isTTY,
    write: (text) => void write(text),
    flush: () =>
      new Promise((resolve) => {
        setTimeout(resolve, FLUSH_MS).unref();
        stream.write("", () => resolve());
      }),
  };
};
