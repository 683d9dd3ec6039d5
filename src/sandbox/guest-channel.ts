import type { Readable, Writable } from "node:stream";

/** The pipes to the process of a guest, whatever confines it. */
export interface GuestChannel {
  /** False if it does not read what it is sent: too much is waiting already. */
  write(bytes: Buffer): boolean;
  onData(listener: (chunk: Buffer) => void): void;
  /** What is not read stays in the pipe; the process stands still when that is full. */
  setReading(isReading: boolean): void;
  /** Resolves when the process and everything it started are gone. */
  readonly ended: Promise<void>;
  /** Processor time so far, in milliseconds. */
  cpuMs(): number;
  /** Whether it was ended for its memory. */
  wasOverMemory(): boolean;
  /** The beginning of what it wrote to stderr: for the log, never for a caller. */
  errors(): string;
  kill(): Promise<void>;
}

/** The kernel's USER_HZ is 100 wherever Node runs. */
export const MS_PER_TICK = 10;

/** Results of tools that the process has not read yet. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
const MAX_ERROR_BYTES = 4096;

/** Over the streams of a process: writing is bounded, and of its errors only the beginning is kept. */
export const overStreams = (input: Writable, output: Readable, errors: Readable) => {
  const kept: Buffer[] = [];
  let left = MAX_ERROR_BYTES;
  // A process that has ended is reported as such, not by an error here.
  for (const stream of [input, output, errors]) stream.on("error", () => {});
  errors.on("data", (chunk: Buffer) => {
    if (left > 0) kept.push(chunk.subarray(0, left));
    left -= chunk.length;
  });
  return {
    write: (bytes: Buffer): boolean => {
      if (input.writableLength + bytes.length > MAX_WAITING_BYTES) return false;
      if (input.writable) input.write(bytes);
      return true;
    },
    onData: (listener: (chunk: Buffer) => void): void => void output.on("data", listener),
    setReading: (isReading: boolean): void => void (isReading ? output.resume() : output.pause()),
    errors: (): string => Buffer.concat(kept).toString("utf8"),
    close: (): void => {
      for (const stream of [input, output, errors]) stream.destroy();
    },
  };
};
