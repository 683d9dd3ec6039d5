import { resolve } from "node:path";
import { LlmcError, toLlmcError, withHint } from "../base/error.ts";
import { quoteForMessage } from "../base/text.ts";
import type { Loaded } from "../config/load.ts";
import { whoOf } from "../core/call-log.ts";
import type { Caller } from "../core/contract.ts";
import { newId } from "../host/os/lazy-builtins.ts";
import { tokenCounter } from "../host/os/token-counter.ts";
import type { OwnWrites } from "../host/reach/own-writes.ts";
import { createGrep } from "../host/search/search.ts";
import type { Locks } from "../host/state/locks/locks.ts";
import type { Generation } from "../llm/contract.ts";
import type { AuditTrail } from "../observe/audit/entry.ts";
import type { Log } from "../observe/log.ts";
import { compileDenylist } from "../policy/denylist.ts";
import type { GrepText } from "../rlm/navigation.ts";
import type { ReadContext, Rlm, RlmAnswer, RlmCall, RlmQuery } from "../rlm/port.ts";
import type { QueryReport, RlmSettings } from "../rlm/query.ts";
import type { SamplingClient } from "../rlm/sampling.ts";
import type { Interpreters } from "../sandbox/interpreters.ts";
import type { AnalysisSlots } from "../sandbox/slots.ts";
import { QuestionsAsked } from "../tools/contract.ts";
import { type CassetteModels, openCassette } from "./cassette-wiring.ts";
import { modelSettingsOf } from "./model-settings.ts";
import { sampledQueries, withClient } from "./sampling-wiring.ts";
import { saveTraceIn } from "./trace-wiring.ts";

/** Where calls of models are recorded and counted. */
export interface ModelRecords {
  readonly audit: AuditTrail;
  readonly onModel: (model: string, generation: Generation) => void;
}

interface RlmParts extends ModelRecords {
  readonly root: string;
  readonly config: () => Loaded["config"];
  readonly userState: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly interpreters: Interpreters;
  readonly log: Log;
  readonly locks: Locks;
  readonly ownWrites: OwnWrites;
  readonly now: () => number;
  /** What trust in the workspace would change about a refusal, in one sentence. */
  readonly trustHint?: ((key: string, item: string) => string | undefined) | undefined;
}

const MIB = 1024 * 1024;
const TOOL = "rlm_query";
/** A pattern that a program looks for in its context. */
const GREP_MS = 20_000;

const rlmSettingsOf = ({ mcp: { rlm, llm, code_execution: code } }: Loaded["config"]): RlmSettings => ({
  rootModel: rlm.root_model,
  subModel: rlm.sub_model,
  isRestricted: rlm.profile === "restricted",
  allowModelOverride: rlm.allow_model_override,
  allowPath: rlm.allow_path,
  allowAbsolutePaths: rlm.allow_absolute_paths,
  defaultMaxBytes: rlm.default_max_bytes,
  maxBytesLimit: rlm.max_bytes_limit,
  defaultTimeoutSeconds: rlm.default_timeout_s,
  maxBudgetUsd: rlm.max_budget_usd,
  language: rlm.guest_language,
  allowUnknownPrice: rlm.allow_unknown_price,
  allowPartial: rlm.allow_partial,
  traces: { isOn: rlm.trace_enabled, keepsText: rlm.trace_content },
  limits: {
    tokens: rlm.max_tokens,
    calls: rlm.max_calls,
    parallel: rlm.max_parallel,
    maxDepth: rlm.max_depth,
    cpuMs: code.cpu_seconds * 1000,
    memoryBytes: code.program_memory_mb * MIB,
    maxOutputTokens: llm.max_output_tokens,
    callTimeoutMs: llm.timeout_seconds * 1000,
  },
});

/** Refuses files by the operator's list for analyses; the file port has applied the list of all tools. */
const judgePathBy =
  ({ root, config }: Pick<RlmParts, "root" | "config">) =>
  (shown: string): void => {
    const denies = compileDenylist(config().mcp.rlm.denylist_globs);
    if (denies(resolve(root, shown), [root])) {
      throw new LlmcError(
        "path_denied",
        `${quoteForMessage(shown)} is not analysed (mcp.rlm.denylist_globs).`,
        {
          hint: "What is in it has to come from the user, as context.",
        },
      );
    }
  };

/** Records of every analysis who asked, how long it took, how much it read, which model, and what it cost. No content. */
const record = (
  { log, audit, now }: RlmParts,
  { caller, correlationId }: RlmCall<Caller>,
  startedAt: number,
  { model, source, end }: QueryReport,
  outcome: ReturnType<typeof toLlmcError>["code"] | "ok",
): void => {
  const spending = end?.spending;
  const facts = {
    bytes_read: source?.bytes_read ?? null,
    cost_usd: spending?.costUsd ?? 0,
    calls: spending?.calls ?? 0,
    turns: end?.counts.turns ?? 0,
    tokens_in: spending?.inputTokens ?? 0,
    tokens_out: spending?.outputTokens ?? 0,
    duration_ms: Math.round(now() - startedAt),
  };
  log.info({ correlation_id: correlationId, tool: TOOL, model, outcome, ...facts }, "analysis");
  try {
    audit.record({
      kind: "analysis",
      ...whoOf({ caller, correlationId }),
      tool: TOOL,
      asked_model: model,
      ...facts,
      outcome,
    });
  } catch {
    // The decision was recorded before, and the answer is paid for; the log says what is missing.
  }
};

const loadRooms = async ({ config, env, now }: RlmParts) => {
  const [
    { runQuery, estimateQuery },
    { createSummaries },
    { createModels },
    { ResponseCache },
    { openRecorded },
  ] = await Promise.all([
    import("../rlm/query.ts"),
    import("../rlm/summaries.ts"),
    import("../llm/models.ts"),
    import("../llm/response-cache.ts"),
    import("./recorded-models.ts"),
  ]);
  const models = createModels({
    settings: () => modelSettingsOf(config().mcp),
    secret: (variable) => env[variable],
  });
  const summarize = createSummaries();
  const cache = new ResponseCache(now, () => config().mcp.llm.response_cache_minutes * 60_000);
  const countTokens = await tokenCounter();
  return { runQuery, estimateQuery, summarize, models, cache, openRecorded, countTokens };
};

type Rooms = Awaited<ReturnType<typeof loadRooms>>;

const grepInTime = createGrep(() => GREP_MS);
const grep: GrepText = (pattern, text, maxHits, signal) =>
  grepInTime(pattern, text, { offsetLines: 0, maxHits, isCounted: () => true }, signal);

/** What one analysis works with. */
const queryPartsOf = (
  parts: RlmParts,
  { openRecorded, cache, countTokens }: Rooms,
  { models, sessionIdOf }: Pick<CassetteModels, "models" | "sessionIdOf">,
  call: RlmCall<Caller>,
  slots: AnalysisSlots,
) => ({
  slots,
  settings: rlmSettingsOf(parts.config()),
  sessionIdOf,
  open: async (name: string) => {
    const model = await openRecorded(models, name, parts, { tool: TOOL, ...call });
    // A cassette is to hear and to answer every request.
    return parts.config().mcp.rlm.cassette === "off" ? cache.wrap(model, call.caller.principal) : model;
  },
  openGuest: parts.interpreters.open,
  checkInterpreter: parts.interpreters.check,
  judgePath: judgePathBy(parts),
  saveTrace: saveTraceIn(parts, call.correlationId),
  grep,
  countTokens,
  now: parts.now,
  onGenerated: parts.onModel,
  signal: call.signal,
  onProgress: call.onProgress,
});

const answerQuery =
  (parts: RlmParts, rooms: () => Promise<Rooms>) =>
  async (
    query: RlmQuery,
    files: ReadContext,
    call: RlmCall<Caller>,
    client: SamplingClient,
    slots: AnalysisSlots,
  ): Promise<RlmAnswer> => {
    const { config, now } = parts;
    const loaded = await rooms();
    const settings = () => modelSettingsOf(config().mcp);
    const startedAt = now();
    let report: QueryReport = { model: config().mcp.rlm.root_model, source: undefined, end: undefined };
    try {
      // The client's model is recorded and replayed like any other.
      const offered = withClient(loaded.models, client, call, settings);
      const cassette = await openCassette(offered, parts, call.correlationId, settings);
      const answer = await loaded
        .runQuery(query, files, queryPartsOf(parts, loaded, cassette, call, slots), (next) => {
          report = next;
        })
        .finally(() => (report.end === undefined ? undefined : cassette.finish(report.end.trajectory)));
      record(parts, call, startedAt, report, "ok");
      return answer;
    } catch (thrown) {
      // The user is asked first, and the call is made again.
      if (thrown instanceof QuestionsAsked) throw thrown;
      const { code } = toLlmcError(thrown);
      record(parts, call, startedAt, report, code);
      if (code !== "egress_denied") throw thrown;
      throw withHint(toLlmcError(thrown), parts.trustHint?.("mcp.rlm.profile", "unrestricted"));
    }
  };

const summarizeTexts =
  (parts: RlmParts, rooms: () => Promise<Rooms>): Rlm<Caller>["summarize"] =>
  async (texts, { caller, correlationId, signal }) => {
    const { rag, rlm } = parts.config().mcp;
    if (rag.summary_model === "" || texts.length === 0) return [];
    const { models, openRecorded, summarize, countTokens } = await rooms();
    const asker = { tool: "rag_search_enriched", caller, correlationId };
    const request = {
      model: rag.summary_model,
      texts,
      allowUnknownPrice: rlm.allow_unknown_price,
      limits: {
        usd: rag.summary_budget_usd,
        tokens: rlm.max_tokens,
        calls: rlm.max_calls,
        parallel: rlm.max_parallel,
      },
      signal,
    };
    const open = (name: string) => openRecorded(models, name, parts, asker);
    return summarize(request, { open, countTokens, onGenerated: parts.onModel }).catch((thrown: unknown) => {
      if (thrown instanceof QuestionsAsked) throw thrown;
      const { code } = toLlmcError(thrown);
      parts.log.warn({ correlation_id: correlationId, model: rag.summary_model, code }, "no summaries");
      return [];
    });
  };

/** The engine behind `rlm_query`; its rooms are loaded when the first analysis begins. */
const createRlmEngine = (parts: RlmParts): Rlm<Caller> => {
  const { slotsOf } = parts.interpreters;
  let loading: Promise<Rooms> | undefined;
  const rooms = (): Promise<Rooms> => {
    loading ??= loadRooms(parts).catch((thrown: unknown) => {
      loading = undefined;
      throw thrown;
    });
    return loading;
  };
  return {
    ...sampledQueries(answerQuery(parts, rooms), slotsOf),
    summarize: summarizeTexts(parts, rooms),
    estimate: async (query, files, call) => {
      const loaded = await rooms();
      const unrecorded = { models: loaded.models, sessionIdOf: newId };
      const slots = slotsOf(call.caller.principal);
      return loaded.estimateQuery(query, files, queryPartsOf(parts, loaded, unrecorded, call, slots));
    },
  };
};

const notOffered = async (): Promise<never> => {
  throw new LlmcError("unavailable", "This program makes no analyses.");
};

/** Without records there is no engine: text never goes to a model unseen. */
export const openRlm = ({
  models,
  ...parts
}: Omit<RlmParts, keyof ModelRecords | "now"> & { readonly models?: ModelRecords }): Rlm<Caller> =>
  models === undefined
    ? { query: notOffered, estimate: notOffered, summarize: async () => [], endAll: () => {} }
    : createRlmEngine({ ...parts, ...models, now: () => performance.now() });
