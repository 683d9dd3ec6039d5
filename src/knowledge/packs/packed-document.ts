import { isRecord } from "../../base/is-record.ts";
import type { ChunkKind } from "../../retrieve/chunk/chunk.ts";
import type { DocumentFacts, NewChunk } from "../store/contract.ts";
import { badPack } from "./pack-format.ts";

/** A document with its passages, as a line of a pack has it. */
export interface PackedDocument {
  readonly facts: DocumentFacts;
  readonly chunks: readonly NewChunk[];
}

const KINDS: ReadonlySet<unknown> = new Set<ChunkKind>(["code", "prose", "data", "text"]);
const BYTES_PER_TERM = 5;
const MAX_TEXT_CHARS = 100_000;

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

const isText = (value: unknown): value is string =>
  typeof value === "string" && value.length <= MAX_TEXT_CHARS;
const isOptionalText = (value: unknown): value is string | undefined => value === undefined || isText(value);
const isOptionalCount = (value: unknown): value is number | undefined =>
  value === undefined || (Number.isSafeInteger(value) && Number(value) >= 0);
const areTexts = (value: unknown): value is readonly string[] => Array.isArray(value) && value.every(isText);

const readFacts = (value: unknown): Omit<DocumentFacts, "source"> => {
  if (!isRecord(value)) throw badPack("a document in it is not complete");
  const { key, uri, title, format, licence, version, hash, bytes, warnings } = value;
  if (
    isText(key) &&
    isText(uri) &&
    isText(title) &&
    isText(format) &&
    isOptionalText(licence) &&
    isOptionalText(version) &&
    isText(hash) &&
    typeof bytes === "number" &&
    Number.isSafeInteger(bytes) &&
    areTexts(warnings)
  )
    return { key, uri, title, format, licence, version, hash, bytes, warnings };
  throw badPack("a document in it is not complete");
};

const readChunk = (value: unknown, ordinal: number, dimensions: number): NewChunk => {
  if (!isRecord(value)) throw badPack("a passage in it is not complete");
  const { kind, headings, anchor, page, startLine, endLine, text, terms, vector } = value;
  if (
    value["ordinal"] !== ordinal ||
    !KINDS.has(kind) ||
    !areTexts(headings) ||
    !isOptionalText(anchor) ||
    !isOptionalCount(page) ||
    !isOptionalCount(startLine) ||
    !isOptionalCount(endLine) ||
    !isText(text) ||
    typeof terms !== "string" ||
    typeof vector !== "string"
  )
    throw badPack("a passage in it is not complete");
  const [packed, bytes] = [Buffer.from(terms, "base64"), Buffer.from(vector, "base64")];
  if (packed.byteLength % BYTES_PER_TERM !== 0 || bytes.byteLength !== dimensions)
    throw badPack("the index of a passage in it is damaged");
  return {
    ordinal,
    kind: kind as ChunkKind,
    headings,
    anchor,
    page,
    startLine,
    endLine,
    text,
    terms: new Uint8Array(packed),
    vector: new Int8Array(bytes),
  };
};

/** Reads a line of a pack, which may come from anybody. */
export const unpackDocument = (line: string, source: string, dimensions: number): PackedDocument => {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw badPack("a document in it cannot be read");
  }
  if (!isRecord(value) || !Array.isArray(value["chunks"])) throw badPack("a document in it is not complete");
  return {
    facts: { ...readFacts(value["facts"]), source },
    chunks: value["chunks"].map((chunk, ordinal) => readChunk(chunk, ordinal, dimensions)),
  };
};
