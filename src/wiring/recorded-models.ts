import { isBreakerRefusal } from "../base/circuit-breaker.ts";
import { LlmcError, toLlmcError } from "../base/error.ts";
import { parseModelName, SAMPLING_MODEL } from "../base/model-name.ts";
import { whoOf } from "../core/call-log.ts";
import type { Caller } from "../core/contract.ts";
import type { Generation, Model, Models } from "../llm/contract.ts";
import type { AuditEntry, AuditTrail } from "../observe/audit/entry.ts";

/** Who asks a model. */
export interface Asker {
  /** The tool or endpoint that it is asked for. */
  readonly tool: string;
  readonly caller: Caller;
  readonly correlationId: string;
}

type Outcome = Extract<AuditEntry, { readonly kind: "model_call" }>["outcome"];

/** The option that decides which models text may go to. */
const EGRESS_OPTION = "mcp.rlm.profile";

/** The client's own model has no provider that we know of. */
const providerOf = (name: string): string =>
  name === SAMPLING_MODEL ? "client" : parseModelName(name).provider;

/** Who asks without policy is refused: the pipe sets it for every call. */
const refuseUnasked = (): never => {
  throw new LlmcError("forbidden", "No policy was asked about this model.");
};

/**
 * Opens a model for somebody, as far as policy lets them, and records its use in the audit trail: each time that it is asked,
 * and each time that the configuration does not allow it.
 */
export const openRecorded = async (
  models: Models,
  name: string,
  { audit, now }: { readonly audit: Pick<AuditTrail, "record">; readonly now: () => number },
  asker: Asker,
): Promise<Model> => {
  const note = (startedAt: number, outcome: Outcome, generation?: Generation): void => {
    const { usage, costUsd } = generation ?? {};
    try {
      audit.record({
        kind: "model_call",
        ...whoOf(asker),
        tool: asker.tool,
        provider: providerOf(name),
        asked_model: name,
        decision: { allowed: outcome !== "egress_denied", policies: [EGRESS_OPTION] },
        tokens_in: usage?.inputTokens ?? null,
        tokens_out: usage?.outputTokens ?? null,
        ...(costUsd === undefined ? {} : { cost_usd: costUsd }),
        duration_ms: Math.round(now() - startedAt),
        outcome,
      });
    } catch {
      // The decision was recorded before, and the answer is paid for: its caller gets it. The log says what is missing.
    }
  };
  const openedAt = now();
  const model = await models.open(name, asker.caller.permitHost ?? refuseUnasked).catch((thrown: unknown) => {
    const { code } = toLlmcError(thrown);
    if (code === "egress_denied") note(openedAt, code);
    throw thrown;
  });
  const { runOn = (_backend, work) => work() } = asker.caller;
  return {
    ...model,
    generate: async (request) => {
      const startedAt = now();
      try {
        const generation = await runOn(`models of ${providerOf(name)}`, () => model.generate(request));
        note(startedAt, "ok", generation);
        return generation;
      } catch (thrown) {
        // Then nobody was asked.
        if (!isBreakerRefusal(thrown)) note(startedAt, toLlmcError(thrown).code);
        throw thrown;
      }
    },
  };
};
