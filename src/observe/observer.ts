import { ERROR_TABLE } from "../base/error-table.ts";
import { describeCause } from "./cause.ts";
import type { Log } from "./log.ts";
import type { Metrics } from "./metrics.ts";
import type { CallRecord, CallTexts, CallTrace } from "./records.ts";
import type { TokenAudit } from "./token-audit.ts";
import { type Tracer, traceIdOf } from "./trace.ts";

export interface ObserveSettings {
  readonly enabled: boolean;
  readonly metrics: boolean;
  readonly tokenAudit: boolean;
  readonly includeCorrelationId: boolean;
  readonly tracePropagation: boolean;
}

interface ObserverParts {
  readonly settings: () => ObserveSettings;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly tracer: Tracer | undefined;
  readonly audit: TokenAudit;
}

const fieldsOf = (record: CallRecord, includeCorrelationId: boolean) => ({
  ...(includeCorrelationId ? { correlation_id: record.correlationId } : {}),
  tool: record.tool,
  route: record.route,
  ...(record.isQuestion
    ? {}
    : { status: record.errorCode === undefined ? 200 : ERROR_TABLE[record.errorCode].status }),
  ...record.where(),
  duration_ms: Math.round(record.durationMs * 1000) / 1000,
  truncated: record.truncated,
  transport: record.transport,
  agent_id: record.agentId,
  session_id: record.sessionId,
  ...(record.budgetProfile === "" ? {} : { budget_profile: record.budgetProfile }),
  ...(record.traceId === undefined ? {} : { trace_id: record.traceId }),
  ...(record.errorCode === undefined ? {} : { error_code: record.errorCode }),
});

export type Observer = ReturnType<typeof createObserver>;

export const createObserver = ({ settings, log, metrics, tracer, audit }: ObserverParts) => ({
  log,

  startCall: (traceparent: string | undefined): CallTrace => {
    const parent = settings().tracePropagation ? traceparent : undefined;
    return tracer?.startCall(parent) ?? { traceId: traceIdOf(parent), end: () => {} };
  },

  recordCall: (record: CallRecord, texts: CallTexts): void => {
    const { enabled, metrics: counts, tokenAudit, includeCorrelationId } = settings();
    const fields = () => fieldsOf(record, includeCorrelationId);
    if (record.errorCode === "internal_error") {
      log.error(() => ({ ...fields(), ...describeCause(record.cause) }), "call failed");
    } else if (record.isQuestion) log.info(fields, "call asks its user");
    else log.info(fields, record.errorCode === undefined ? "call" : "call refused");
    if (!enabled || record.isQuestion) return;
    if (counts) metrics.recordCall(record, texts.input().length, texts.output().length);
    if (tokenAudit) audit.record(record, texts);
  },
});
