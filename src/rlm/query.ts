import { LlmcError } from "../base/error.ts";
import { FIRST_MODEL } from "../base/first-model.ts";
import { MODEL_NAME } from "../base/model-name.ts";
import { nearest, quoteForMessage } from "../base/text.ts";
import { LANGUAGE_NAMES, languageNamed } from "../syntax/languages.ts";
import { type AnalysisEnd, analyse } from "./analysis.ts";
import { Context } from "./context.ts";
import type { AnalysisLimits, AnalysisParts, AnalysisRequest, Progress } from "./contract.ts";
import { type Estimate, estimate } from "./estimate.ts";
import type { GuestLanguage } from "./guest-languages.ts";
import { notRunnable } from "./interpreter.ts";
import type { ContextSource, ReadContext, RlmAnswer, RlmQuery } from "./port.ts";
import { digest } from "./trace.ts";
import { renderTrace } from "./trace-file.ts";

export interface RlmSettings {
  readonly rootModel: string;
  readonly subModel: string;
  readonly isRestricted: boolean;
  readonly allowModelOverride: boolean;
  readonly allowPath: boolean;
  readonly allowAbsolutePaths: boolean;
  readonly defaultMaxBytes: number;
  readonly maxBytesLimit: number;
  readonly defaultTimeoutSeconds: number;
  readonly maxBudgetUsd: number;
  readonly language: GuestLanguage;
  readonly allowUnknownPrice: boolean;
  readonly allowPartial: boolean;
  readonly traces: { readonly isOn: boolean; readonly keepsText: boolean };
  readonly limits: Omit<AnalysisLimits, "usd" | "timeoutMs" | "maxTurns">;
}

interface QueryParts extends AnalysisParts {
  readonly settings: RlmSettings;
  /** The id of an analysis: a new one, or that of the recording, by a digest of what is asked. */
  readonly sessionIdOf: (key: () => string) => string;
  /** Throws where programs cannot run. */
  readonly checkInterpreter: () => Promise<void>;
  /** Throws where the real path of a file is not to be analysed. */
  readonly judgePath: (realPath: string) => void;
  /** Renders a trace and keeps it; gives its name, or undefined where that failed. */
  readonly saveTrace: (sessionId: string, pieces: Iterable<string>) => Promise<string | undefined>;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: Progress) => void;
}

/** For the record of a call, whether it succeeded or not. */
export interface QueryReport {
  readonly model: string;
  readonly source: ContextSource | undefined;
  readonly end: AnalysisEnd | undefined;
}

const argument = (field: string, message: string, hint: string): LlmcError =>
  new LlmcError("invalid_args", message, { hint, details: { field } });

const checkLanguage = (language: string | undefined): void => {
  if (language === undefined || languageNamed(language) !== undefined) return;
  const near = nearest(language.toLowerCase(), LANGUAGE_NAMES);
  throw argument(
    "language",
    `There is no language ${quoteForMessage(language)}.`,
    near === undefined ? "Leave it out." : `Did you mean ${quoteForMessage(near)}? It may be left out.`,
  );
};

/** The bounds that the operator sets, besides those of the schema. */
const checkBounds = (query: RlmQuery, { maxBudgetUsd, maxBytesLimit }: RlmSettings): void => {
  const { path, context, budgetUsd, maxBytes } = query;
  checkLanguage(query.language);
  if ((path === undefined) === (context === undefined)) {
    throw argument("path", "Exactly one of path and context has to be given.", "Leave the other one out.");
  }
  if (!(budgetUsd <= maxBudgetUsd)) {
    throw argument(
      "budget_usd",
      `budget_usd is more than ${maxBudgetUsd}.`,
      "The operator's limit is mcp.rlm.max_budget_usd.",
    );
  }
  if (maxBytes !== undefined && maxBytes > maxBytesLimit) {
    throw argument(
      "max_bytes",
      `max_bytes is more than ${maxBytesLimit}.`,
      "The operator's limit is mcp.rlm.max_bytes_limit.",
    );
  }
};

const tooLarge = (what: string, size: number, maxBytes: number, hint: string): LlmcError =>
  new LlmcError("file_too_large", `${what} has ${size} bytes; at most ${maxBytes} are read.`, {
    hint,
    details: { size_bytes: size, max_bytes: maxBytes },
  });

const checkPathAllowed = (path: string, { allowPath, allowAbsolutePaths }: RlmSettings): void => {
  if (!allowPath) {
    throw new LlmcError("path_denied", "Analyses of files are switched off.", {
      hint: "Send the text as context; the operator decides in mcp.rlm.allow_path.",
    });
  }
  if (!allowAbsolutePaths && /^(?:[/\\~]|[A-Za-z]:)/.test(path)) {
    throw new LlmcError("path_denied", "Absolute paths are not accepted.", {
      hint: "Give a path relative to the workspace; the operator decides in mcp.rlm.allow_absolute_paths.",
    });
  }
};

const readPath = async (path: string, query: RlmQuery, files: ReadContext, parts: QueryParts) => {
  const { settings, judgePath, signal } = parts;
  checkPathAllowed(path, settings);
  const maxBytes = Math.min(query.maxBytes ?? settings.defaultMaxBytes, settings.maxBytesLimit);
  const hint =
    query.maxBytes === undefined || query.maxBytes < settings.maxBytesLimit
      ? `Raise max_bytes (up to ${settings.maxBytesLimit}), or send a part of it as context.`
      : "Send a part of it as context.";
  const { size, type } = await files.stat(path, signal);
  if (type === "file" && size > maxBytes) throw tooLarge(quoteForMessage(path), size, maxBytes, hint);
  const bounds = { offsetLines: 0, maxLines: Number.MAX_SAFE_INTEGER, maxBytes };
  const { text, path: realPath, sizeBytes, truncated } = await files.readText(path, bounds, signal);
  judgePath(realPath);
  // It has grown since.
  if (truncated) throw tooLarge(quoteForMessage(path), sizeBytes, maxBytes, hint);
  const source = { type: "path", path: realPath, bytes_read: sizeBytes, truncated: false } as const;
  const context = await Context.of(text, { path: realPath, language: query.language }, signal);
  return { context, source };
};

const takeContext = async (query: RlmQuery, { settings: { maxBytesLimit }, signal }: QueryParts) => {
  const { language } = query;
  const context = await Context.of((query.context ?? "").toWellFormed(), { language }, signal);
  if (context.bytes > maxBytesLimit) {
    throw tooLarge("The context", context.bytes, maxBytesLimit, "Send less.");
  }
  return { context, source: { type: "context", bytes_read: context.bytes, truncated: false } as const };
};

/** The text to analyse; an empty one is refused before a model is paid to say so, wherever it comes from. */
const readContext = async (query: RlmQuery, files: ReadContext, parts: QueryParts) => {
  const { path } = query;
  const read = await (path === undefined ? takeContext(query, parts) : readPath(path, query, files, parts));
  if (read.context.text !== "") return read;
  throw path === undefined
    ? argument("context", "The context is empty.", "Send the text to analyse.")
    : argument("path", `${quoteForMessage(path)} is empty.`, "Name the file that has the text to analyse.");
};

/** The models of a call: those of the operator, unless the caller may choose and does. */
const modelsOf = ({ model }: RlmQuery, settings: RlmSettings) => {
  const { rootModel, subModel, isRestricted, allowModelOverride } = settings;
  if (model !== undefined && (isRestricted || !allowModelOverride)) {
    throw new LlmcError("egress_denied", "A call may not choose its model here.", {
      hint: isRestricted
        ? 'Leave model out: with mcp.rlm.profile "restricted" the operator alone chooses it.'
        : "Leave model out; the operator decides in mcp.rlm.allow_model_override.",
    });
  }
  const root = model ?? rootModel;
  const { pull, once, lines, trust } = FIRST_MODEL;
  if (root === "") {
    throw new LlmcError("provider_error", "No model is configured for analyses.", {
      hint: `With Ollama on this machine (${pull}), this command uses one: ${once} ; to configure it for good, write ${lines.join(" and, below it, ")} into llmc.toml, then run ${trust}.`,
      retryable: false,
    });
  }
  return { root, sub: subModel === "" ? root : subModel };
};

/** The same failure, with what it cost. */
const withFacts = (error: LlmcError, facts: Readonly<Record<string, string | number>>): LlmcError =>
  new LlmcError(error.code, error.message, {
    ...(error.hint === undefined ? {} : { hint: error.hint }),
    details: { ...error.details, ...facts },
    retryable: error.retryable,
    cause: error.cause,
    needs: error.needs,
  });

const requestOf = (
  query: RlmQuery,
  context: Context,
  models: { readonly root: string; readonly sub: string },
  { settings, sessionIdOf, signal, onProgress }: QueryParts,
): AnalysisRequest => ({
  id: sessionIdOf(() => digest(JSON.stringify([query.task, models.root, models.sub, context.sha256]))),
  task: query.task,
  context,
  rootModel: models.root,
  subModel: models.sub,
  language: settings.language,
  allowUnknownPrice: settings.allowUnknownPrice,
  allowPartial: settings.allowPartial,
  limits: {
    ...settings.limits,
    usd: query.budgetUsd,
    maxTurns: query.maxTurns,
    timeoutMs: (query.timeoutSeconds ?? settings.defaultTimeoutSeconds) * 1000,
  },
  signal,
  onProgress,
});

/** The models and the context, before any model is asked. */
const prepare = async (
  query: RlmQuery,
  files: ReadContext,
  parts: QueryParts,
  report: (report: QueryReport) => void,
) => {
  checkBounds(query, parts.settings);
  const { model } = query;
  // Before it is judged: who looks for what was refused has to find the model that was asked for. Anything but a name stays out.
  if (model !== undefined && MODEL_NAME.test(model)) report({ model, source: undefined, end: undefined });
  const models = modelsOf(query, parts.settings);
  report({ model: models.root, source: undefined, end: undefined });
  // What policy or configuration refuse is refused before a file is read.
  for (const name of new Set([models.root, models.sub])) await parts.open(name);
  const { context, source } = await readContext(query, files, parts);
  report({ model: models.root, source, end: undefined });
  return { source, request: requestOf(query, context, models, parts) };
};

/** Answers `rlm_query`: bounds, models, the context, the analysis. */
export const runQuery = async (
  query: RlmQuery,
  files: ReadContext,
  parts: QueryParts,
  report: (report: QueryReport) => void,
): Promise<RlmAnswer> => {
  const { settings, saveTrace } = parts;
  const { source, request } = await prepare(query, files, parts, report);
  await parts.checkInterpreter().catch(notRunnable);
  const end = await analyse(request, parts, settings.traces.isOn && settings.traces.keepsText);
  report({ model: request.rootModel, source, end });
  const traceFile = settings.traces.isOn ? await saveTrace(request.id, renderTrace(request, end)) : undefined;
  const { answer, failure, spending, counts, trajectory } = end;
  if (answer === undefined) {
    throw withFacts(failure ?? new LlmcError("internal_error", "An unexpected error occurred."), {
      total_cost_usd: spending.costUsd,
      turns: counts.turns,
      ...(traceFile === undefined ? {} : { trace_file: traceFile }),
    });
  }
  return {
    answer: answer.text,
    evidence: answer.evidence,
    sessionId: request.id,
    spending,
    counts,
    source,
    modelUsed: request.rootModel,
    partial: failure,
    traceFile,
    trajectory,
  };
};

/** What a query could cost; nothing is sent. */
export const estimateQuery = async (
  query: RlmQuery,
  files: ReadContext,
  parts: QueryParts,
): Promise<Estimate> => {
  const { request } = await prepare(query, files, parts, () => {});
  return estimate(request, parts);
};
