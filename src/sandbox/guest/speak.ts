import { writeSync } from "node:fs";
import { MAX_FILE_NAME_CHARS, MAX_FILES, MAX_TOOL_NAME_CHARS } from "./bounds.ts";
import { createFrameReader, encodeFrame } from "./frames.ts";
import type { CallFailure, FromGuest, GuestFile, GuestSettings, ProgramError, ToGuest } from "./messages.ts";

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

/** Sends a tool call. Returns its failure where the server would not read the arguments. */
export const postCall = (
  call: number,
  name: string,
  args: string,
  maxBytes: number,
): CallFailure | undefined => {
  if (Buffer.byteLength(args) > maxBytes)
    return {
      code: "invalid_args",
      message: `The arguments are larger than ${maxBytes} bytes: send them in parts.`,
      retryable: false,
    };
  post({ type: "call", call, name: name.slice(0, MAX_TOOL_NAME_CHARS), args });
  return undefined;
};

/** Why the server would not read a result. */
export const refuseResult = (result: string | undefined, maxBytes: number): ProgramError | undefined =>
  result === undefined || Buffer.byteLength(result) <= maxBytes
    ? undefined
    : {
        name: "RangeError",
        message: `The result is larger than ${maxBytes} bytes: return less, or write it to a file of the ephemeral workspace.`,
      };

/** The server closes the pipe when it no longer wants this process. */
export const listen = (onMessage: (message: ToGuest) => void): void => {
  const read = createFrameReader(MAX_FRAME_BYTES, (text) => onMessage(JSON.parse(text) as ToGuest));
  process.stdin.on("data", read);
  process.stdin.on("end", () => process.exit(0));
};

/** A spare process has nothing to do by then; one that somebody waits for is running its program. */
const IDLE_MS = 100;

/** Does something once, while nobody waits: the first use of each part of an interpreter takes longer. */
export const whenIdle = (isIdle: () => boolean, work: () => void): void => {
  setTimeout(() => {
    if (isIdle()) work();
  }, IDLE_MS).unref();
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
      if (text === "") return;
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
      if (kept !== "") post({ type: "output", text: kept });
    },
    isCut: (): boolean => isCut,
  };
};

/** A file of the ephemeral workspace; read when it is sent. */
export interface WorkspaceFile {
  readonly name: string;
  readonly size: number;
  /** Another one whenever the file has changed. */
  readonly version: string;
  read(): Uint8Array;
}

/** Undefined where the program has made it unreadable. */
const readAsBase64 = ({ read }: WorkspaceFile): string | undefined => {
  try {
    return Buffer.from(read()).toString("base64");
  } catch {
    return undefined;
  }
};

/** Chooses what is sent of the workspace after each program: what is new or changed since then, as far as it fits. */
export const createFileSender = () => {
  let sent = new Map<string, string>();
  return (
    all: readonly WorkspaceFile[],
    maxBytes: number,
  ): { readonly files: readonly GuestFile[]; readonly filesCut: boolean } => {
    const changed = all.filter(({ name, version }) => sent.get(name) !== version);
    let left = maxBytes;
    const kept = changed.slice(0, MAX_FILES).filter(({ size }) => {
      if (size > left) return false;
      left -= size;
      return true;
    });
    const dropped = new Set(changed);
    for (const file of kept) dropped.delete(file);
    const files = kept.flatMap((file) => {
      const base64 = readAsBase64(file);
      if (base64 !== undefined) return [{ name: file.name.slice(0, MAX_FILE_NAME_CHARS), base64 }];
      dropped.add(file);
      return [];
    });
    sent = new Map(all.filter((file) => !dropped.has(file)).map(({ name, version }) => [name, version]));
    return { files, filesCut: dropped.size > 0 };
  };
};

interface PreludeFile {
  readonly name: string;
  readonly text?: string;
  /** Bytes, one for each character. */
  readonly latin1?: string;
}

/** Those that the prelude holds, as its `files()` gives them. */
export const readPreludeFiles = (json: string): readonly WorkspaceFile[] =>
  (JSON.parse(json) as readonly PreludeFile[]).map(({ name, text = "", latin1 }) => {
    const bytes = latin1 === undefined ? Buffer.from(text) : Buffer.from(latin1, "latin1");
    return { name, size: bytes.length, version: latin1 ?? text, read: () => bytes };
  });
