import { isRecord } from "../base/is-record.ts";
import type { FromGuest, ProgramError } from "./guest/messages.ts";

const isText = (value: unknown): value is string => typeof value === "string";

const isFile = (file: unknown): boolean => isRecord(file) && isText(file["name"]) && isText(file["text"]);

const isMessage = (message: Readonly<Record<string, unknown>>): boolean => {
  const { type, result, files } = message;
  switch (type) {
    case "ready":
      return true;
    case "output":
      return isText(message["text"]);
    case "call":
      return Number.isSafeInteger(message["call"]) && isText(message["name"]) && isText(message["args"]);
    case "done":
      return (result === undefined || isText(result)) && Array.isArray(files) && files.every(isFile);
    default:
      return false;
  }
};

/** A message of a process that may be hostile: throws unless it has the shape of one. */
export const readMessage = (text: string): FromGuest => {
  const message: unknown = JSON.parse(text);
  if (!isRecord(message) || !isMessage(message)) throw new TypeError("not a message");
  return message as unknown as FromGuest;
};

const MAX_MESSAGE_CHARS = 4000;
const MAX_NAME_CHARS = 100;

const positionOf = (value: unknown): number | undefined =>
  Number.isSafeInteger(value) ? (value as number) : undefined;

/** An error as the guest describes it: text and numbers, whatever it sent. */
export const readError = (error: unknown): ProgramError | undefined => {
  if (!isRecord(error)) return undefined;
  const { name, message, code, retryable } = error;
  const [line, column] = [positionOf(error["line"]), positionOf(error["column"])];
  return {
    name: String(name).slice(0, MAX_NAME_CHARS),
    message: String(message).slice(0, MAX_MESSAGE_CHARS),
    ...(line === undefined ? {} : { line }),
    ...(column === undefined ? {} : { column }),
    ...(isText(code) ? { code: code.slice(0, MAX_NAME_CHARS) } : {}),
    ...(typeof retryable === "boolean" ? { retryable } : {}),
  };
};
