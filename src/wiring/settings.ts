import { resolve } from "node:path";
import type { Loaded } from "../config/load.ts";
import type { CoreSettings } from "../core/core.ts";
import { isOnMachine } from "../host/os/system-programs.ts";
import type { ObserveSettings } from "../observe/observer.ts";

/** Tools that start programs, or reach running ones. */
const PROCESS_TOOLS = ["start", "read", "send", "stop", "kill"].map((verb) => `linux_proc_${verb}`);

/** By the list: settings are asked for with every call. */
const installed = new WeakMap<readonly string[], readonly string[]>();

const installedOf = (allowlist: readonly string[]): readonly string[] => {
  const known = installed.get(allowlist) ?? allowlist.filter(isOnMachine);
  installed.set(allowlist, known);
  return known;
};

const switchedOff = (key: string, tools: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(tools.map((tool) => [tool, `The operator decides in ${key}.`]));

export const coreSettingsOf = ({ mcp }: Loaded["config"], root: string): CoreSettings => ({
  mode: mcp.mode,
  promotedTools: mcp.hybrid.promoted_tools,
  includeExecuteCode: mcp.hybrid.include_execute_code,
  withheldTools: {
    ...(mcp.tools.enable_run_cmd
      ? {}
      : switchedOff("mcp.tools.enable_run_cmd", ["run_cmd", "te_run", "run_pytest", ...PROCESS_TOOLS])),
    ...(mcp.rlm.enabled ? {} : switchedOff("mcp.rlm.enabled", ["rlm_query"])),
    // Nothing but Linux bounds what programs use.
    ...(process.platform === "linux" ? {} : { execute_code: "Programs run on Linux only." }),
  },
  budgetWarningChars: mcp.hybrid.bootstrap_budget_warning,
  configVersion: mcp.config_version,
  timeoutMs: mcp.request_timeout_seconds * 1000,
  maxOutputBytes: mcp.limits.max_output_bytes,
  jsonText: mcp.tools.text_format === "json",
  publishesOneOf: mcp.tools.publish_one_of,
  publishedDefaults: {
    rlm_query: { max_bytes: mcp.rlm.default_max_bytes, timeout_s: mcp.rlm.default_timeout_s },
  },
  maxConcurrent: mcp.max_concurrent_requests,
  maxQueued: mcp.limits.max_queued_requests,
  breakerThreshold: mcp.performance.circuit_breaker_threshold,
  sidecars: mcp.resources.sidecars,
  allowedPrograms: installedOf(mcp.tools.run_cmd_allowlist),
  customModules: mcp.tools.custom_modules === "" ? undefined : resolve(root, mcp.tools.custom_modules),
  executables:
    mcp.tools.executables === "" || !mcp.tools.enable_run_cmd
      ? undefined
      : resolve(root, mcp.tools.executables),
  defaultAgentId: mcp.session.default_agent_id,
  defaultModel: mcp.session.default_model,
  defaultBudgetProfile: mcp.session.default_budget_profile,
  airGapped: mcp.security.air_gapped_mode,
  asksUsers: mcp.security.escalation_prompts,
  maxQuestionsPerMinute: mcp.security.max_questions_per_minute,
  questionTimeoutMs: mcp.security.question_timeout_seconds * 1000,
});

export const observeSettingsOf = ({
  mcp: { observability, logging },
}: Loaded["config"]): ObserveSettings => ({
  enabled: observability.enabled,
  metrics: observability.metrics_enabled,
  tokenAudit: observability.csv_token_audit_enabled,
  includeCorrelationId: observability.include_correlation_id,
  tracePropagation: logging.trace_propagation,
});
