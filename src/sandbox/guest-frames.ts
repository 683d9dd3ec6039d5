import { isRecord } from "../base/is-record.ts";
import type { ProgramLimits } from "./contract.ts";
import { MAX_FILE_NAME_CHARS, MAX_FILES, MAX_TOOL_NAME_CHARS } from "./guest/bounds.ts";
import type { FromGuest, GuestFile, ProgramError } from "./guest/messages.ts";
import { isTooComplex, TOO_COMPLEX } from "./result-bounds.ts";

/** Everything that a program leaves: 8 MiB of files in Base64, and a result of 4 MiB in which everything is escaped. */
export const MAX_FRAME_BYTES = 20 * 1024 * 1024;
/** What a frame holds besides the text of a program. */
const FRAME_SLACK_BYTES = 4096;
/** A frame holds texts: of arrays and objects only the list of files, each with its name and bytes. */
const FRAME_BOUNDS = { maxDepth: 3, maxValues: 4 * MAX_FILES + 50 };
/** A control character takes six bytes in JSON. */
const ESCAPED_TEXT = 6;
/** Of JSON inside JSON, quotes and backslashes alone take two. */
const ESCAPED_JSON = 2;

const MAX_ERROR_CHARS = 4000;
const MAX_ERROR_NAME_CHARS = 100;

type Fields = Readonly<Record<string, unknown>>;

const refuse = (what: string): never => {
  throw new TypeError(`not a message: ${what}`);
};

const textOf = (value: unknown, maxBytes: number): string => {
  if (typeof value !== "string" || Buffer.byteLength(value) > maxBytes) return refuse("a text");
  return value;
};

const positionOf = (value: unknown): number | undefined =>
  Number.isSafeInteger(value) ? (value as number) : undefined;

const labelOf = (value: unknown, maxChars: number): string =>
  typeof value === "string" ? value.slice(0, maxChars) : "";

/** An error as the guest describes it: bounded texts and numbers, whatever it sent. */
const errorOf = (error: unknown): ProgramError | undefined => {
  if (!isRecord(error)) return undefined;
  const { name, message, code, retryable } = error;
  const [line, column] = [positionOf(error["line"]), positionOf(error["column"])];
  return {
    name: labelOf(name, MAX_ERROR_NAME_CHARS) || "Error",
    message: labelOf(message, MAX_ERROR_CHARS),
    ...(line === undefined ? {} : { line }),
    ...(column === undefined ? {} : { column }),
    ...(typeof code === "string" ? { code: labelOf(code, MAX_ERROR_NAME_CHARS) } : {}),
    ...(typeof retryable === "boolean" ? { retryable } : {}),
  };
};

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

const filesOf = (files: unknown, maxBytes: number): readonly GuestFile[] => {
  if (!Array.isArray(files) || files.length > MAX_FILES) return refuse("files");
  let left = maxBytes;
  return files.map((file: unknown) => {
    if (!isRecord(file) || typeof file["name"] !== "string") return refuse("a file");
    if (file["name"].length > MAX_FILE_NAME_CHARS) return refuse("the name of a file");
    const { base64 } = file;
    if (typeof base64 !== "string" || !BASE64.test(base64)) return refuse("the bytes of a file");
    left -= Buffer.byteLength(base64, "base64");
    return left < 0 ? refuse("files that are too large") : { name: file["name"], base64 };
  });
};

interface Ending {
  readonly result?: string | undefined;
  readonly error?: ProgramError | undefined;
}

/** Ensures that the result is valid JSON, and that a small process can read and write it again. */
const endingOf = (result: unknown, error: unknown, maxBytes: number): Ending => {
  if (result === undefined) return { error: errorOf(error) };
  const text = textOf(result, maxBytes);
  if (isTooComplex(text)) return { error: TOO_COMPLEX };
  JSON.parse(text);
  return { result: text, error: errorOf(error) };
};

const READERS: Readonly<
  Record<string, (fields: Fields, frameBytes: number, limits: ProgramLimits) => FromGuest>
> = {
  output: ({ text }, frameBytes, { maxOutputBytes }) => {
    // An empty text costs nothing of the limit, so any number of them could come.
    if (text === "" || frameBytes > ESCAPED_TEXT * maxOutputBytes + FRAME_SLACK_BYTES) refuse("output");
    return { type: "output", text: textOf(text, maxOutputBytes) };
  },
  call: ({ call, name, args }, frameBytes, { maxCallBytes }) => {
    if (!Number.isSafeInteger(call) || frameBytes > ESCAPED_JSON * maxCallBytes + FRAME_SLACK_BYTES)
      refuse("a call");
    if (typeof name !== "string" || name.length > MAX_TOOL_NAME_CHARS) return refuse("the name of a tool");
    return { type: "call", call: call as number, name, args: textOf(args, maxCallBytes) };
  },
  done: ({ result, error, files, outputCut, filesCut }, _frameBytes, { maxResultBytes, maxFileBytes }) => ({
    type: "done",
    ...endingOf(result, error, maxResultBytes),
    files: filesOf(files, maxFileBytes),
    outputCut: outputCut === true,
    filesCut: filesCut === true,
  }),
};

/**
 * A message of a running program, whose process may be hostile: the one place where its fields are bounded, so nothing
 * behind it has to ask. Throws for what an honest guest does not send.
 */
export const readMessage = (text: string, limits: ProgramLimits): FromGuest => {
  if (isTooComplex(text, FRAME_BOUNDS)) return refuse("its fields");
  const message: unknown = JSON.parse(text);
  if (!isRecord(message) || typeof message["type"] !== "string") return refuse("no type");
  const read = Object.hasOwn(READERS, message["type"]) ? READERS[message["type"]] : undefined;
  return read?.(message, Buffer.byteLength(text), limits) ?? refuse("its type");
};

/** What a guest says once, before its first program; throws for anything else. */
export const readReady = (text: string): void => {
  if (text.length > FRAME_SLACK_BYTES) refuse("a long one");
  const message: unknown = JSON.parse(text);
  if (!isRecord(message) || message["type"] !== "ready") refuse("not ready");
};
