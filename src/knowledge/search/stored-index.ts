import { createHash } from "node:crypto";
import { isRecord } from "../../base/is-record.ts";
import type { Generation, Store } from "../store/contract.ts";
import { createArraysBuilder } from "./build-arrays.ts";
import { createLanguageCount } from "./language-names.ts";
import { arraysOver, type PassageArrays, SECTIONS, type SectionName } from "./passage-arrays.ts";

/** What a generation is searched with. */
export interface GenerationIndex {
  readonly arrays: PassageArrays;
  /** Of at least half of the documents. */
  readonly language: string | undefined;
}

/** Of the arrays, and of what their numbers mean (hashes of terms, BM25's constants): another one is built again. */
const FORMAT = 1;

/** A row of a database holds a few megabytes well, and reading one keeps nobody waiting. */
const PIECE_BYTES = 4 * 1024 * 1024;

interface SectionFacts {
  readonly bytes: number;
  readonly sha256: string;
}

type Sections = Readonly<Record<SectionName, SectionFacts>>;

interface Header {
  readonly format: number;
  readonly dimensions: number;
  readonly language: string | null;
  readonly sections: Sections;
}

const isSectionFacts = (value: unknown): value is SectionFacts =>
  isRecord(value) &&
  Number.isSafeInteger(value["bytes"]) &&
  Number(value["bytes"]) >= 0 &&
  typeof value["sha256"] === "string";

const parseHeader = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** Undefined for a header of another format or of other vectors, and for a damaged one: then the index is built again. */
const readHeader = (text: string, dimensions: number): Header | undefined => {
  const header = parseHeader(text);
  if (!isRecord(header) || header["format"] !== FORMAT || header["dimensions"] !== dimensions)
    return undefined;
  const { language, sections } = header;
  if (!isRecord(sections) || !SECTIONS.every((name) => isSectionFacts(sections[name]))) return undefined;
  if (language !== null && typeof language !== "string") return undefined;
  return { format: FORMAT, dimensions, language, sections: sections as unknown as Sections };
};

const pieceLength = (bytes: number, piece: number): number =>
  Math.min(PIECE_BYTES, bytes - piece * PIECE_BYTES);

/** Undefined if a piece is missing or has the wrong length, or if the checksum does not match. */
const readSection = async (
  { indexes }: Store,
  generation: number,
  name: SectionName,
  { bytes, sha256 }: SectionFacts,
): Promise<ArrayBuffer | undefined> => {
  const pieces = Math.ceil(bytes / PIECE_BYTES);
  const readPiece = async (piece: number): Promise<Uint8Array | undefined> => {
    const part = await indexes.part(generation, name, piece);
    return part?.byteLength === pieceLength(bytes, piece) ? part : undefined;
  };
  // No memory is taken for a length that the store does not have.
  if (pieces > 1 && (await readPiece(pieces - 1)) === undefined) return undefined;
  const buffer = new ArrayBuffer(bytes);
  const whole = new Uint8Array(buffer);
  const hash = createHash("sha256");
  for (let piece = 0; piece < pieces; piece++) {
    const part = await readPiece(piece);
    if (part === undefined) return undefined;
    hash.update(part);
    whole.set(part, piece * PIECE_BYTES);
  }
  return hash.digest("hex") === sha256 ? buffer : undefined;
};

/** The saved index; undefined if there is none, or if it is damaged or of another format. */
const readIndex = async (
  store: Store,
  { id, chunks }: Generation,
  dimensions: number,
): Promise<GenerationIndex | undefined> => {
  const text = await store.indexes.header(id);
  const header = text === undefined ? undefined : readHeader(text, dimensions);
  if (header === undefined) return undefined;
  const buffers: Partial<Record<SectionName, ArrayBuffer>> = {};
  for (const name of SECTIONS) {
    const buffer = await readSection(store, id, name, header.sections[name]);
    if (buffer === undefined) return undefined;
    buffers[name] = buffer;
  }
  const arrays = arraysOver(buffers as Record<SectionName, ArrayBuffer>, chunks, dimensions);
  return arrays === undefined ? undefined : { arrays, language: header.language ?? undefined };
};

const saveIndex = async (
  { indexes }: Store,
  generation: number,
  builder: string,
  { arrays, language }: GenerationIndex,
  dimensions: number,
): Promise<void> => {
  const sections: Partial<Record<SectionName, SectionFacts>> = {};
  for (const name of SECTIONS) {
    const { buffer, byteLength } = arrays[name];
    const hash = createHash("sha256");
    for (let piece = 0; piece * PIECE_BYTES < byteLength; piece++) {
      const from = piece * PIECE_BYTES;
      const bytes = new Uint8Array(buffer, from, pieceLength(byteLength, piece));
      hash.update(bytes);
      await indexes.add(generation, builder, { section: name, piece, bytes });
    }
    sections[name] = { bytes: byteLength, sha256: hash.digest("hex") };
  }
  const header = { format: FORMAT, dimensions, language: language ?? null, sections };
  await indexes.finish(generation, builder, JSON.stringify(header));
};

/** Of a generation to which documents are still added, nobody has counted them yet. */
const passagesIn = async (store: Store, { id, state, chunks }: Generation): Promise<number> => {
  if (state !== "open") return chunks;
  let count = 0;
  for await (const batch of store.passages(id)) count += batch.length;
  return count;
};

/** From the passages; undefined where the generation does not have them all any more. */
const buildIndex = async (
  store: Store,
  generation: Generation,
  dimensions: number,
): Promise<GenerationIndex | undefined> => {
  const { id } = generation;
  const passages = await passagesIn(store, generation);
  const builder = createArraysBuilder(passages, dimensions);
  const languages = createLanguageCount();
  let last: number | undefined;
  for await (const batch of store.passages(id))
    for (const passage of batch) {
      builder.add(passage);
      if (passage.document !== last) languages.add(passage.uri);
      last = passage.document;
    }
  if (builder.size < passages) return undefined;
  return { arrays: builder.finish(), language: languages.common() };
};

/**
 * The index of a generation: loaded, or else built from its passages and saved for the next process that needs it. Undefined
 * if the generation was removed meanwhile. `builder` identifies this attempt to build it. `onNotSaved` is called with the
 * reason why the next start has to build it again.
 */
export const openIndex = async (
  store: Store,
  generation: Generation,
  dimensions: number,
  builder: string,
  onNotSaved: (error: unknown) => void = () => {},
): Promise<GenerationIndex | undefined> => {
  if (generation.state === "open") return buildIndex(store, generation, dimensions);
  const saved = await readIndex(store, generation, dimensions);
  if (saved !== undefined) return saved;
  // Begun before the passages are read: a generation that is opened again meanwhile does not get this index. A store that
  // cannot be written (a full disk) can still be searched.
  const begun = await store.indexes.begin(generation.id, builder).then(
    () => true,
    (error: unknown) => onNotSaved(error),
  );
  const built = await buildIndex(store, generation, dimensions);
  if (built !== undefined && begun === true)
    await saveIndex(store, generation.id, builder, built, dimensions).catch(onNotSaved);
  return built;
};
