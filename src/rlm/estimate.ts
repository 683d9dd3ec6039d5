import type { Model } from "../llm/contract.ts";
import { worstCaseOf } from "../llm/metered.ts";
import type { AnalysisParts, AnalysisRequest } from "./contract.ts";
import { outlineContext } from "./navigation.ts";
import { firstMessage, SUB_SYSTEM_PROMPT, systemPrompt } from "./prompts.ts";

/** What an analysis could cost, known before anything is sent. */
export interface Estimate {
  readonly context_bytes: number;
  readonly root_model: string;
  readonly sub_model: string;
  /** The most that the first call can cost; null if a price is unknown. */
  readonly first_call_usd: number | null;
  /** The most that one sub-call about `sub_call_chars` characters can cost. */
  readonly sub_call_usd: number | null;
  readonly sub_call_chars: number;
  /** The whole context in one prompt, which the analysis avoids. */
  readonly one_prompt_usd: number | null;
  /** No analysis costs more than this: the budget, or nothing where its models cost nothing; null if a price is unknown. */
  readonly worst_case_usd: number | null;
}

const SUB_CALL_CHARS = 20_000;

const costOf = async (
  model: Model,
  system: string,
  user: string,
  maxOutputTokens: number,
  { countTokens }: AnalysisParts,
): Promise<number | null> => {
  const messages = [
    { role: "system", text: system },
    { role: "user", text: user },
  ] as const;
  const worst = await worstCaseOf(
    model,
    { messages, maxOutputTokens },
    { countTokens, allowUnknownPrice: true },
  );
  return worst.costUsd ?? null;
};

/** Where a price is unknown, calls are refused, or the budget does not hold for them. */
const worstOf = (firstUsd: number | null, subUsd: number | null, budgetUsd: number): number | null => {
  if (firstUsd === null || subUsd === null) return null;
  return firstUsd === 0 && subUsd === 0 ? 0 : budgetUsd;
};

export const estimate = async (request: AnalysisRequest, parts: AnalysisParts): Promise<Estimate> => {
  const { task, context, rootModel, subModel, language, limits, allowPartial } = request;
  const [root, sub] = [await parts.open(rootModel), await parts.open(subModel)];
  const first = firstMessage(task, context, await outlineContext(context), limits.maxTurns, undefined);
  const { maxOutputTokens } = limits;
  const firstUsd = await costOf(
    root,
    systemPrompt(language, { allowPartial, canNest: limits.maxDepth > 0 }),
    first,
    maxOutputTokens,
    parts,
  );
  const subUsd = await costOf(sub, SUB_SYSTEM_PROMPT, "x".repeat(SUB_CALL_CHARS), maxOutputTokens, parts);
  return {
    context_bytes: context.bytes,
    root_model: rootModel,
    sub_model: subModel,
    first_call_usd: firstUsd,
    sub_call_usd: subUsd,
    sub_call_chars: SUB_CALL_CHARS,
    one_prompt_usd: await costOf(root, SUB_SYSTEM_PROMPT, `${task}\n${context.text}`, maxOutputTokens, parts),
    worst_case_usd: worstOf(firstUsd, subUsd, limits.usd),
  };
};
