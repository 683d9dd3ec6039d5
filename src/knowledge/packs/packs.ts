import { createHash } from "node:crypto";
import { gunzipSync, gzipSync } from "node:zlib";
import { LlmcError } from "../../base/error.ts";
import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import { checkName } from "../api/ids.ts";
import type { PassageEmbedder } from "../search/passage-embedder.ts";
import type { DocumentFacts, Generation, NewChunk, Store } from "../store/contract.ts";
import { badPack, readPack, sha256Of, writePack } from "./pack-format.ts";
import { type PackedDocument, packDocument, unpackDocument } from "./packed-document.ts";

/** Characters of JSON in one part. */
const PART_CHARS = 8 * 1024 * 1024;
/** What one part may become; more is a bomb. */
const MAX_PART_BYTES = 256 * 1024 * 1024;
const KEY_CHARS = 20;

const readChunks = async (
  store: Store,
  generation: Generation,
  key: string,
): Promise<readonly NewChunk[]> => {
  const passages = (await store.readDocument(generation.id, key)) ?? [];
  const indexed = await store.readIndexed(generation.id, key);
  return passages.map(({ id, document: _, ...passage }) => {
    const found = indexed.find((one) => one.id === id);
    if (found === undefined)
      throw new LlmcError("busy", "The version was removed while it was exported.", { retryable: true });
    return { ...passage, terms: found.terms, vector: found.vector };
  });
};

const countLicences = (documents: readonly DocumentFacts[]): Readonly<Record<string, number>> => {
  const counts: Record<string, number> = {};
  for (const { licence = "" } of documents) counts[licence] = (counts[licence] ?? 0) + 1;
  return counts;
};

/** A whole generation as one file. */
export const exportPack = async (
  store: Store,
  generation: Generation,
  signal?: AbortSignal,
): Promise<Uint8Array> => {
  if (generation.state === "open")
    throw new LlmcError("unavailable", `Not all documents of version ${generation.version} are in yet.`, {
      hint: "Run the same llmc kb add again, which goes on where it stopped, or name another version.",
    });
  const documents = await store.documents(generation.id);
  const collection = (await store.collections()).find(({ name }) => name === generation.collection);
  const parts: Uint8Array[] = [];
  let lines: string[] = [];
  let chars = 0;
  let chunks = 0;
  const flush = (): void => {
    if (lines.length > 0) parts.push(gzipSync(lines.join("\n")));
    lines = [];
    chars = 0;
  };
  for (const facts of documents) {
    stopIfAborted(signal);
    const passages = await readChunks(store, generation, facts.key);
    chunks += passages.length;
    const line = packDocument({ facts, chunks: passages });
    lines.push(line);
    chars += line.length;
    if (chars > PART_CHARS) flush();
  }
  flush();
  return writePack(
    {
      format: 1,
      collection: generation.collection,
      product: collection?.product ?? "",
      version: generation.version,
      embedder: generation.embedder,
      documents: documents.length,
      chunks,
      licences: countLicences(documents),
      questions: await store.questions(generation.collection),
      parts: parts.map((part) => ({ bytes: part.byteLength, sha256: sha256Of(part) })),
    },
    parts,
  );
};

const unpackPart = (part: Uint8Array): readonly string[] => {
  try {
    return gunzipSync(part, { maxOutputLength: MAX_PART_BYTES }).toString("utf8").split("\n");
  } catch (error) {
    throw Object.assign(badPack("a part of it cannot be unpacked"), { cause: error });
  }
};

/**
 * Whoever makes a pack chooses the keys in it: they are hashed once more with the pack itself, so that none of them is
 * taken for a document that was read here.
 */
const ownKey = (digest: string, { facts, chunks }: PackedDocument): PackedDocument => ({
  chunks,
  facts: {
    ...facts,
    key: createHash("sha256").update(`${digest}\0${facts.key}`).digest("hex").slice(0, KEY_CHARS),
  },
});

/** Whether an import of the same pack was killed before its end: it began the version, and nobody else added to it. */
const isLeftBehind = async (
  store: Store,
  { id, state, sources }: Generation,
  source: string,
): Promise<boolean> =>
  state === "open" &&
  sources.length === 1 &&
  sources[0] === source &&
  (await store.documents(id)).every((one) => one.source === source);

const isEmpty = async (store: Store, collection: string): Promise<boolean> =>
  (await store.collections()).some(
    ({ name, generations }) => name === collection && generations.length === 0,
  );

export interface ImportRequest {
  readonly bytes: Uint8Array;
  /** Left out: the name that it was exported under. */
  readonly name?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Makes a generation from a pack: all of it, or nothing. It is promoted like any other. */
export const importPack = async (
  store: Store,
  embedder: PassageEmbedder,
  { bytes, name, signal }: ImportRequest,
): Promise<{ readonly collection: string; readonly version: string; readonly documents: number }> => {
  const { manifest, parts, digest } = readPack(bytes);
  const collection = checkName(name ?? manifest.collection);
  if (manifest.embedder !== embedder.id)
    throw new LlmcError("unavailable", "The pack was made with another embedder than this llmc has.", {
      hint: `The pack has ${manifest.embedder}, this llmc ${embedder.id}: make it again with llmc kb add.`,
    });
  const source = `pack:${digest.slice(0, KEY_CHARS)}`;
  const lines = (part: Uint8Array): readonly PackedDocument[] =>
    unpackPart(part).map((line) => ownKey(digest, unpackDocument(line, source, embedder.dimensions)));
  // Everything is read once before anything is written: what cannot be imported changes nothing.
  let [documents, chunks] = [0, 0];
  for (const part of parts)
    for (const document of lines(part)) {
      documents++;
      chunks += document.chunks.length;
    }
  if (documents !== manifest.documents || chunks !== manifest.chunks)
    throw badPack("it does not have as many documents and passages as its manifest says");
  const isNew = !(await store.collections()).some((one) => one.name === collection);
  if (isNew) await store.createCollection(collection, manifest.product);
  const known = (await store.collections())
    .find((one) => one.name === collection)
    ?.generations.find(({ version }) => version === manifest.version);
  if (known !== undefined && (await isLeftBehind(store, known, source)))
    await store.discardGeneration(known.id);
  else if (known !== undefined)
    throw new LlmcError("already_exists", `${collection} has a version ${manifest.version} already.`, {
      hint: "Import it under another name: llmc kb import FILE --name NAME",
    });
  const generation = await store.openGeneration(collection, manifest.version, {
    embedder: embedder.id,
    base: undefined,
    sources: [source],
  });
  try {
    for (const part of parts)
      for (const { facts, chunks: passages } of lines(part)) {
        stopIfAborted(signal);
        await store.addDocument(generation.id, facts, passages);
      }
    await store.completeGeneration(generation.id, [source]);
    if (manifest.questions.length > 0 && (await store.questions(collection)).length === 0)
      await store.saveQuestions(collection, manifest.questions);
  } catch (thrown) {
    await store.discardGeneration(generation.id);
    if (isNew && (await isEmpty(store, collection))) await store.removeCollection(collection);
    throw thrown;
  }
  return { collection, version: manifest.version, documents };
};
