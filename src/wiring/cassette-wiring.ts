import { basename, resolve } from "node:path";
import { LlmcError, toLlmcError } from "../base/error.ts";
import { SAMPLING_MODEL } from "../base/model-name.ts";
import { systemErrorCode } from "../base/system-error.ts";
import { quoteForMessage } from "../base/text.ts";
import type { Loaded } from "../config/load.ts";
import { newId } from "../host/os/lazy-builtins.ts";
import { readOwnFileSoon } from "../host/own-files/read-own-file.ts";
import { replaceFile } from "../host/own-files/replace-file.ts";
import type { OwnWrites } from "../host/reach/own-writes.ts";
import type { Locks } from "../host/state/locks/locks.ts";
import { type Cassette, EMPTY_CASSETTE, parseCassette, recordModels, replayModels } from "../llm/cassette.ts";
import type { Models } from "../llm/contract.ts";
import { type ModelSettings, pricedOf } from "../llm/models.ts";
import { worstPriceOf } from "../llm/prices.ts";
import type { Log } from "../observe/log.ts";
import { clientCostUsd } from "./sampling-wiring.ts";

/** The models of one analysis, and what is to be done when it has ended. */
export interface CassetteModels {
  readonly models: Models;
  /** The id of the analysis, by a digest of what it is asked. */
  sessionIdOf(key: () => string): string;
  finish(trajectory: string): Promise<void>;
}

interface CassetteParts {
  readonly root: string;
  readonly config: () => Loaded["config"];
  readonly locks: Locks;
  /** Told of what is recorded, so that it is not blamed on a command that runs at the same time. */
  readonly ownWrites: OwnWrites;
  readonly log: Log;
}

const MAX_CASSETTE_BYTES = 256 * 1024 * 1024;
const PRIVATE_MODE = 0o600;

const readCassette = async (file: string): Promise<Cassette> => {
  try {
    return parseCassette((await readOwnFileSoon(file, { maxBytes: MAX_CASSETTE_BYTES })).toString("utf8"));
  } catch (thrown) {
    if (thrown instanceof LlmcError) throw thrown;
    throw new LlmcError("config_invalid", "The cassette cannot be read.", {
      hint: "mcp.rlm.cassette_file names it; record one first.",
      cause: thrown,
    });
  }
};

const isMissing = (thrown: unknown): boolean => systemErrorCode(toLlmcError(thrown).cause) === "ENOENT";

const readOrBegin = (file: string): Promise<Cassette> =>
  readCassette(file).catch((thrown: unknown) => {
    if (isMissing(thrown)) return EMPTY_CASSETTE;
    throw thrown;
  });

const readRecorded = (file: string): Promise<Cassette> =>
  readCassette(file).catch((thrown: unknown) => {
    if (!isMissing(thrown)) throw thrown;
    // A refusal, which nobody has to look into: to a call, a wrong configuration is a fault of the server.
    throw new LlmcError("file_not_found", `There is no cassette ${quoteForMessage(basename(file))}.`, {
      hint: "Record one first: llmc rlm query --record FILE, or mcp.rlm.cassette.",
      retryable: false,
    });
  });

const record = async (
  models: Models,
  file: string,
  { locks, log, ownWrites }: Pick<CassetteParts, "locks" | "log" | "ownWrites">,
  correlationId: string,
): Promise<CassetteModels> => {
  // A file that is no cassette is refused before anything is spent.
  await readOrBegin(file);
  const entries: Cassette["entries"][number][] = [];
  const sessions: Cassette["sessions"][number][] = [];
  const append = async (trajectory: string): Promise<void> => {
    const before = await readOrBegin(file);
    const cassette: Cassette = {
      ...before,
      entries: [...before.entries, ...entries],
      trajectories: [...before.trajectories, trajectory],
      sessions: [...before.sessions, ...sessions],
    };
    await replaceFile(file, `${JSON.stringify(cassette)}\n`, PRIVATE_MODE);
    ownWrites.note(file, "moved");
  };
  return {
    models: recordModels(models, (entry) => void entries.push(entry)),
    sessionIdOf: (key) => {
      const id = newId();
      sessions.push({ key: key(), id });
      return id;
    },
    finish: (trajectory) =>
      // The answer is paid for: its caller gets it, whether or not it could be recorded.
      locks
        .hold([file], () => append(trajectory))
        .catch((thrown: unknown) => {
          const { code } = toLlmcError(thrown);
          log.warn({ correlation_id: correlationId, code }, "the cassette could not be written");
        }),
  };
};

const otherTrajectory = (reason: string): LlmcError =>
  new LlmcError("internal_error", `The replay differs from what was recorded: ${reason}.`, {
    hint: "The task, the context, the models or llmc itself changed: record it again, or replay it without --strict.",
    retryable: false,
  });

const replay = async (
  file: string,
  isStrict: boolean,
  settings: () => ModelSettings,
): Promise<CassetteModels> => {
  const cassette = await readRecorded(file);
  const { models, unused } = replayModels(cassette, async (name, input, output) =>
    name === SAMPLING_MODEL
      ? clientCostUsd(settings(), input, output)
      : worstPriceOf(pricedOf(name, settings()), input, output),
  );
  return {
    models,
    sessionIdOf: (key) => {
      const asked = key();
      return cassette.sessions.find((one) => one.key === asked)?.id ?? newId();
    },
    finish: async (trajectory) => {
      if (!isStrict) return;
      if (!cassette.trajectories.includes(trajectory)) throw otherTrajectory("its trajectory is another one");
      if (cassette.trajectories.length === 1 && unused() > 0)
        throw otherTrajectory(`${unused()} answers were not used`);
    },
  };
};

/** The models of an analysis by the operator's choice: as they are, recorded, or from a cassette. */
export const openCassette = async (
  models: Models,
  parts: CassetteParts,
  correlationId: string,
  settings: () => ModelSettings,
): Promise<CassetteModels> => {
  const { rlm } = parts.config().mcp;
  if (rlm.cassette === "off") return { models, sessionIdOf: newId, finish: async () => {} };
  if (rlm.cassette_file === "") {
    throw new LlmcError("config_invalid", "mcp.rlm.cassette needs mcp.rlm.cassette_file.");
  }
  const file = resolve(parts.root, rlm.cassette_file);
  return rlm.cassette === "record"
    ? record(models, file, parts, correlationId)
    : replay(file, rlm.cassette === "strict", settings);
};
