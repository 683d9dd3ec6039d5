import { createMinuteSeries, type MinuteSeries } from "./minute-series.ts";
import type { createPrometheus, GaugeOptions } from "./prometheus.ts";
import type { CallRecord } from "./records.ts";

interface ToolCalls {
  count: number;
  readonly errors: Record<string, number>;
  /** The last `RECENT` durations, for exact percentiles. */
  readonly recentMs: number[];
}

const RECENT = 1024;

const summarize = ({ count, errors, recentMs }: ToolCalls) => {
  const sorted = recentMs.toSorted((a, b) => a - b);
  // The nearest rank: the least value that so many are not above.
  const ms = (p: number) => Math.round((sorted[Math.ceil(sorted.length * p) - 1] ?? 0) * 100) / 100;
  return { calls: count, errors: { ...errors }, p50_ms: ms(0.5), p95_ms: ms(0.95), p99_ms: ms(0.99) };
};

/** Names are the same for every call of a tool. */
const toolNames = new Map<string, { readonly ok: string; readonly seconds: string }>();

const namesOf = (tool: string) => {
  const known = toolNames.get(tool) ?? {
    ok: `llmc_calls_total{tool="${tool}",code="ok"}`,
    seconds: `llmc_call_duration_seconds{tool="${tool}"}`,
  };
  toolNames.set(tool, known);
  return known;
};

const questionMetric = (event: string): string =>
  event === "asked" || event === "not_asked"
    ? `llmc_questions_${event}_total`
    : `llmc_questions_total{answer="${event}"}`;

const valuesOf = (name: string, { label, read }: GaugeOptions): readonly (readonly [string, number])[] => {
  const value = read();
  return typeof value === "number"
    ? [[name, value]]
    : Object.entries(value).map(([key, one]) => [`${name}{${label}="${key}"}`, one]);
};

/** For admin_get_metrics: what gauges show now, and what was counted in the last minutes. */
const figuresOver = (
  gauges: ReadonlyMap<string, GaugeOptions>,
  series: MinuteSeries,
  minutes: number,
  prefix: string,
) => ({
  metrics: Object.fromEntries(
    [...gauges].filter(([name]) => name.startsWith(prefix)).flatMap(([name, gauge]) => valuesOf(name, gauge)),
  ),
  ...series.since(minutes, prefix),
});

export type Metrics = ReturnType<typeof createMetrics>;

/** Counts for `get_metrics` and, once they are served, for Prometheus. */
export const createMetrics = (now: () => number) => {
  const startedAt = now();
  const tools = new Map<string, ToolCalls>();
  const characters = { in: 0, out: 0 };
  let prometheus: ReturnType<typeof createPrometheus> | undefined;
  const series = createMinuteSeries(now);
  const gauges = new Map<string, GaugeOptions>();
  return {
    /** Counts for Prometheus from now on. Only the HTTP door does: the others need not load prom-client. */
    servePrometheus: async () => {
      prometheus = (await import("./prometheus.ts")).createPrometheus();
      for (const [name, gauge] of gauges) prometheus.addGauge(name, gauge);
      const { registry } = prometheus;
      return async () => ({ contentType: registry.contentType, body: await registry.metrics() });
    },

    recordCall: (
      { tool, durationMs, errorCode }: CallRecord,
      charactersIn: number,
      charactersOut: number,
    ): void => {
      const calls = tools.get(tool) ?? { count: 0, errors: {}, recentMs: [] };
      tools.set(tool, calls);
      calls.recentMs[calls.count++ % RECENT] = durationMs;
      if (errorCode !== undefined) calls.errors[errorCode] = (calls.errors[errorCode] ?? 0) + 1;
      characters.in += charactersIn;
      characters.out += charactersOut;
      const names = namesOf(tool);
      series.count(
        errorCode === undefined ? names.ok : `llmc_calls_total{tool="${tool}",code="${errorCode}"}`,
      );
      series.observe(names.seconds, durationMs / 1000);
      prometheus?.calls.inc({ tool, code: errorCode ?? "ok" });
      prometheus?.callSeconds.observe({ tool }, durationMs / 1000);
      prometheus?.characters.inc({ direction: "in" }, charactersIn);
      prometheus?.characters.inc({ direction: "out" }, charactersOut);
    },

    /** A command that went through the Tool Envelope. */
    recordEnvelope: (mode: string, durationMs: number): void =>
      prometheus?.envelopeSeconds.observe({ mode }, durationMs / 1000),

    countAuthFailure: (): void => {
      series.count("llmc_auth_failures_total");
      prometheus?.authFailures.inc();
    },

    /** What became of a question to a user: asked, not asked because there were too many, or how it was answered. */
    countQuestion: (event: string): void => {
      series.count(questionMetric(event));
      prometheus?.countQuestion(event);
    },

    /** Something that has a value at any time; read when somebody asks. */
    addGauge: (name: string, help: string, read: GaugeOptions["read"], label?: string): void => {
      const gauge = { help, read, ...(label === undefined ? {} : { label }) };
      gauges.set(name, gauge);
      prometheus?.addGauge(name, gauge);
    },

    over: (minutes: number, prefix: string) => figuresOver(gauges, series, minutes, prefix),

    /** An HTTP request that was answered, by its route (never by its URL, which callers choose). */
    recordRequest: (route: string, status: number, durationMs: number): void => {
      prometheus?.requests.inc({ route, status });
      prometheus?.requestSeconds.observe({ route }, durationMs / 1000);
    },

    /** A request that a limit refused. */
    countDrop: (reason: string): void => {
      series.count(`llmc_http_drops_total{reason="${reason}"}`);
      prometheus?.drops.inc({ reason });
    },

    /** A model that answered: tokens as its provider counts them, undefined if it does not report them. */
    recordModel: (
      model: string,
      usage: { readonly inputTokens: number | undefined; readonly outputTokens: number | undefined },
      costUsd: number | undefined,
    ): void => {
      prometheus?.modelCalls.inc({ model });
      prometheus?.modelCost.inc({ model }, costUsd ?? 0);
      prometheus?.modelTokens.inc({ model, direction: "in" }, usage.inputTokens ?? 0);
      prometheus?.modelTokens.inc({ model, direction: "out" }, usage.outputTokens ?? 0);
    },

    /** Exact token counts, known while the token audit is on. */
    countTokens: (input: number, output: number): void => {
      prometheus?.tokens.inc({ direction: "in" }, input);
      prometheus?.tokens.inc({ direction: "out" }, output);
    },

    /** For get_metrics: counts, errors and latencies by tool. */
    snapshot: async (): Promise<Readonly<Record<string, unknown>>> => ({
      uptime_s: Math.round((now() - startedAt) / 1000),
      tools: Object.fromEntries([...tools].map(([tool, calls]) => [tool, summarize(calls)])),
      characters: { ...characters },
    }),
  };
};
