import { posix } from "node:path";
import { TEMP_NAME } from "../../policy/paths.ts";
import type { Owner } from "../os/process-owner.ts";
import type { OwnFolder } from "../own-files/own-folder.ts";
import { readOwnFile } from "../own-files/read-own-file.ts";
import type { StateLocation } from "../own-files/state-folder.ts";
import { type ChangeRecord, checkLine, type Owned, type TempNote } from "./journal.ts";
import type { FileId, Step } from "./steps.ts";

// The journal is in the workspace, where anybody who makes a repository can put one: only what we have signed counts,
// and even of that every field is checked.

// The record of a change with the maximum number of files has about 600 KB.
const MAX_BYTES = 16 * 1024 * 1024;

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields => typeof value === "object" && value !== null;

const isList = <T>(value: unknown, isItem: (item: unknown) => item is T): value is readonly T[] =>
  Array.isArray(value) && value.every(isItem);

const isPath = (value: unknown): value is string =>
  typeof value === "string" &&
  value.startsWith("/") &&
  !value.includes("\0") &&
  posix.normalize(value) === value;

const isName = (value: unknown): value is string =>
  typeof value === "string" && value !== "" && !/[/\0]/.test(value) && value !== "." && value !== "..";

const isTempName = (value: unknown): value is string => typeof value === "string" && TEMP_NAME.test(value);

const isNumber = (value: unknown): boolean => typeof value === "string" && /^-?\d+$/.test(value);

const isId = (value: unknown): value is FileId =>
  isFields(value) && [value["dev"], value["ino"], value["size"], value["mtimeNs"]].every(isNumber);

const isStep = (value: unknown): value is Step => {
  if (!isFields(value) || !isPath(value["dir"]) || !isName(value["name"])) return false;
  const hasNew = isTempName(value["temp"]) && isId(value["made"]);
  const hasOld = isTempName(value["backup"]) && isId(value["old"]);
  switch (value["kind"]) {
    case "replace":
      return hasNew && hasOld;
    case "create":
      return hasNew;
    case "delete":
      return hasOld;
    default:
      return false;
  }
};

const isOwner = (value: unknown): value is Owner =>
  isFields(value) && Number.isSafeInteger(value["pid"]) && typeof value["birth"] === "string";

const isNote = (value: unknown): value is TempNote =>
  isFields(value) &&
  isPath(value["temp"]) &&
  isTempName(posix.basename(value["temp"])) &&
  isPath(value["key"]);

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
};

/** Where a journal is read: in a held folder. */
export interface JournalReader extends StateLocation {
  readonly folder: OwnFolder;
}

const readLines = ({ folder }: JournalReader, name: string): readonly string[] => {
  try {
    return readOwnFile(`${folder.at}/${name}`, { maxBytes: MAX_BYTES, noFollow: true })
      .toString()
      .split("\n");
  } catch {
    return [];
  }
};

/** Undefined if it is gone or was not written by this program. */
export const readRecord = (reader: JournalReader, name: string): (ChangeRecord & Owned) | undefined => {
  const [line = ""] = readLines(reader, name);
  const value = parse(checkLine(reader, name, line) ?? "");
  if (!isFields(value) || !isOwner(value["owner"])) return undefined;
  const { owner, keys, steps, made } = value as Fields & Owned;
  return isList(keys, isPath) && isList(steps, isStep) && isList(made, isPath)
    ? { owner, keys, steps, made }
    : undefined;
};

/** Lines that were cut short are left out. */
export const readLog = (
  reader: JournalReader,
  name: string,
): (Owned & { readonly notes: readonly TempNote[] }) | undefined => {
  const signed = (line: string): unknown => parse(checkLine(reader, name, line) ?? "");
  const [first = "", ...lines] = readLines(reader, name);
  const head = signed(first);
  if (!isFields(head) || !isOwner(head["owner"])) return undefined;
  return { owner: head["owner"], notes: lines.map(signed).filter(isNote) };
};
