import { createHash } from "node:crypto";
import { LlmcError } from "../../base/error.ts";
import { isRecord } from "../../base/is-record.ts";
import { endOfString } from "../../base/json-guard.ts";
import { asLine } from "../../documents/document-checks.ts";
import { isQuestion, MAX_QUESTIONS } from "../evaluate/questions.ts";
import type { EvalQuestion } from "../store/contract.ts";
import { isVersion, parseVersion, type VersionLabel } from "../versions/semver.ts";

/**
 * `KBPACK2`, the length of the manifest, the manifest as JSON, the parts one after the other, and the SHA-256 of all that:
 * whatever was damaged on the way is noticed, licences and questions included. It does not say who made the pack.
 */
const MAGIC = "KBPACK2\n";
const LENGTH_BYTES = 4;
const SUM_BYTES = 32;
const MAX_MANIFEST_BYTES = 64 * 1024 * 1024;
/** More than the largest set of questions and the parts of the largest pack have. */
const MAX_MANIFEST_MARKS = 1_000_000;
const MAX_PRODUCT_CHARS = 500;

/** Compressed JSON lines: a document each, with its passages. */
export interface PackPart {
  readonly bytes: number;
  readonly sha256: string;
}

export interface PackManifest {
  readonly format: 1;
  readonly collection: string;
  readonly product: string;
  readonly version: VersionLabel;
  /** With which its questions were asked and its version was judged. */
  readonly embedder: string;
  readonly documents: number;
  readonly chunks: number;
  /** How many documents have which licence; an empty name: none was found. */
  readonly licences: Readonly<Record<string, number>>;
  readonly questions: readonly EvalQuestion[];
  readonly parts: readonly PackPart[];
}

export const badPack = (why: string): LlmcError =>
  new LlmcError("invalid_args", `The pack cannot be imported: ${why}.`, {
    hint: "Nothing was changed. Export it again where it comes from.",
  });

const MARKS: ReadonlySet<number> = new Set([..."[{:,"].map((mark) => mark.charCodeAt(0)));
const QUOTE = '"'.charCodeAt(0);

/** How many parts a text of JSON has, or one more than that are allowed. Throws where a string in it has no end. */
const countMarks = (json: string, maxMarks: number): number => {
  let marks = 0;
  for (let at = 0; at < json.length && marks <= maxMarks; at++) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) at = endOfString(json, at);
    else if (MARKS.has(code)) marks++;
  }
  return marks;
};

/** Reads JSON of a pack, which may come from anybody, and counts its parts before: `[[],[],[],…` becomes forty times as large. */
export const parsePacked = (json: string, what: string, maxMarks: number): unknown => {
  try {
    if (countMarks(json, maxMarks) <= maxMarks) return JSON.parse(json);
  } catch (error) {
    throw Object.assign(badPack(`${what} cannot be read`), { cause: error });
  }
  throw badPack(`${what} has too many parts`);
};

const sumOf = (pieces: readonly Uint8Array[]): Buffer => {
  const sum = createHash("sha256");
  for (const piece of pieces) sum.update(piece);
  return sum.digest();
};

export const sha256Of = (bytes: Uint8Array): string => sumOf([bytes]).toString("hex");

export const writePack = (manifest: PackManifest, parts: readonly Uint8Array[]): Uint8Array => {
  const head = Buffer.from(JSON.stringify(manifest));
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32LE(head.byteLength);
  const pieces = [Buffer.from(MAGIC), length, head, ...parts];
  return Buffer.concat([...pieces, sumOf(pieces)]);
};

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

/** It is shown beside the name. */
const isLine = (value: unknown): boolean =>
  typeof value === "string" && value.length <= MAX_PRODUCT_CHARS && asLine(value) === value;

const isPart = (value: unknown): value is PackPart =>
  isRecord(value) && isCount(value["bytes"]) && /^[0-9a-f]{64}$/.test(String(value["sha256"]));

const checkManifest = (value: unknown): PackManifest => {
  if (!isRecord(value)) throw badPack("its manifest cannot be read");
  const { format, collection, product, version, embedder, documents, chunks, licences, questions, parts } =
    value;
  if (format !== 1) throw badPack("it was made by a newer llmc");
  const isWhole =
    typeof collection === "string" &&
    isLine(product) &&
    typeof version === "string" &&
    isVersion(version) &&
    typeof embedder === "string" &&
    isCount(documents) &&
    isCount(chunks) &&
    isRecord(licences) &&
    Array.isArray(questions) &&
    questions.length <= MAX_QUESTIONS &&
    questions.every(isQuestion) &&
    Array.isArray(parts) &&
    parts.every(isPart);
  if (!isWhole) throw badPack("its manifest is not complete");
  const manifest = { format, collection, product, embedder, documents, chunks, licences, questions, parts };
  return { ...(manifest as Omit<PackManifest, "version">), version: parseVersion(version) };
};

export interface OpenPack {
  readonly manifest: PackManifest;
  /** Each as long as the manifest says, and with its checksum. */
  readonly parts: readonly Uint8Array[];
  /** Of the whole pack. */
  readonly digest: string;
}

/** Reads a pack and checks every byte of it. */
export const readPack = (bytes: Uint8Array): OpenPack => {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const start = MAGIC.length + LENGTH_BYTES;
  const end = file.byteLength - SUM_BYTES;
  if (file.toString("latin1", 0, MAGIC.length) !== MAGIC)
    throw badPack("it is not a pack of a knowledge base, or one of another version of llmc");
  const length = end < start ? 0 : file.readUInt32LE(MAGIC.length);
  if (end < start || length > MAX_MANIFEST_BYTES || start + length > end) throw badPack("it is cut off");
  const sum = sumOf([file.subarray(0, end)]);
  if (!sum.equals(file.subarray(end)))
    throw badPack("it does not have its checksum: it was changed or is cut off");
  const manifest = checkManifest(
    parsePacked(file.toString("utf8", start, start + length), "its manifest", MAX_MANIFEST_MARKS),
  );
  let at = start + length;
  const parts = manifest.parts.map(({ bytes: size, sha256 }) => {
    const part = file.subarray(at, Math.min(at + size, end));
    at += size;
    if (part.byteLength !== size) throw badPack("it is cut off");
    if (sha256Of(part) !== sha256) throw badPack("a part of it does not have its checksum");
    return part;
  });
  if (at !== end) throw badPack("there is more in it than its manifest says");
  return { manifest, parts, digest: sum.toString("hex") };
};
