import { LlmcError } from "../../base/error.ts";
import type { Collection, Source, Store } from "../store/contract.ts";
import { baseFor, otherEmbedder, versionFor } from "./choose-version.ts";

export interface Forgotten {
  readonly collection: string;
  readonly version: string;
  /** URIs. */
  readonly removed: readonly string[];
  /** Documents that are left. */
  readonly left: number;
}

const unknownSource = (name: string, source: Source, known: readonly Source[]): LlmcError =>
  new LlmcError("resource_not_found", `${name} has no source ${JSON.stringify(source)}.`, {
    hint: known.length === 0 ? "It has no sources." : `It has ${known.slice(0, 10).join(", ")}.`,
  });

/** Makes a version without some of its sources and their documents; the sources themselves need not be there any more. */
export const forgetSources = async (
  store: Store,
  embedder: string,
  collection: Collection,
  request: { readonly sources: readonly Source[]; readonly version?: string | undefined },
): Promise<Forgotten> => {
  const version = versionFor(collection, request.version);
  const base = baseFor(collection);
  const from = collection.generations.find((one) => one.version === version) ?? base;
  const known = from?.sources ?? [];
  for (const source of request.sources)
    if (!known.includes(source)) throw unknownSource(collection.name, source, known);
  if (from !== undefined && from.embedder !== embedder) throw otherEmbedder(from.version);
  const generation = await store.openGeneration(collection.name, version, { embedder, base: base?.id });
  const documents = await store.documents(generation.id);
  const gone = documents.filter(({ source }) => request.sources.includes(source));
  await store.removeDocuments(
    generation.id,
    gone.map(({ key }) => key),
  );
  await store.completeGeneration(generation.id, [], request.sources);
  return {
    collection: collection.name,
    version,
    removed: gone.map(({ uri }) => uri),
    left: documents.length - gone.length,
  };
};
