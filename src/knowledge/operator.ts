import { LlmcError } from "../base/error.ts";
import { checkName } from "./api/ids.ts";
import { versionNotPromoted } from "./catalogue.ts";
import { type Evaluation, evaluate, shortcomings } from "./evaluate/evaluate.ts";
import { baseFor, draftOf } from "./ingest/choose-version.ts";
import { type Forgotten, forgetSources } from "./ingest/forget-sources.ts";
import { type IngestReport, ingest } from "./ingest/ingest.ts";
import type { IngestParts, IngestProgress, IngestRequest } from "./ingest/ingest-source.ts";
import type { KnowledgeEngine } from "./knowledge.ts";
import { exportPack } from "./packs/export-pack.ts";
import { importPack } from "./packs/import-pack.ts";
import type { Collection, EvalQuestion, Generation, Removed, Source } from "./store/contract.ts";
import { parseVersion } from "./versions/semver.ts";

export interface OperatorParts {
  readonly engine: KnowledgeEngine;
  readonly ingestParts: () => Promise<Omit<IngestParts, "store" | "embedder">>;
  /** Shares from 0 to 1. */
  readonly thresholds: () => { readonly minRecall: number; readonly maxDrop: number };
  readonly now: () => number;
}

export interface Work {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: IngestProgress) => void) | undefined;
}

export interface Promotion {
  readonly version: string;
  /** Undefined where the collection has no question set. */
  readonly evaluation: Evaluation | undefined;
  readonly before: string | undefined;
}

const noSuchVersion = ({ name, generations }: Collection, asked: string | undefined): LlmcError =>
  asked === undefined || generations.length === 0
    ? new LlmcError("resource_not_found", `${name} has no version that could be used for this.`, {
        hint: `llmc kb add ${name} SOURCE makes one.`,
      })
    : new LlmcError("resource_not_found", `${name} has no version ${asked}.`, {
        hint: `It has ${generations
          .slice(0, 10)
          .map(({ version }) => version)
          .join(", ")}.`,
      });

/**
 * The version that was named, or else the one that is being made here. What was imported is meant without being named only
 * where there is nothing else: it would take the place of the collection's own documents.
 */
const pick = (collection: Collection, version: string | undefined): Generation => {
  const asked = version === undefined ? undefined : parseVersion(version);
  const { generations } = collection;
  const found =
    asked === undefined
      ? (draftOf(collection) ?? (collection.active === undefined ? generations[0] : undefined))
      : generations.find((one) => one.version === asked);
  if (found === undefined) throw noSuchVersion(collection, asked);
  return found;
};

const current = (collection: Collection, version: string | undefined): Generation => {
  const wanted = version === undefined ? (collection.pinned ?? collection.active) : parseVersion(version);
  const found = collection.generations.find((one) => one.version === wanted) ?? collection.generations[0];
  if (found === undefined || (version !== undefined && found.version !== wanted))
    throw noSuchVersion(collection, version === undefined ? undefined : wanted);
  return found;
};

const read = async (
  { engine: { store, embedder }, ingestParts }: OperatorParts,
  request: Pick<IngestRequest, "collection" | "sources" | "version" | "dryRun">,
  work: Work,
): Promise<IngestReport> => ingest({ ...(await ingestParts()), store, embedder }, { ...request, ...work });

/** With the active version asked the same: scores of another time may be those of other questions. */
const runEvaluation = async (
  { engine: { store, embedder, search } }: OperatorParts,
  { active: version, generations }: Collection,
  generation: Generation,
  questions: readonly EvalQuestion[],
  signal: AbortSignal | undefined,
): Promise<Evaluation> => {
  const parts = { search, tables: embedder.tables };
  const evaluation = await evaluate(parts, generation, questions, signal);
  await store.saveScores(generation.id, evaluation.scores);
  const active = generations.find((one) => one.version === version);
  // Vectors of another embedder cannot be searched any more.
  if (active === undefined || active.id === generation.id || active.embedder !== embedder.id)
    return evaluation;
  const { scores } = await evaluate(parts, active, questions, signal);
  return { ...evaluation, active: { version: active.version, scores } };
};

interface ReadOptions {
  readonly version?: string | undefined;
  readonly dryRun: boolean;
}

/** Reads every source again of the version that the new one is built on: a pin is about what questions get. */
const sync = async (
  parts: OperatorParts,
  name: string,
  { version, dryRun }: ReadOptions,
  work: Work,
): Promise<IngestReport> => {
  const collection = await parts.engine.catalogue.find(checkName(name));
  const base = baseFor(collection) ?? current(collection, undefined);
  const sources = base.sources.filter((source) => !source.startsWith("pack:"));
  if (sources.length === 0)
    throw new LlmcError("invalid_args", `${name} has no sources that could be read again.`, {
      hint: `llmc kb add ${name} SOURCE`,
    });
  return read(parts, { collection: collection.name, sources, version, dryRun }, work);
};

/** Makes a version the active one, if it answers its question set well enough. */
const promote = async (
  parts: OperatorParts,
  name: string,
  version: string | undefined,
  { force, signal }: { readonly force: boolean; readonly signal?: AbortSignal | undefined },
): Promise<Promotion> => {
  const { store, catalogue } = parts.engine;
  const collection = await catalogue.find(checkName(name));
  const generation = pick(collection, version);
  const questions = await store.questions(collection.name, generation.id);
  const isEvaluated = generation.state !== "open" && questions.length > 0;
  const evaluation = isEvaluated
    ? await runEvaluation(parts, collection, generation, questions, signal)
    : undefined;
  const why =
    evaluation === undefined
      ? []
      : shortcomings(evaluation.scores, evaluation.active?.scores, parts.thresholds());
  if (why.length > 0 && !force)
    throw new LlmcError("unavailable", `Version ${generation.version} was not promoted: ${why.join("; ")}.`, {
      hint: "--force promotes it all the same; mcp.kb.min_recall_percent and max_drop_percent are the limits.",
    });
  // Its index is in the store before questions get it: no server has to build one.
  const { embedder, prepare } = parts.engine;
  if (generation.state !== "open" && generation.embedder === embedder.id) await prepare(generation);
  await store.promote(generation.id);
  return { version: generation.version, evaluation, before: collection.active };
};

const evaluateVersion = async (
  parts: OperatorParts,
  name: string,
  version: string | undefined,
  questions: readonly EvalQuestion[] | undefined,
  signal?: AbortSignal,
): Promise<Evaluation & { readonly version: string }> => {
  const { store, catalogue } = parts.engine;
  const collection = await catalogue.find(checkName(name));
  const generation =
    version === undefined && collection.active === undefined
      ? pick(collection, undefined)
      : current(collection, version);
  if (questions !== undefined) await store.saveQuestions(collection.name, questions);
  const asked = questions ?? (await store.questions(collection.name, generation.id));
  if (asked.length === 0)
    throw new LlmcError("invalid_args", `${name} has no question set yet.`, {
      hint: `llmc kb eval ${name} questions.jsonl`,
    });
  return {
    version: generation.version,
    ...(await runEvaluation(parts, collection, generation, asked, signal)),
  };
};

/** What the operator does to collections: on the command line, never through a tool. */
export const createOperator = (parts: OperatorParts) => {
  const { engine, now } = parts;
  const { store, embedder, catalogue } = engine;
  return {
    list: () => catalogue.list(),
    create: async (name: string, product: string): Promise<void> =>
      store.createCollection(checkName(name), product),
    add: async (
      name: string,
      sources: readonly Source[],
      { version, dryRun }: ReadOptions,
      work: Work,
    ): Promise<IngestReport> => read(parts, { collection: checkName(name), sources, version, dryRun }, work),
    sync: (name: string, options: ReadOptions, work: Work) => sync(parts, name, options, work),
    forget: async (
      name: string,
      sources: readonly Source[],
      { version }: Pick<ReadOptions, "version">,
    ): Promise<Forgotten> =>
      forgetSources(store, embedder.id, await catalogue.find(checkName(name)), { sources, version }),
    promote: (name: string, version: string | undefined, options: Parameters<typeof promote>[3]) =>
      promote(parts, name, version, options),
    rollback: async (name: string): Promise<string> => {
      const version = await store.rollback(checkName(name));
      if (version === undefined)
        throw new LlmcError("resource_not_found", `${name} has no version before the active one.`);
      return version;
    },
    pin: async (name: string, version: string | undefined): Promise<void> => {
      if (version === undefined) return store.pin(checkName(name), undefined);
      const found = current(await catalogue.find(checkName(name)), version);
      if (found.state !== "sealed") throw versionNotPromoted(name, found.version);
      return store.pin(name, found.version);
    },
    evaluate: (
      name: string,
      version: string | undefined,
      questions: readonly EvalQuestion[] | undefined,
      signal?: AbortSignal,
    ) => evaluateVersion(parts, name, version, questions, signal),
    exportPack: async (
      name: string,
      version: string | undefined,
      signal?: AbortSignal,
    ): Promise<Uint8Array> =>
      exportPack(store, current(await catalogue.find(checkName(name)), version), signal),
    importPack: (bytes: Uint8Array, name: string | undefined, signal?: AbortSignal) =>
      importPack(store, embedder, { bytes, name, signal }),
    collect: async (name: string | undefined, keep: number): Promise<Readonly<Record<string, Removed>>> => {
      await engine.dropIdle();
      const names = name === undefined ? (await catalogue.list()).map((one) => one.name) : [checkName(name)];
      const removed: Record<string, Removed> = {};
      for (const one of names) removed[one] = await store.collect(one, keep, now());
      return removed;
    },
    remove: async (name: string): Promise<void> => store.removeCollection(checkName(name)),
  };
};
