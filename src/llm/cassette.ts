import { LlmcError, toLlmcError } from "../base/error.ts";
import { ERROR_TABLE, type ErrorCode } from "../base/error-table.ts";
import { isRecord } from "../base/is-record.ts";
import type { Generation, Model, Models } from "./contract.ts";
import { markUnbilled, mayBeBilled } from "./failures.ts";
import { requestKey } from "./request-key.ts";

/** How a recorded call ended: everything that the caller saw of it, and nothing of what was sent. */
type Outcome =
  | { readonly generation: Generation }
  | {
      readonly failure: {
        readonly code: ErrorCode;
        readonly message: string;
        readonly hint?: string;
        readonly details: Readonly<Record<string, string | number | boolean>>;
        readonly retryable: boolean;
        readonly mayBeBilled: boolean;
      };
    };

interface Entry {
  /** Digest of the model and the whole request. */
  readonly key: string;
  readonly outcome: Outcome;
}

/** A recorded analysis: its replay has the same id, so that its whole output is the same. */
interface Session {
  /** Digest of what the analysis was asked. */
  readonly key: string;
  readonly id: string;
}

const VERSION = 1;
/** It becomes part of the name of a file. */
const SESSION_ID = /^[\w-]{1,64}$/;

export interface Cassette {
  readonly llmc_cassette: typeof VERSION;
  readonly entries: readonly Entry[];
  /** Of the sessions, in their order: what a strict replay has to come to. */
  readonly trajectories: readonly string[];
  /** In the same order; cassettes of older versions have none. */
  readonly sessions: readonly Session[];
}

export const EMPTY_CASSETTE: Cassette = {
  llmc_cassette: VERSION,
  entries: [],
  trajectories: [],
  sessions: [],
};

const invalid = (): LlmcError =>
  new LlmcError("config_invalid", "The cassette is not one that llmc recorded.", {
    hint: "Record it again.",
  });

const isSession = (one: unknown): one is Session =>
  isRecord(one) &&
  typeof one["key"] === "string" &&
  typeof one["id"] === "string" &&
  SESSION_ID.test(one["id"]);

const isFailure = (one: unknown): boolean =>
  isRecord(one) &&
  typeof one["code"] === "string" &&
  Object.hasOwn(ERROR_TABLE, one["code"]) &&
  typeof one["message"] === "string" &&
  ["string", "undefined"].includes(typeof one["hint"]) &&
  isRecord(one["details"]) &&
  typeof one["retryable"] === "boolean" &&
  typeof one["mayBeBilled"] === "boolean";

const isGeneration = (one: unknown): boolean =>
  isRecord(one) &&
  typeof one["text"] === "string" &&
  typeof one["finish"] === "string" &&
  isRecord(one["usage"]) &&
  ["number", "undefined"].includes(typeof one["costUsd"]);

const isEntry = (one: unknown): one is Entry => {
  if (!isRecord(one) || typeof one["key"] !== "string" || !isRecord(one["outcome"])) return false;
  const { generation, failure } = one["outcome"];
  return generation === undefined ? isFailure(failure) : isGeneration(generation);
};

export const parseCassette = (text: string): Cassette => {
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    throw invalid();
  }
  if (!isRecord(read)) throw invalid();
  const { llmc_cassette: version, entries, trajectories, sessions = [] } = read;
  const isOne =
    version === VERSION &&
    Array.isArray(entries) &&
    entries.every(isEntry) &&
    Array.isArray(trajectories) &&
    Array.isArray(sessions) &&
    sessions.every(isSession);
  if (!isOne) throw invalid();
  return { ...(read as unknown as Cassette), sessions };
};

const describeFailure = (thrown: unknown): Outcome => {
  const { code, message, hint, details, retryable } = toLlmcError(thrown);
  return {
    failure: {
      code,
      message,
      ...(hint === undefined ? {} : { hint }),
      details,
      retryable,
      mayBeBilled: mayBeBilled(thrown),
    },
  };
};

/** The same models, with every call kept. */
export const recordModels = (models: Models, keep: (entry: Entry) => void): Models => ({
  open: async (name, permit) => {
    const model = await models.open(name, permit);
    return {
      ...model,
      generate: async (request) => {
        const key = requestKey(name, request);
        try {
          const generation = await model.generate(request);
          keep({ key, outcome: { generation } });
          return generation;
        } catch (thrown) {
          keep({ key, outcome: describeFailure(thrown) });
          throw thrown;
        }
      },
    };
  },
});

const notRecorded = (): LlmcError =>
  new LlmcError("provider_error", "The cassette has no answer to this request.", {
    hint: "The task, the context, the models or llmc itself changed since it was recorded: record it again.",
    retryable: false,
  });

const play = (outcome: Outcome): Generation => {
  if ("generation" in outcome) return outcome.generation;
  const { code, message, hint, details, retryable, mayBeBilled: isBilled } = outcome.failure;
  const error = new LlmcError(code, message, { ...(hint === undefined ? {} : { hint }), details, retryable });
  throw isBilled ? error : markUnbilled(error);
};

/** Models that answer from a cassette: no key, no address, no connection. */
export const replayModels = (
  { entries }: Cassette,
  worstCostUsd: (name: string, inputTokens: number, outputTokens: number) => Promise<number | undefined>,
): { readonly models: Models; unused(): number } => {
  const left = Map.groupBy(entries, ({ key }) => key);
  const open = async (name: string): Promise<Model> => ({
    name,
    worstCostUsd: (inputTokens, outputTokens) => worstCostUsd(name, inputTokens, outputTokens),
    generate: async (request) => {
      request.signal?.throwIfAborted();
      const entry = left.get(requestKey(name, request))?.shift();
      if (entry === undefined) throw notRecorded();
      return play(entry.outcome);
    },
  });
  return {
    models: { open },
    unused: () => [...left.values()].reduce((sum, one) => sum + one.length, 0),
  };
};
