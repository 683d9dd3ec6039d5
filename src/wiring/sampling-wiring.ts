import { LlmcError } from "../base/error.ts";
import { isRecord } from "../base/is-record.ts";
import { SAMPLING_MODEL } from "../base/model-name.ts";
import type { Caller } from "../core/contract.ts";
import { newId } from "../host/os/lazy-builtins.ts";
import type { Models } from "../llm/contract.ts";
import type { ModelSettings } from "../llm/models.ts";
import { ownPriceOf } from "../llm/prices.ts";
import { decideUnknownEgress } from "../policy/egress.ts";
import type { ReadContext, RlmAnswer, RlmCall, RlmQuery } from "../rlm/port.ts";
import { createWaitingAnalyses, type RunningAnalysis, runStep } from "../rlm/running-analyses.ts";
import { SamplingClient } from "../rlm/sampling.ts";
import type { AnalysisSlots } from "../sandbox/slots.ts";

/** In the state that a client brings back with the answers of its model. */
const ANALYSIS = "analysis";
const MILLION = 1_000_000;
/** What policies call the client, whose address nobody knows. */
const CLIENT_HOST = "client";

/** The client's model, whose address nobody knows, may be anywhere. */
const refusalOf = (name: string, settings: ModelSettings): LlmcError | undefined => {
  const decision = decideUnknownEgress({ ...settings, model: name });
  return decision.allowed
    ? undefined
    : new LlmcError("egress_denied", decision.reason, { hint: decision.hint });
};

const notOffered = (): LlmcError =>
  new LlmcError("provider_error", "The client does not offer its model (sampling).", {
    hint: "Use a client that does, or configure another mcp.rlm.root_model.",
    retryable: false,
  });

const ENDED = new LlmcError("cancelled", "The analysis was ended: its owner has lost rights.");

/** What the operator says that a call of the client's model costs. */
export const clientCostUsd = (
  { prices = [] }: ModelSettings,
  inputTokens: number,
  outputTokens: number,
): number | undefined => {
  const price = ownPriceOf(SAMPLING_MODEL, prices);
  return price && (inputTokens * price.input + outputTokens * price.output) / MILLION;
};

/** The models of an analysis, with the client as one of them: under the same profile, policy and budget. */
export const withClient = (
  models: Models,
  client: SamplingClient,
  { sampling }: RlmCall<Caller>,
  settings: () => ModelSettings,
): Models => ({
  open: async (name, permit) => {
    if (name !== SAMPLING_MODEL) return models.open(name, permit);
    const refusal = refusalOf(name, settings());
    permit({ host: CLIENT_HOST, refusal });
    if (refusal !== undefined) throw refusal;
    if (sampling?.canSample !== true) throw notOffered();
    return client.model(async (input, output) => clientCostUsd(settings(), input, output));
  },
});

type AnswerQuery = (
  query: RlmQuery,
  files: ReadContext,
  call: RlmCall<Caller>,
  client: SamplingClient,
  slots: AnalysisSlots,
) => Promise<RlmAnswer>;

/** Queries whose analysis goes on between calls, while the client's model is asked; most end with their first call. */
export const sampledQueries = (answerQuery: AnswerQuery, slotsOf: (principal: string) => AnalysisSlots) => {
  const waiting = createWaitingAnalyses();

  const start = (query: RlmQuery, files: ReadContext, call: RlmCall<Caller>): RunningAnalysis => {
    const client = new SamplingClient();
    const controller = new AbortController();
    const slots = slotsOf(call.caller.principal);
    const done = answerQuery(query, files, { ...call, signal: controller.signal }, client, slots);
    // Between two calls nobody waits for it.
    done.catch(() => {});
    return {
      id: newId(),
      owner: call.caller.owner,
      principal: call.caller.principal,
      request: JSON.stringify(query),
      stop: (reason) => controller.abort(reason),
      client,
      slots,
      done,
    };
  };

  const answer = async (query: RlmQuery, files: ReadContext, call: RlmCall<Caller>): Promise<RlmAnswer> => {
    const { sampling, caller, signal } = call;
    const id = isRecord(sampling?.state) ? sampling.state[ANALYSIS] : undefined;
    const running =
      id === undefined ? start(query, files, call) : waiting.take(id, caller.owner, JSON.stringify(query));
    const step = await runStep(running, sampling?.answers ?? {}, signal);
    if ("answer" in step) return step.answer;
    waiting.keep(running, sampling?.givenUp);
    // There are questions only where the client can answer them.
    return sampling?.ask(step.questions, { [ANALYSIS]: running.id }) as never;
  };
  return { query: answer, endAll: (owner: string): void => waiting.endAll(owner, ENDED) };
};
