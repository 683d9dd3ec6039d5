import { randomBytes } from "node:crypto";
import { toLlmcError, withHint } from "../base/error.ts";
import { waitingHint } from "../config/waiting.ts";
import { tokenCounter } from "../host/os/token-counter.ts";
import type { AgentPort } from "../http/routes/agent.ts";
import type { AgentAnswer } from "../llm/agent.ts";
import type { App, AppRequest } from "./app.ts";
import { modelSettingsOf } from "./model-settings.ts";
import type { Asker } from "./recorded-models.ts";

type Config = ReturnType<App["config"]["current"]>["config"]["mcp"];

const agentSettingsOf = ({ llm, rag }: Config) => ({
  model: llm.agent_model,
  maxOutputTokens: llm.max_output_tokens,
  maxInputTokens: llm.max_input_tokens,
  timeoutMs: llm.timeout_seconds * 1000,
  contextTokens: rag.jit_context_enabled ? llm.context_tokens : 0,
  roles: {
    Beatrice: llm.roles.beatrice,
    Otto: llm.roles.otto,
    Rem: llm.roles.rem,
    Grace: llm.roles.grace,
  },
});

/** Failures of a model that the operator has to know of; the others are the caller's own. */
const OPERATORS_CODES = new Set("provider_error unavailable timeout rate_limited egress_denied".split(" "));

/** The answer in the document's shape: `text`, and what is known of it. */
const bodyOf = ({ text, model, finish, usage, costUsd, sources }: AgentAnswer) => ({
  text,
  meta: {
    model,
    finish_reason: finish,
    usage: {
      ...(usage.inputTokens === undefined ? {} : { input_tokens: usage.inputTokens }),
      ...(usage.outputTokens === undefined ? {} : { output_tokens: usage.outputTokens }),
    },
    ...(costUsd === undefined ? {} : { cost_usd: costUsd }),
    sources: [...sources],
  },
});

/** The agent behind `/invoke_agent`. Nothing of the model room is loaded before a model is configured and asked. */
export const createAgentPort = (app: App, env: AppRequest["env"]): AgentPort => {
  const config = () => app.config.current().config.mcp;
  const load = async () => {
    const [{ createAgent }, { createModels }, { openRecorded }] = await Promise.all([
      import("../llm/agent.ts"),
      import("../llm/models.ts"),
      import("./recorded-models.ts"),
    ]);
    const models = createModels({
      settings: () => modelSettingsOf(config()),
      secret: (variable) => env[variable],
    });
    return (asker: Asker) =>
      createAgent({
        open: (name) => openRecorded(models, name, app, asker),
        settings: () => agentSettingsOf(config()),
        search: async (query, budgetTokens, signal) => {
          const { retrieval } = await app.engines();
          const { value } = await retrieval.find({ query, budgetTokens }, signal);
          return value.map(({ path, startLine, endLine, text }) => ({
            src: `${path}#L${startLine}-L${endLine}`,
            text,
          }));
        },
        countTokens: tokenCounter,
        newCode: () => randomBytes(9).toString("base64url"),
        onGenerated: (model, { usage, costUsd }) => app.metrics.recordModel(model, usage, costUsd),
      });
  };
  let loading: ReturnType<typeof load> | undefined;

  return {
    // Retrieval has the time of any call, and the model its own on top: its own deadline speaks first.
    timeoutMs: () => {
      const { llm, request_timeout_seconds: timeout } = config();
      return llm.agent_model === "" ? undefined : (llm.timeout_seconds + timeout) * 1000;
    },
    ask: async ({ caller, correlationId, ...question }) => {
      const startedAt = app.now();
      loading ??= load();
      const agent = (await loading)({ tool: "invoke_agent", caller, correlationId });
      const answer = await agent.ask(question).catch((thrown: unknown) => {
        const { code } = toLlmcError(thrown);
        if (OPERATORS_CODES.has(code)) {
          const model = config().llm.agent_model;
          app.observer.log.warn(
            { correlation_id: correlationId, model, error_code: code },
            "model call failed",
          );
        }
        const { waiting } = app.config.current();
        const lifted = code === "egress_denied" ? waitingHint(waiting, "mcp.rlm.profile") : undefined;
        throw withHint(toLlmcError(thrown), lifted);
      });
      const { model, usage, costUsd, finish, sources } = answer;
      app.observer.log.info(
        {
          correlation_id: correlationId,
          model,
          input_tokens: usage.inputTokens,
          output_tokens: usage.outputTokens,
          cost_usd: costUsd,
          finish_reason: finish,
          sources: sources.length,
          duration_ms: Math.round(app.now() - startedAt),
        },
        "model call",
      );
      return bodyOf(answer);
    },
  };
};

/** Checks the model at the start and after each change of the configuration, not only at the first call. */
export const followAgentModel = (app: App, env: AppRequest["env"]): void => {
  const check = (): void => void checkAgentModel(app, env);
  check();
  app.config.onChange(check);
};

const checkAgentModel = async (app: App, env: AppRequest["env"]): Promise<void> => {
  const { mcp } = app.config.current().config;
  if (mcp.llm.agent_model === "") return;
  const { createModels } = await import("../llm/models.ts");
  const models = createModels({ settings: () => modelSettingsOf(mcp), secret: (variable) => env[variable] });
  try {
    // Who asks decides what policy says; here it is about the configuration.
    await models.open(mcp.llm.agent_model, () => {});
  } catch (thrown) {
    const { code, message: reason, hint } = toLlmcError(thrown);
    app.observer.log.warn(
      { model: mcp.llm.agent_model, code, reason, hint },
      "the agent's model cannot be used",
    );
  }
};
