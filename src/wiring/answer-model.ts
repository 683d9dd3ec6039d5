import { LlmcError } from "../base/error.ts";
import type { Loaded } from "../config/load.ts";
import type { Caller } from "../core/contract.ts";
import { tokenCounter } from "../host/os/token-counter.ts";
import type { KnowledgeParts } from "../knowledge/knowledge.ts";
import type { Model } from "../llm/contract.ts";
import { modelSettingsOf } from "./model-settings.ts";
import type { ModelRecords } from "./rlm-wiring.ts";

interface AnswerModelParts {
  readonly config: () => Loaded["config"];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly models?: ModelRecords | undefined;
}

const modelNotChosen = (isRestricted: boolean): LlmcError =>
  new LlmcError("egress_denied", "A call may not choose the model of its answer.", {
    hint: isRestricted
      ? 'Leave model out: with mcp.rlm.profile "restricted" the operator alone chooses it, in mcp.kb.answer_model.'
      : "Leave model out. The operator sets mcp.kb.answer_model, or mcp.rlm.allow_model_override.",
  });

/** Options of `mcp.rlm` that set the limits of a budget. */
const OPTIONS: Readonly<Record<string, string>> = {
  budget_usd: "max_budget_usd",
  max_tokens: "max_tokens",
  max_calls: "max_calls",
};

/** The budget speaks to callers of analyses, who set some of the limits themselves; callers of kb_answer set none. */
const forAnswers = (thrown: unknown): unknown => {
  if (!(thrown instanceof LlmcError) || thrown.code !== "budget_exceeded") return thrown;
  const option = OPTIONS[String(thrown.details["limit"])];
  if (option === undefined) return thrown;
  const message = option === "max_calls" ? "The answer would take another model call." : thrown.message;
  return new LlmcError(thrown.code, message, {
    hint: `The operator's limit for one answer is mcp.rlm.${option}.`,
    details: { limit: option },
    cause: thrown,
  });
};

const notOffered = (): LlmcError =>
  new LlmcError("unavailable", "This program asks no model.", { hint: "Leave model out." });

/** The same model within the limits that `mcp.rlm` sets for one call of a tool. */
const withinBudget = async (
  model: Model,
  { rlm }: Loaded["config"]["mcp"],
  onModel: ModelRecords["onModel"],
): Promise<Model> => {
  const [{ Budget }, { createMeter }] = await Promise.all([
    import("../llm/budget.ts"),
    import("../llm/metered.ts"),
  ]);
  const budget = new Budget({
    usd: rlm.max_budget_usd,
    tokens: rlm.max_tokens,
    calls: rlm.max_calls,
    parallel: rlm.max_parallel,
  });
  const meter = createMeter({
    budget,
    countTokens: await tokenCounter(),
    allowUnknownPrice: rlm.allow_unknown_price,
    onGenerated: onModel,
  });
  return {
    ...model,
    generate: ({ signal = new AbortController().signal, onText: _, ...request }) =>
      meter(model, { ...request, signal, depth: 0 }).catch((thrown: unknown) => {
        throw forAnswers(thrown);
      }),
  };
};

/**
 * A model for answers in its own words. The rules of `mcp.rlm` decide which it may be and what it may cost; its use is
 * recorded and counted.
 */
export const openAnswerModel =
  ({ config, env, models: records }: AnswerModelParts): KnowledgeParts["openModel"] =>
  async (asked, { caller, correlationId }) => {
    const { kb, rlm } = config().mcp;
    const isRestricted = rlm.profile === "restricted";
    const mayChoose = rlm.allow_model_override && !isRestricted;
    if (asked !== undefined && asked !== kb.answer_model && !mayChoose) throw modelNotChosen(isRestricted);
    const name = asked ?? kb.answer_model;
    if (name === "") return undefined;
    if (records === undefined) throw notOffered();
    const [{ createModels }, { openRecorded }] = await Promise.all([
      import("../llm/models.ts"),
      import("./recorded-models.ts"),
    ]);
    const models = createModels({
      settings: () => modelSettingsOf(config().mcp),
      secret: (variable) => env[variable],
    });
    const recorder = { audit: records.audit, now: () => performance.now() };
    const asker = { tool: "kb_answer", caller: caller as Caller, correlationId };
    return withinBudget(await openRecorded(models, name, recorder, asker), config().mcp, records.onModel);
  };
