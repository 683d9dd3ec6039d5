import { writeSync } from "node:fs";
import { createFrameReader, encodeFrame } from "./frames.ts";
import type { FromGuest, GuestSettings, ToGuest } from "./messages.ts";

const OUTPUT = 1;
/** Results of tools are bounded by the server; this only keeps a broken length from being believed. */
const MAX_FRAME_BYTES = 64 * 1024 * 1024;

const RETRY_MS = 1;
const clock = new Int32Array(new SharedArrayBuffer(4));

const isFull = (thrown: unknown): boolean =>
  thrown instanceof Error && "code" in thrown && thrown.code === "EAGAIN";

/**
 * Returns when the server has read most of it, so that a flood of output waits in the program and not in memory. An
 * interpreter may have made the pipe non-blocking.
 */
export const writeAll = (bytes: Uint8Array): void => {
  for (let sent = 0; sent < bytes.length; ) {
    try {
      sent += writeSync(OUTPUT, bytes, sent);
    } catch (thrown) {
      if (!isFull(thrown)) throw thrown;
      Atomics.wait(clock, 0, 0, RETRY_MS);
    }
  }
};

export const post = (message: FromGuest): void => writeAll(encodeFrame(message));

/** The server closes the pipe when it no longer wants this process. */
export const listen = (onMessage: (message: ToGuest) => void): void => {
  const read = createFrameReader(MAX_FRAME_BYTES, (text) => onMessage(JSON.parse(text) as ToGuest));
  process.stdin.on("data", read);
  process.stdin.on("end", () => process.exit(0));
};

export const settingsOf = (): GuestSettings => JSON.parse(process.argv[2] ?? "{}") as GuestSettings;

/** Passes output on until the limit of a run. */
export const createOutput = () => {
  let left = 0;
  let isCut = false;
  return {
    begin: (maxBytes: number): void => {
      left = maxBytes;
      isCut = false;
    },
    write: (text: string): void => {
      if (left <= 0) {
        isCut ||= text !== "";
        return;
      }
      const bytes = Buffer.from(text);
      const kept =
        bytes.length <= left
          ? text
          : bytes
              .subarray(0, left)
              .toString("utf8")
              .replace(/\uFFFD$/, "");
      isCut ||= kept !== text;
      left -= bytes.length;
      post({ type: "output", text: kept });
    },
    isCut: (): boolean => isCut,
  };
};

export interface GuestFile {
  readonly name: string;
  readonly text: string;
}

const MAX_FILES = 100;
const MAX_NAME_CHARS = 200;

/** The files that fit, in the order in which they were made. */
export const boundFiles = (
  all: readonly GuestFile[],
  maxBytes: number,
): { readonly files: readonly GuestFile[]; readonly filesCut: boolean } => {
  let left = maxBytes;
  const files = all.slice(0, MAX_FILES).flatMap(({ name, text }) => {
    const bytes = Buffer.byteLength(text);
    if (bytes > left) return [];
    left -= bytes;
    return [{ name: name.slice(0, MAX_NAME_CHARS), text }];
  });
  return { files, filesCut: files.length < all.length };
};
