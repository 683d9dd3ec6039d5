import { gzipSync } from "node:zlib";
import { LlmcError } from "../../base/error.ts";
import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import type { CutPassage, DocumentFacts, Generation, Store } from "../store/contract.ts";
import { sha256Of, writePack } from "./pack-format.ts";
import { packDocument } from "./packed-document.ts";

/** Characters of JSON in one part. */
const PART_CHARS = 8 * 1024 * 1024;

const readPassages = async (
  store: Store,
  generation: Generation,
  key: string,
): Promise<readonly CutPassage[]> => {
  const passages = await store.readDocument(generation.id, key);
  if (passages === undefined)
    throw new LlmcError("busy", "The version was removed while it was exported.", { retryable: true });
  return passages.map(({ id: _, document: __, ...passage }) => passage);
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
    const passages = await readPassages(store, generation, facts.key);
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
