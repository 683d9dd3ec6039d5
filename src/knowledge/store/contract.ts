import type { ChunkKind } from "../../retrieve/chunk/chunk.ts";
import type { VersionLabel } from "../versions/semver.ts";

/** Where documents come from, as it was named: a path, a URL, a git repository. */
export type Source = string;

/** A line through logits, from the evaluation set of a collection: where its questions differ from those of the models. */
export interface Calibration {
  readonly slope: number;
  readonly offset: number;
}

/** How well a generation answers the questions of its collection. All from 0 to 1, but for the milliseconds. */
export interface EvalScores {
  readonly questions: number;
  readonly recall: number;
  readonly mrr: number;
  readonly ndcg: number;
  /** The share of answers whose sentences stand in a document that is known to answer the question. */
  readonly faithfulness: number;
  /** Questions that are not answered here and were found so; null where the set has none. */
  readonly refusals: number | null;
  readonly p95Ms: number;
  /** What turns how well passages fit into how surely they answer, in this collection. */
  readonly calibration: Calibration;
}

/**
 * A version of a collection. `open`: documents may still be added. `complete`: all of them are in, but it can be opened
 * again. `sealed`: it was promoted, and never changes any more.
 */
export interface Generation {
  readonly id: number;
  readonly collection: string;
  readonly version: VersionLabel;
  /** Made from a pack: complete for good, since nothing of it was read here. */
  readonly isImported: boolean;
  readonly state: "open" | "complete" | "sealed";
  readonly embedder: string;
  readonly sources: readonly Source[];
  readonly scores: EvalScores | undefined;
  readonly createdMs: number;
  readonly documents: number;
  readonly chunks: number;
  readonly bytes: number;
  readonly failures: number;
}

export interface GenerationRequest {
  readonly embedder: string;
  /** The generation whose documents it begins with. */
  readonly base: number | undefined;
  /** The pack that it is made from. It has to be new. */
  readonly pack?: { readonly source: Source; readonly questions: readonly EvalQuestion[] } | undefined;
}

export interface Collection {
  readonly name: string;
  /** What the collection is about, for `filters.product`. */
  readonly product: string;
  readonly createdMs: number;
  /** Version that queries get unless they name one. */
  readonly active: VersionLabel | undefined;
  /** The same for this workspace. */
  readonly pinned: VersionLabel | undefined;
  /** Newest first. */
  readonly generations: readonly Generation[];
  /** Versions in the store that cannot be read: somebody else wrote them, or a newer llmc. */
  readonly unreadable: number;
}

/** What is known of a document, whatever generation it is in. */
export interface DocumentFacts {
  /** Follows from URI, content and the way it was read: the same key is the same document. */
  readonly key: string;
  readonly uri: string;
  readonly source: Source;
  readonly title: string;
  readonly format: string;
  readonly licence: string | undefined;
  /** Of the document itself, where it names one. */
  readonly version: string | undefined;
  /** Of its bytes, SHA-256. */
  readonly hash: string;
  readonly bytes: number;
  readonly warnings: readonly string[];
}

/** Where a chunk stands in its document. */
export interface ChunkPosition {
  readonly ordinal: number;
  readonly kind: ChunkKind;
  readonly headings: readonly string[];
  readonly anchor: string | undefined;
  readonly page: number | undefined;
  readonly startLine: number | undefined;
  readonly endLine: number | undefined;
}

/** A part of a document, as it was cut. */
export interface CutPassage extends ChunkPosition {
  readonly text: string;
}

/** With what it is found by. */
export interface NewChunk extends CutPassage {
  readonly terms: Uint8Array;
  readonly vector: Int8Array;
}

/** What an index in memory is built from. */
export interface IndexedPassage {
  readonly id: number;
  /** Number of its document in the store. */
  readonly document: number;
  readonly uri: string;
  readonly kind: ChunkKind;
  readonly terms: Uint8Array;
  readonly vector: Int8Array;
}

/** What a citation names of a passage. */
export interface CitedPassage extends ChunkPosition {
  readonly document: DocumentFacts;
}

export interface Passage extends CitedPassage {
  readonly id: number;
  readonly text: string;
}

/** Names a passage within a generation. */
export interface PassageKey {
  /** Of its document. */
  readonly key: string;
  readonly ordinal: number;
}

/** Both ends are part of it. */
export interface PassageRange {
  readonly unit: "line" | "page" | "ordinal";
  readonly first: number;
  readonly last: number;
}

export interface DocumentPart {
  readonly document: DocumentFacts;
  /** Passages of the whole document. */
  readonly chunks: number;
  /** Passages in the range. */
  readonly wanted: number;
  readonly passages: readonly Passage[];
}

export interface Failure {
  readonly uri: string;
  readonly reason: string;
}

/** A question of an evaluation set. */
export interface EvalQuestion {
  readonly query: string;
  /** URIs of the documents that answer it, or ends of them; empty: nothing in the collection does. */
  readonly gold: readonly string[];
  /** A text that the answer contains, where the set has one. */
  readonly answer?: string | undefined;
}

export interface Removed {
  readonly generations: readonly string[];
  readonly documents: number;
}

/**
 * Indexes as they are in memory, in pieces, so that a generation is loaded and not built again. They follow from its
 * documents: one that is missing or damaged is made again. A generation that is opened again loses its own.
 */
export interface StoredIndexes {
  /** From now on, only parts of this builder are accepted. Does nothing for a generation that is open. */
  begin(generation: number, builder: string): Promise<void>;
  add(
    generation: number,
    builder: string,
    part: { readonly section: string; readonly piece: number; readonly bytes: Uint8Array },
  ): Promise<void>;
  /** All parts are in. */
  finish(generation: number, builder: string, header: string): Promise<void>;
  /** Undefined where there is none, or not all of it. */
  header(generation: number): Promise<string | undefined>;
  part(generation: number, section: string, piece: number): Promise<Uint8Array | undefined>;
}

/** Whether a run may read a document: the collection has it, another run works on it, or it is this run's now. */
export type Claimed = "known" | "taken" | "own";

/** A document that one run works on. */
export interface Claim {
  readonly key: string;
  readonly holder: string;
  /** Grows as long as the holder is alive. */
  readonly beat: number;
  /** Why the holder could not read it. */
  readonly failure: string | undefined;
}

/** Who reads which document, where several runs read into the same generation. A document that is added has no claim. */
export interface StoredClaims {
  take(generation: number, key: string, holder: string): Promise<Claimed>;
  renew(generation: number, holder: string): Promise<void>;
  others(generation: number, holder: string): Promise<readonly Claim[]>;
  fail(generation: number, key: string, holder: string, reason: string): Promise<void>;
  /** Takes a claim away from a holder, unless it has renewed it. */
  drop(generation: number, claim: Claim): Promise<void>;
  release(generation: number, holder: string): Promise<void>;
}

/**
 * Keeps collections. Every method is atomic: a process that is killed between two of them leaves a store that can be opened
 * and used. Names are checked by the caller.
 */
export interface Store {
  /** Changes whenever collections, versions or pins may have changed. */
  revision(): Promise<string>;
  /** `pinned` as this workspace has it. */
  collections(): Promise<readonly Collection[]>;
  createCollection(name: string, product: string): Promise<void>;
  /** With everything in it. */
  removeCollection(name: string): Promise<void>;

  /** Makes a generation, or opens it again, unless it was imported. The number of a generation is never used for another one. */
  openGeneration(collection: string, version: VersionLabel, request: GenerationRequest): Promise<Generation>;
  /**
   * Adds to the sources that the documents of a generation come from, and removes some. Who adds or removes documents
   * afterwards opens it again.
   */
  completeGeneration(
    generation: number,
    sources: readonly Source[],
    removed?: readonly Source[],
  ): Promise<void>;
  /**
   * Removes a generation that was never promoted, with what only it has; if a claim is named, only while that is held and
   * nobody else has one.
   */
  discardGeneration(generation: number, claim?: Pick<Claim, "key" | "holder">): Promise<void>;
  saveScores(generation: number, scores: EvalScores): Promise<void>;
  /**
   * Seals a generation and makes it the one that queries get: from one moment to the next. Questions of a pack become those
   * of a collection that has none.
   */
  promote(generation: number): Promise<void>;
  /** Makes the generation active that was so before; gives its version, or nothing where there is none. */
  rollback(collection: string): Promise<VersionLabel | undefined>;
  pin(collection: string, version: string | undefined): Promise<void>;

  /** Which of these documents the collection already has, in any generation. */
  knownDocuments(collection: string, keys: readonly string[]): Promise<ReadonlySet<string>>;
  /** Adds a document with all its chunks, in the place of one of the same source and URI. Does nothing if it is already in. */
  addDocument(generation: number, document: DocumentFacts, chunks: readonly NewChunk[]): Promise<void>;
  /** The same for a document that the collection already has. False: the generation has it, too. */
  linkDocument(generation: number, key: string): Promise<boolean>;
  removeDocuments(generation: number, keys: readonly string[]): Promise<void>;
  recordFailure(generation: number, failure: Failure): Promise<void>;
  failures(generation: number): Promise<readonly Failure[]>;
  documents(generation: number): Promise<readonly DocumentFacts[]>;

  /** Every chunk of a generation, in batches, document by document. */
  passages(generation: number): AsyncIterable<readonly IndexedPassage[]>;
  /** In the order of the ids; those that the generation does not have are left out. */
  readPassages(generation: number, ids: readonly number[]): Promise<readonly Passage[]>;
  /** Those that the generation has, in any order, without their texts. */
  readPositions(generation: number, keys: readonly PassageKey[]): Promise<readonly CitedPassage[]>;
  /** The beginning of a range, or of the whole document; undefined where the generation has no such document. */
  readPart(
    generation: number,
    key: string,
    range: PassageRange | undefined,
    maxChars: number,
  ): Promise<DocumentPart | undefined>;
  /** A whole document, by position; undefined where the generation has no such document. */
  readDocument(generation: number, key: string): Promise<readonly Passage[] | undefined>;

  readonly claims: StoredClaims;
  readonly indexes: StoredIndexes;

  /** Of a collection, or, where it has none, those that a generation brought with its pack. */
  questions(collection: string, generation?: number): Promise<readonly EvalQuestion[]>;
  saveQuestions(collection: string, questions: readonly EvalQuestion[]): Promise<void>;

  /** Keeps a generation from being collected until that time; a holder renews it as long as it needs it. */
  hold(generation: number, holder: string, untilMs: number): Promise<void>;
  release(generation: number, holder: string): Promise<void>;
  /** Removes generations that nobody needs: not active, not pinned, not held, not among the last `keep` ones. */
  collect(collection: string, keep: number, nowMs: number): Promise<Removed>;
  close(): Promise<void>;
}
