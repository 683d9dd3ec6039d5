import type { LlmcError } from "../../base/error.ts";
import { noCollection } from "../store/collections-queries.ts";
import type { Failure, Generation, Source } from "../store/contract.ts";
import { baseFor, embedderChanged, otherEmbedder, versionFor } from "./choose-version.ts";
import { createDocumentClaims } from "./document-claims.ts";
import {
  type IngestParts,
  type IngestRequest,
  ingestSource,
  presentOf,
  type Run,
  type Warned,
} from "./ingest-source.ts";

export interface IngestReport {
  readonly collection: string;
  readonly version: string;
  readonly dryRun: boolean;
  /** URIs. */
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
  /** Already in the version, or put into it by another run at the same time. */
  readonly unchanged: number;
  readonly failed: readonly Failure[];
  /** Documents that this run has put in, though something is missing from them. */
  readonly warned: readonly Warned[];
  /** Sources that could not be read, or not to their end; what the version had of them stays in it. */
  readonly unread: readonly UnreadSource[];
}

export interface UnreadSource {
  readonly source: Source;
  readonly code: LlmcError["code"];
  readonly message: string;
  readonly hint: string | undefined;
}

/** Closes the version with the sources that it has now. One that was made for nothing goes again, unless others use it. */
const finish = async ({ parts: { store }, request, unread }: Run, generation: Generation, isNew: boolean) => {
  const read = request.sources.filter((source) => !unread.has(source));
  const isUnused = async () => (await store.claims.others(generation.id, "")).length === 0;
  if (read.length === 0 && isNew && (await isUnused())) await store.discardGeneration(generation.id);
  else await store.completeGeneration(generation.id, read);
};

const toUnread = ([source, { code, message, hint }]: readonly [Source, LlmcError]): UnreadSource => ({
  source,
  code,
  message,
  hint,
});

/**
 * Reads sources into a generation of a collection: what was killed goes on where it stopped, what has not changed is not
 * read again, and what cannot be read is reported and left out: documents, and whole sources.
 */
export const ingest = async (parts: IngestParts, request: IngestRequest): Promise<IngestReport> => {
  const { store, embedder } = parts;
  const collection = (await store.collections()).find(({ name }) => name === request.collection);
  if (collection === undefined) throw noCollection(request.collection);
  const version = versionFor(collection, request.version);
  const known = collection.generations.find((one) => one.version === version);
  if (known !== undefined && known.embedder !== embedder.id) throw embedderChanged(version);
  const base = baseFor(collection);
  const isRenewed = base !== undefined && base.embedder !== embedder.id;
  if (isRenewed && base.sources.some((source) => !request.sources.includes(source)))
    throw otherEmbedder(base.version);
  const from = isRenewed ? undefined : base?.id;
  const generation = request.dryRun
    ? undefined
    : await store.openGeneration(collection.name, version, { embedder: embedder.id, base: from });
  const run: Run = {
    parts,
    request,
    generation,
    claims: generation === undefined ? undefined : createDocumentClaims(store, generation),
    added: [],
    changed: [],
    removed: [],
    failed: [],
    warned: [],
    unread: new Map(),
    unchanged: 0,
  };
  const compared = generation?.id ?? known?.id ?? from;
  const documents = compared === undefined ? [] : await store.documents(compared);
  try {
    // A claim on no document: as long as it is renewed, no other run takes the version for unused.
    await run.claims?.take(`run ${run.claims.holder}`);
    for (const source of request.sources) await ingestSource(run, source, presentOf(documents, source));
  } finally {
    await run.claims?.close();
  }
  if (generation !== undefined) await finish(run, generation, known === undefined);
  const [only] = run.unread.values();
  if (only !== undefined && request.sources.length === 1) throw only;
  const { added, changed, removed, unchanged, failed, warned } = run;
  const byUri = (a: { readonly uri: string }, b: { readonly uri: string }): number =>
    a.uri < b.uri ? -1 : 1;
  return {
    collection: collection.name,
    version,
    dryRun: request.dryRun ?? false,
    added: added.toSorted(),
    changed: changed.toSorted(),
    removed: removed.toSorted(),
    unchanged,
    failed: failed.toSorted(byUri),
    warned: warned.toSorted(byUri),
    unread: [...run.unread].map(toUnread),
  };
};
