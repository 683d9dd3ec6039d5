import { isRecord } from "../../base/is-record.ts";
import { endOfString } from "../../base/json-guard.ts";
import {
  anchor,
  count,
  headings,
  items,
  line,
  lineRange,
  MAX_MESSAGE_CHARS,
  MAX_TITLE_CHARS,
  MAX_WARNINGS,
  optional,
  refuse,
  text,
} from "../../documents/document-checks.ts";
import { FORMATS } from "../../documents/formats-table.ts";
import type { ChunkKind } from "../../retrieve/chunk/chunk.ts";
import { MAX_CHUNKS } from "../ingest/chunk-document.ts";
import { MAX_PASSAGE_CHARS } from "../ingest/split-text.ts";
import type { DocumentFacts, NewChunk } from "../store/contract.ts";
import { badPack } from "./pack-format.ts";

/** A document with its passages, as a line of a pack has it. */
export interface PackedDocument {
  readonly facts: DocumentFacts;
  readonly chunks: readonly NewChunk[];
}

const KINDS: ReadonlySet<unknown> = new Set<ChunkKind>(["code", "prose", "data", "text"]);
const BYTES_PER_TERM = 5;
/** A path of the longest kind, with its collection before it and its controls escaped. */
const MAX_URI_CHARS = 20_000;
/** No source gives a larger document. */
const MAX_DOCUMENT_BYTES = 2 ** 40;
/** Of the terms of a passage with its headings, and of a vector. */
const MAX_ENCODED_CHARS = 128 * 1024;

const encode = (bytes: Uint8Array | Int8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");

/** Without the source, which is a path on the machine where the pack was made. */
export const packDocument = ({ facts: { source: _, ...facts }, chunks }: PackedDocument): string =>
  JSON.stringify({
    facts,
    chunks: chunks.map(({ terms, vector, ...chunk }) => ({
      ...chunk,
      terms: encode(terms),
      vector: encode(vector),
    })),
  });

/** What comes from a pack is checked like what a reader of documents sends, and is no larger than what is read here. */
const checked = <T>(what: string, read: () => T): T => {
  try {
    return read();
  } catch (error) {
    if (error instanceof TypeError)
      throw Object.assign(badPack(`${what} in it is not complete`), { cause: error });
    throw error;
  }
};

const byteCount = (value: unknown): number =>
  Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= MAX_DOCUMENT_BYTES
    ? Number(value)
    : refuse("a size");

const readFacts = (value: unknown): Omit<DocumentFacts, "source"> => {
  if (!isRecord(value)) return refuse("a document");
  const short = (name: string): string => line(value[name], MAX_TITLE_CHARS);
  const optionalShort = (name: string): string | undefined => optional(value[name], () => short(name));
  return {
    key: short("key"),
    uri: line(value["uri"], MAX_URI_CHARS),
    title: short("title"),
    format: FORMATS.find((one) => one === value["format"]) ?? refuse("a format"),
    licence: optionalShort("licence"),
    version: optionalShort("version"),
    hash: short("hash"),
    bytes: byteCount(value["bytes"]),
    // What was cut off is said in one more than the reader may send.
    warnings: items(value["warnings"], MAX_WARNINGS + 1).map((warning) => line(warning, MAX_MESSAGE_CHARS)),
  };
};

const passageText = (value: unknown): string => {
  const read = text(value);
  return read.length <= MAX_PASSAGE_CHARS ? read : refuse("a passage");
};

const bytesOf = (value: unknown, isLength: (bytes: number) => boolean): Uint8Array<ArrayBuffer> => {
  if (typeof value !== "string" || value.length > MAX_ENCODED_CHARS) return refuse("a part of the index");
  // A copy: small buffers lie in a pool that they share.
  const decoded = new Uint8Array(Buffer.from(value, "base64"));
  return isLength(decoded.byteLength) ? decoded : refuse("a part of the index");
};

const readChunk = (value: unknown, ordinal: number, dimensions: number): NewChunk => {
  if (!isRecord(value) || value["ordinal"] !== ordinal || !KINDS.has(value["kind"]))
    return refuse("a passage");
  return {
    ordinal,
    kind: value["kind"] as ChunkKind,
    headings: headings(value["headings"]),
    anchor: optional(value["anchor"], anchor),
    page: optional(value["page"], count),
    startLine: undefined,
    endLine: undefined,
    ...lineRange(value),
    text: passageText(value["text"]),
    terms: bytesOf(value["terms"], (bytes) => bytes % BYTES_PER_TERM === 0),
    vector: new Int8Array(bytesOf(value["vector"], (bytes) => bytes === dimensions).buffer),
  };
};

/** More than a document of the largest size has outside of its texts: each takes memory once it is parsed. */
const MAX_MARKS = 400_000;
const MARKS: ReadonlySet<number> = new Set([..."[{:,"].map((mark) => mark.charCodeAt(0)));
const QUOTE = '"'.charCodeAt(0);

/** Looks at a line before it is parsed: `[[],[],[],…` becomes forty times as large. */
const checkMarks = (json: string): void => {
  let marks = 0;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) at = endOfString(json, at);
    else if (MARKS.has(code) && ++marks > MAX_MARKS) throw badPack("a document in it has too many parts");
  }
};

const parseLine = (json: string): unknown => {
  try {
    checkMarks(json);
    return JSON.parse(json);
  } catch (error) {
    throw Object.assign(badPack("a document in it cannot be read"), { cause: error });
  }
};

/** Reads a line of a pack, which may come from anybody. */
export const unpackDocument = (json: string, source: string, dimensions: number): PackedDocument => {
  const value = parseLine(json);
  return {
    facts: {
      ...checked("a document", () => readFacts(isRecord(value) ? value["facts"] : undefined)),
      source,
    },
    chunks: checked("a passage", () =>
      items(isRecord(value) ? value["chunks"] : undefined, MAX_CHUNKS).map((chunk, ordinal) =>
        readChunk(chunk, ordinal, dimensions),
      ),
    ),
  };
};
