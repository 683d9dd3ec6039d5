import { LlmcError, toLlmcError } from "../../base/error.ts";
import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import type {
  DocumentParser,
  ParsedDocument,
  ReadSource,
  SourceItem,
  SourceOptions,
} from "../../documents/contract.ts";
import { asLine } from "../../documents/document-checks.ts";
import type { PassageEmbedder } from "../search/passage-embedder.ts";
import type { DocumentFacts, Failure, Generation, Source, Store } from "../store/contract.ts";
import { chunkDocument } from "./chunk-document.ts";
import type { DocumentClaims } from "./document-claims.ts";
import { createDocumentKeys, type KeyedDocument } from "./document-key.ts";

export interface IngestProgress {
  readonly done: number;
  /** Of this source; undefined where it does not know how many it has. */
  readonly total: number | undefined;
  readonly source: Source;
  readonly failed: number;
}

export interface IngestRequest {
  readonly collection: string;
  /** Left out: the generation that is being made, or the next minor version. */
  readonly version?: string | undefined;
  readonly sources: readonly Source[];
  /** Reads, parses and compares, and changes nothing. */
  readonly dryRun?: boolean;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: IngestProgress) => void) | undefined;
}

/** A document that was read, but not as it was meant. */
export interface Warned {
  readonly uri: string;
  readonly warnings: readonly string[];
}

export interface IngestParts {
  readonly store: Store;
  readonly embedder: PassageEmbedder;
  readonly parser: DocumentParser;
  readonly readSource: ReadSource;
  readonly sourceOptions: () => SourceOptions;
  /** How a document is cited, from its source and its name there. */
  readonly uriOf: (source: Source, id: string) => string;
}

/** Documents that are parsed at the same time. */
const PARALLEL = 4;

/** What the generation already has of a source, by the name under which the source gives it. */
export const presentOf = (
  documents: readonly DocumentFacts[],
  source: Source,
): ReadonlyMap<string, DocumentFacts> =>
  new Map(documents.filter((one) => one.source === source).map((one) => [one.uri, one]));

export interface Run {
  readonly parts: IngestParts;
  readonly request: IngestRequest;
  /** Undefined in a dry run. */
  readonly generation: Generation | undefined;
  readonly claims: DocumentClaims | undefined;
  readonly added: string[];
  readonly changed: string[];
  readonly removed: string[];
  readonly failed: Failure[];
  readonly warned: Warned[];
  readonly unread: Map<Source, LlmcError>;
  unchanged: number;
}

/** Undefined where it was collected in the meantime: then its content is needed again. */
const linkKnown = async (
  store: Store,
  generation: Generation,
  key: string,
): Promise<"changed" | "unchanged" | undefined> => {
  try {
    return (await store.linkDocument(generation.id, key)) ? "changed" : "unchanged";
  } catch (thrown) {
    if (toLlmcError(thrown).code === "busy") return undefined;
    throw thrown;
  }
};

/** `elsewhere`: another run works on it. */
type Put = "changed" | "unchanged" | "elsewhere" | { readonly failure: unknown };

/**
 * Parses a document, unless the collection has it already, and puts it into the generation. Gives why it could not be
 * parsed; what the store throws is about no document, and ends the work: a full disk makes no document a bad one.
 */
const put = async (
  { parts, request, generation, claims, warned }: Run,
  { facts, item }: KeyedDocument,
): Promise<Put> => {
  const { store, parser, embedder } = parts;
  const { bytes, name, mediaType } = item;
  const parse = () => parser.parse({ bytes, name, mediaType }, request.signal);
  if (generation === undefined || claims === undefined) {
    try {
      const { warnings } = await parse();
      if (warnings.length > 0) warned.push({ uri: facts.uri, warnings });
      return "changed";
    } catch (failure) {
      return { failure };
    }
  }
  const claimed = await claims.take(facts.key);
  if (claimed === "taken") return "elsewhere";
  const linked = claimed === "known" ? await linkKnown(store, generation, facts.key) : undefined;
  if (linked !== undefined) return linked;
  let parsed: ParsedDocument;
  try {
    parsed = await parse();
  } catch (failure) {
    return { failure };
  }
  const cut = await chunkDocument(parsed, embedder, request.signal);
  const warnings = [...parsed.warnings, ...cut.warnings];
  await store.addDocument(
    generation.id,
    {
      ...facts,
      title: parsed.title || facts.title,
      format: parsed.format,
      licence: parsed.licence ?? facts.licence,
      version: parsed.version ?? facts.version,
      warnings,
    },
    cut.chunks,
  );
  if (warnings.length > 0) warned.push({ uri: facts.uri, warnings });
  return "changed";
};

const noList = (): LlmcError =>
  new LlmcError("unavailable", "The source named several documents before, and is a single one now.", {
    hint: "A server under maintenance may answer so. If it is meant: llmc kb forget, then llmc kb add.",
  });

/** What a source gives. One that fails ends there and is remembered: the other sources go on. */
async function* itemsOf(
  { parts, request, unread }: Run,
  { source, present }: Pick<Reading, "source" | "present">,
): AsyncGenerator<SourceItem> {
  const { signal } = request;
  try {
    for await (const item of parts.readSource(source, parts.sourceOptions(), signal)) {
      // Such as a page in the place of a sitemap, of which nobody knows why it is there.
      if (item.kind === "document" && item.id === source && present.size > 1) throw noList();
      yield item;
    }
  } catch (thrown) {
    stopIfAborted(signal);
    unread.set(source, toLlmcError(thrown));
  }
}

/** What a run knows of the source that it reads. */
interface Reading {
  readonly source: Source;
  readonly present: ReadonlyMap<string, DocumentFacts>;
  /** URIs. */
  readonly seen: Set<string>;
  /** URIs of those that could not be read; documents of other sources may have the same. */
  readonly failures: Set<string>;
  /** Keys of documents that other runs work on, by URI. */
  readonly elsewhere: Map<string, string>;
  /** False where the source said that it may have more. */
  isWhole: boolean;
}

const note = ({ failed }: Run, { failures }: Reading, failure: Failure): void => {
  failed.push(failure);
  failures.add(failure.uri);
};

const fail = async (run: Run, reading: Reading, uri: string, thrown: unknown): Promise<string> => {
  const error = toLlmcError(thrown);
  const failure = { uri, reason: `${error.code}: ${error.message}` };
  note(run, reading, failure);
  if (run.generation !== undefined) await run.parts.store.recordFailure(run.generation.id, failure);
  return failure.reason;
};

/** Whoever names a file writes into citations: as one line. What looks like an escape is escaped, so that no two names become one. */
const uriOfName = (name: string): string => asLine(name.replace(/%(?=[0-9a-f]{2})/gi, "%25"));

/** Reads a source, or of it again what a run had claimed that was killed. */
const readThrough = async (run: Run, reading: Reading, only?: ReadonlySet<string>): Promise<void> => {
  const { parts, request } = run;
  const { source, present, seen, elsewhere } = reading;
  const { signal } = request;
  const keyed = createDocumentKeys(parts.embedder.id);
  const running = new Set<Promise<void>>();
  const start = async ({ item, facts }: KeyedDocument): Promise<void> => {
    const { uri, key } = facts;
    const done = await put(run, { item, facts });
    stopIfAborted(signal);
    if (done === "elsewhere") elsewhere.set(uri, key);
    else if (done === "unchanged") run.unchanged++;
    else if (done === "changed") (present.has(uri) ? run.changed : run.added).push(uri);
    else {
      const reason = await fail(run, reading, uri, done.failure);
      await run.claims?.fail(key, reason);
    }
  };
  let stopped: { readonly by: unknown } | undefined;
  for await (const item of itemsOf(run, reading)) {
    stopIfAborted(signal);
    const uri = item.url === undefined ? uriOfName(parts.uriOf(source, item.id)) : asLine(item.url);
    if (only !== undefined && !only.has(uri)) continue;
    seen.add(uri);
    request.onProgress?.({ done: seen.size, total: item.total, source, failed: run.failed.length });
    if (item.kind === "failure") {
      reading.isWhole &&= item.isIncomplete !== true;
      await fail(run, reading, uri, item.error);
      continue;
    }
    const document = keyed(item, source, uri);
    if (present.get(uri)?.key === document.facts.key) {
      run.unchanged++;
      continue;
    }
    const work = start(document)
      .catch((thrown: unknown) => {
        stopped ??= { by: thrown };
      })
      .finally(() => running.delete(work));
    running.add(work);
    if (running.size >= PARALLEL) await Promise.race(running);
    if (stopped !== undefined) break;
  }
  await Promise.all(running);
  if (stopped !== undefined) throw stopped.by;
};

/** Waits for the documents that other runs work on, and reads those that they left. */
const awaitOthers = async (run: Run, reading: Reading): Promise<void> => {
  const { parts, request, claims, generation } = run;
  const { elsewhere } = reading;
  while (claims !== undefined && generation !== undefined && elsewhere.size > 0) {
    const { known, failed, free } = await claims.settle([...elsewhere.values()], request.signal);
    const left = new Set<string>();
    for (const [uri, key] of [...elsewhere]) {
      const reason = failed.get(key);
      const isIn = known.has(key) && (await linkKnown(parts.store, generation, key)) !== undefined;
      if (isIn) run.unchanged++;
      else if (reason !== undefined) note(run, reading, { uri, reason });
      else if (free.has(key) || known.has(key)) left.add(uri);
      else continue;
      elsewhere.delete(uri);
    }
    if (left.size > 0) await readThrough(run, reading, left);
  }
};

export const ingestSource = async (
  run: Run,
  source: Source,
  present: ReadonlyMap<string, DocumentFacts>,
): Promise<void> => {
  const { parts } = run;
  const reading: Reading = {
    source,
    present,
    seen: new Set(),
    failures: new Set(),
    elsewhere: new Map(),
    isWhole: true,
  };
  const { seen, failures } = reading;
  await readThrough(run, reading);
  await awaitOthers(run, reading);
  // Documents that it did not deliver may still exist.
  if (run.unread.has(source)) return;
  const isGone = (uri: string): boolean => reading.isWhole && !seen.has(uri);
  const gone = [...present.values()].filter(({ uri }) => isGone(uri) || failures.has(uri));
  if (run.generation !== undefined)
    await parts.store.removeDocuments(
      run.generation.id,
      gone.map(({ key }) => key),
    );
  run.removed.push(...gone.map(({ uri }) => uri).filter(isGone));
};
