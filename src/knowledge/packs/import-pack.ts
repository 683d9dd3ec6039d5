import { createGunzip } from "node:zlib";
import { LlmcError, toLlmcError } from "../../base/error.ts";
import { createLineSplitter } from "../../base/line-splitter.ts";
import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import { checkName, DOCUMENT_KEY_DIGITS, documentKeyOf } from "../api/ids.ts";
import { indexPassages } from "../ingest/chunk-document.ts";
import { createDocumentClaims, type DocumentClaims } from "../ingest/document-claims.ts";
import type { PassageEmbedder } from "../search/passage-embedder.ts";
import type { Collection, Generation, Store } from "../store/contract.ts";
import { badPack, type PackManifest, readPack } from "./pack-format.ts";
import { type PackedDocument, unpackDocument } from "./packed-document.ts";

/** What one part may become; more is a bomb. */
const MAX_PART_BYTES = 256 * 1024 * 1024;
/** Of one document: twice what one with the most passages of the largest size takes. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;
/** Unpacked at once. */
const PIECE_BYTES = 256 * 1024;

/** The lines of a part, one after the other: never more of it in memory than one line. */
async function* unpackPart(part: Uint8Array): AsyncGenerator<string> {
  let lines: string[] = [];
  let bytes = 0;
  const splitter = createLineSplitter(() => MAX_LINE_BYTES, 0, {
    onLine: (line) => lines.push(line.toString("utf8")),
    onOversize: () => {
      throw badPack("a document in it is too large");
    },
  });
  const take = (): readonly string[] => {
    const taken = lines;
    lines = [];
    return taken;
  };
  const pieces = createGunzip({ chunkSize: PIECE_BYTES });
  pieces.end(part);
  try {
    for await (const piece of pieces as AsyncIterable<Buffer>) {
      bytes += piece.byteLength;
      if (bytes > MAX_PART_BYTES) throw badPack("a part of it is too large");
      splitter.push(piece);
      yield* take();
    }
  } catch (error) {
    throw error instanceof LlmcError
      ? error
      : Object.assign(badPack("a part of it cannot be unpacked"), { cause: error });
  }
  splitter.end();
  yield* take();
}

/**
 * Whoever makes a pack chooses the keys in it: they are hashed once more with the pack itself, so that none of them is
 * taken for a document that was read here.
 */
const ownKey = (digest: string, { facts, chunks }: PackedDocument): PackedDocument => ({
  chunks,
  facts: { ...facts, key: documentKeyOf(`${digest}\0${facts.key}`) },
});

/** What makes the index of imported passages. */
type PackEmbedder = Pick<PassageEmbedder, "id" | "dimensions" | "embedPassages">;

export interface ImportRequest {
  readonly bytes: Uint8Array;
  /** Left out: the name that it was exported under. */
  readonly name?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A pack that was read and checked. */
interface CheckedPack {
  readonly collection: string;
  readonly manifest: PackManifest;
  /** What its version names as its source: the pack itself. */
  readonly source: string;
  /** Unpacked one after the other, since all of them together may not fit into memory. */
  readonly documents: () => AsyncIterable<PackedDocument>;
}

/** Everything is read once before anything is written: what cannot be imported changes nothing. */
const checkPack = async (
  { id: embedderId }: PackEmbedder,
  { bytes, name, signal }: ImportRequest,
): Promise<CheckedPack> => {
  const { manifest, parts, digest } = readPack(bytes);
  const collection = checkName(name ?? manifest.collection);
  if (manifest.embedder !== embedderId)
    throw new LlmcError("unavailable", "The pack was made with another embedder than this llmc has.", {
      hint: `The pack has ${manifest.embedder}, this llmc ${embedderId}: make it again with llmc kb add.`,
    });
  const source = `pack:${digest.slice(0, DOCUMENT_KEY_DIGITS)}`;
  async function* documents(): AsyncGenerator<PackedDocument> {
    for (const part of parts)
      for await (const line of unpackPart(part)) yield ownKey(digest, unpackDocument(line, source));
  }
  let [count, chunks] = [0, 0];
  for await (const document of documents()) {
    stopIfAborted(signal);
    count++;
    chunks += document.chunks.length;
    if (count > manifest.documents || chunks > manifest.chunks) break;
  }
  if (count !== manifest.documents || chunks !== manifest.chunks)
    throw badPack("it does not have as many documents and passages as its manifest says");
  return { collection, manifest, source, documents };
};

const collectionIn = async (store: Store, name: string): Promise<Collection | undefined> =>
  (await store.collections()).find((one) => one.name === name);

const generationIn = async (
  store: Store,
  { collection, manifest: { version } }: CheckedPack,
): Promise<Generation | undefined> =>
  (await collectionIn(store, collection))?.generations.find((one) => one.version === version);

/** Whether an import of the same pack made this version and did not end; nobody else adds to what is imported. */
const isUnfinished = ({ isImported, state, sources }: Generation, source: string): boolean =>
  isImported && state === "open" && sources[0] === source;

const alreadyThere = ({ collection, manifest: { version } }: CheckedPack): LlmcError =>
  new LlmcError("already_exists", `${collection} has a version ${version} already.`, {
    hint: "Import it under another name: llmc kb import FILE --name NAME",
  });

const isImported = ({ collection, manifest: { version } }: CheckedPack): LlmcError =>
  new LlmcError("busy", `Version ${version} of ${collection} is being imported by another process.`, {
    hint: "Wait until that has ended.",
    retryable: true,
  });

interface Begun {
  readonly generation: Generation;
  readonly claims: DocumentClaims;
}

/**
 * The version to import into: a new one, or the one that an import of the same pack left behind, whose documents are the
 * same. Whoever holds the claim on it writes it; a claim that is not renewed any more is taken over.
 */
const beginImport = async (
  store: Store,
  { id: embedderId }: PackEmbedder,
  pack: CheckedPack,
  signal: AbortSignal | undefined,
): Promise<Begun> => {
  const known = await generationIn(store, pack);
  if (known !== undefined && !isUnfinished(known, pack.source)) throw alreadyThere(pack);
  const generation =
    known ??
    (await store.openGeneration(pack.collection, pack.manifest.version, {
      embedder: embedderId,
      base: undefined,
      pack: { source: pack.source, questions: pack.manifest.questions },
    }));
  const claims = createDocumentClaims(store, generation);
  try {
    if (!(await claims.takeOver(pack.source, signal))) throw isImported(pack);
    // Who had the claim before may have ended meanwhile, or given up.
    const now = await generationIn(store, pack);
    if (now?.id !== generation.id || !isUnfinished(now, pack.source)) throw alreadyThere(pack);
    return { generation, claims };
  } catch (thrown) {
    await claims.close();
    // It failed meanwhile, and removed what it had made.
    throw toLlmcError(thrown).code === "resource_not_found" ? isImported(pack) : thrown;
  }
};

/** Removes what an import that failed has made, unless another process goes on with it. */
const undoImport = async (
  store: Store,
  begun: Begun | undefined,
  { collection, source }: CheckedPack,
  isNew: boolean,
): Promise<void> => {
  if (begun !== undefined)
    await store.discardGeneration(begun.generation.id, { key: source, holder: begun.claims.holder });
  if (isNew && (await collectionIn(store, collection))?.generations.length === 0)
    await store.removeCollection(collection);
};

/** Makes a generation from a pack: all of it, or nothing. It is promoted like any other. */
export const importPack = async (
  store: Store,
  embedder: PackEmbedder,
  request: ImportRequest,
): Promise<{ readonly collection: string; readonly version: string; readonly documents: number }> => {
  const { signal } = request;
  const pack = await checkPack(embedder, request);
  const { collection, manifest, source } = pack;
  const isNew = (await collectionIn(store, collection)) === undefined;
  if (isNew) await store.createCollection(collection, manifest.product);
  let begun: Begun | undefined;
  try {
    begun = await beginImport(store, embedder, pack, signal);
    const { id } = begun.generation;
    for await (const { facts, chunks } of pack.documents()) {
      stopIfAborted(signal);
      await store.addDocument(id, facts, await indexPassages(facts.title, chunks, embedder, signal));
    }
    // A key that two of them have is that of one document.
    if ((await store.documents(id)).length !== manifest.documents)
      throw badPack("two documents in it have the same key");
    await store.completeGeneration(id, [source]);
  } catch (thrown) {
    // Why the import failed is what its caller has to know, also where nothing can be undone: then it is begun again.
    await undoImport(store, begun, pack, isNew).catch(() => {});
    throw thrown;
  } finally {
    await begun?.claims.close();
  }
  return { collection, version: manifest.version, documents: manifest.documents };
};
