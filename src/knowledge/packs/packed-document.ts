import { isRecord } from "../../base/is-record.ts";
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
import type { CutPassage, DocumentFacts } from "../store/contract.ts";
import { badPack, parsePacked } from "./pack-format.ts";

/**
 * A document with its passages, as a line of a pack has it. What the passages are found by is made anew from their texts:
 * whoever made the pack could have given any text the terms of any question.
 */
export interface PackedDocument {
  readonly facts: DocumentFacts;
  readonly chunks: readonly CutPassage[];
}

const KINDS: ReadonlySet<unknown> = new Set<ChunkKind>(["code", "prose", "data", "text"]);
/** A path of the longest kind, with its collection before it and its controls escaped. */
const MAX_URI_CHARS = 20_000;
/** No source gives a larger document. */
const MAX_DOCUMENT_BYTES = 2 ** 40;

/** Without the source, which is a path on the machine where the pack was made. */
export const packDocument = ({ facts: { source: _, ...facts }, chunks }: PackedDocument): string =>
  JSON.stringify({ facts, chunks });

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

const readChunk = (value: unknown, ordinal: number): CutPassage => {
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
  };
};

/** More than a document of the largest size has outside of its texts: each takes memory once it is parsed. */
const MAX_MARKS = 400_000;
/** Reads a line of a pack, which may come from anybody. */
export const unpackDocument = (json: string, source: string): PackedDocument => {
  const value = parsePacked(json, "a document in it", MAX_MARKS);
  return {
    facts: {
      ...checked("a document", () => readFacts(isRecord(value) ? value["facts"] : undefined)),
      source,
    },
    chunks: checked("a passage", () =>
      items(isRecord(value) ? value["chunks"] : undefined, MAX_CHUNKS).map(readChunk),
    ),
  };
};
