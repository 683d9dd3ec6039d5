import type { CallRecord } from "./records.ts";

interface ModelUsage {
  readonly inputTokens: number | undefined;
  readonly outputTokens: number | undefined;
}

export interface Metrics {
  recordCall(record: CallRecord, charactersIn: number, charactersOut: number): void;
  /** A command that went through the Tool Envelope. */
  recordEnvelope(mode: string, durationMs: number): void;
  countAuthFailure(): void;
  /** An HTTP request that was answered, by its route (never its address, which callers choose). */
  recordRequest(route: string, status: number, durationMs: number): void;
  /** A request that was turned away: by its token's rate, its token's lane, or its address's guesses. */
  countDrop(reason: string): void;
  /** A model that answered: tokens as its provider counts them, undefined where it does not say. */
  recordModel(model: string, usage: ModelUsage, costUsd: number | undefined): void;
  /** Exact token counts, known while the token audit is on. */
  countTokens(input: number, output: number): void;
  /** Prometheus text format, and its content type. */
  expose(): Promise<{ readonly contentType: string; readonly body: string }>;
  /** For get_metrics: counts, errors and latencies by tool. */
  snapshot(): Promise<Readonly<Record<string, unknown>>>;
}

/** Seconds; around the targets of the design documents (15, 150 and 200 ms). */
const BUCKETS = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.015, 0.025, 0.05, 0.1, 0.15, 0.2, 0.5, 1, 2, 5, 10, 30,
];

/** Latencies kept exactly per tool, for percentiles without bucket error; older ones fall out. */
const RECENT = 1024;

interface Latencies {
  count: number;
  seconds: number;
  /** Calls per bucket, each counted once in the first that holds it; the last is for those beyond all. */
  readonly buckets: number[];
}

interface ToolFigures extends Latencies {
  readonly byCode: Map<string, number>;
  readonly recentMs: number[];
}

interface RouteFigures extends Latencies {
  readonly byStatus: Map<number, number>;
}

interface Figures {
  readonly tools: Map<string, ToolFigures>;
  /** By mode. */
  readonly envelope: Map<string, Latencies>;
  readonly characters: { in: number; out: number };
  readonly tokens: { in: number; out: number };
  /** By name, which the configuration chooses. */
  readonly models: Map<string, { calls: number; in: number; out: number; costUsd: number }>;
  authFailures: number;
  readonly requests: Map<string, RouteFigures>;
  readonly drops: Map<string, number>;
}

const noLatencies = (): Latencies => ({
  count: 0,
  seconds: 0,
  buckets: new Array(BUCKETS.length + 1).fill(0),
});

const observe = (own: Latencies, seconds: number): void => {
  own.count++;
  own.seconds += seconds;
  let at = 0;
  while (seconds > (BUCKETS[at] ?? Number.POSITIVE_INFINITY)) at++;
  own.buckets[at] = (own.buckets[at] ?? 0) + 1;
};

const figuresOf = (figures: Figures, tool: string): ToolFigures => {
  const known = figures.tools.get(tool);
  if (known !== undefined) return known;
  const fresh = { ...noLatencies(), byCode: new Map(), recentMs: [] };
  figures.tools.set(tool, fresh);
  return fresh;
};

const percentile = (sorted: readonly number[], p: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))] ?? 0;

const summarize = ({ count, byCode, recentMs }: ToolFigures) => {
  const sorted = recentMs.toSorted((a, b) => a - b);
  const ms = (p: number) => Math.round(percentile(sorted, p) * 100) / 100;
  const errors = Object.fromEntries([...byCode].filter(([code]) => code !== "ok"));
  return { calls: count, errors, p50_ms: ms(0.5), p95_ms: ms(0.95), p99_ms: ms(0.99) };
};

type Labels = Readonly<Record<string, string | number>>;
interface Sample {
  readonly value: number;
  readonly labels: Labels;
  readonly metricName?: string;
}

const histogramSamples = (name: string, label: string, figures: Map<string, Latencies>): Sample[] =>
  [...figures].flatMap(([value, { buckets, seconds, count }]) => {
    const own = { [label]: value };
    let below = 0;
    const samples: Sample[] = [...BUCKETS, "+Inf"].map((le, i) => {
      below += buckets[i] ?? 0;
      return { metricName: `${name}_bucket`, labels: { le, ...own }, value: below };
    });
    return [
      ...samples,
      { metricName: `${name}_sum`, labels: own, value: seconds },
      { metricName: `${name}_count`, labels: own, value: count },
    ];
  });

const byDirection = ({ in: input, out }: { in: number; out: number }): Sample[] => [
  { labels: { direction: "in" }, value: input },
  { labels: { direction: "out" }, value: out },
];

/** The figures as metrics of prom-client, which prints them and adds those of the process. */
const createRegistry = async (figures: Figures) => {
  const { Registry, collectDefaultMetrics } = await import("prom-client");
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const add = (name: string, help: string, type: "counter" | "histogram", values: () => Sample[]): void => {
    const metric = {
      name,
      help,
      type,
      aggregator: "sum",
      get: async () => ({ name, help, type, aggregator: "sum", values: values() }),
    };
    registry.registerMetric(metric as never);
  };
  add("llmc_calls_total", "Calls by tool and outcome.", "counter", () =>
    [...figures.tools].flatMap(([tool, { byCode }]) =>
      [...byCode].map(([code, value]) => ({ labels: { tool, code }, value })),
    ),
  );
  const duration = "llmc_call_duration_seconds";
  add(duration, "Time from request to result.", "histogram", () =>
    histogramSamples(duration, "tool", figures.tools),
  );
  const envelope = "llmc_te_duration_seconds";
  add(envelope, "Time of commands in the Tool Envelope, by mode.", "histogram", () =>
    histogramSamples(envelope, "mode", figures.envelope),
  );
  add("llmc_call_characters_total", "Characters of arguments and results.", "counter", () =>
    byDirection(figures.characters),
  );
  add(
    "llmc_call_tokens_total",
    "Tokens (o200k_base) of arguments and results, counted while the token audit is on.",
    "counter",
    () => byDirection(figures.tokens),
  );
  const perModel = (value: "calls" | "costUsd"): Sample[] =>
    [...figures.models].map(([model, own]) => ({ labels: { model }, value: own[value] }));
  add("llmc_model_calls_total", "Answers of models.", "counter", () => perModel("calls"));
  add("llmc_model_cost_usd_total", "US dollars of those whose price is known.", "counter", () =>
    perModel("costUsd"),
  );
  add("llmc_model_tokens_total", "Tokens to and from models, as their providers count.", "counter", () =>
    [...figures.models].flatMap(([model, own]) =>
      byDirection(own).map(({ labels, value }) => ({ labels: { model, ...labels }, value })),
    ),
  );
  add("llmc_auth_failures_total", "Requests with a missing or wrong token.", "counter", () => [
    { labels: {}, value: figures.authFailures },
  ]);
  add("llmc_http_requests_total", "HTTP requests by route and status.", "counter", () =>
    [...figures.requests].flatMap(([route, { byStatus }]) =>
      [...byStatus].map(([status, value]) => ({ labels: { route, status }, value })),
    ),
  );
  const request = "llmc_http_request_duration_seconds";
  add(request, "Time from the request's headers to the end of its answer, by route.", "histogram", () =>
    histogramSamples(request, "route", figures.requests),
  );
  add("llmc_http_drops_total", "HTTP requests turned away by a limit, by reason.", "counter", () =>
    [...figures.drops].map(([reason, value]) => ({ labels: { reason }, value })),
  );
  return registry;
};

/** Counts in plain numbers; the library that prints them is loaded when somebody first looks. */
export const createMetrics = (now: () => number): Metrics => {
  const startedAt = now();
  const figures: Figures = {
    tools: new Map(),
    envelope: new Map(),
    characters: { in: 0, out: 0 },
    tokens: { in: 0, out: 0 },
    models: new Map(),
    authFailures: 0,
    requests: new Map(),
    drops: new Map(),
  };
  let registry: ReturnType<typeof createRegistry> | undefined;
  return {
    recordCall: ({ tool, durationMs, errorCode }, charactersIn, charactersOut) => {
      const own = figuresOf(figures, tool);
      const code = errorCode ?? "ok";
      own.recentMs[own.count % RECENT] = durationMs;
      observe(own, durationMs / 1000);
      own.byCode.set(code, (own.byCode.get(code) ?? 0) + 1);
      figures.characters.in += charactersIn;
      figures.characters.out += charactersOut;
    },
    recordEnvelope: (mode, durationMs) => {
      const own = figures.envelope.get(mode) ?? noLatencies();
      figures.envelope.set(mode, own);
      observe(own, durationMs / 1000);
    },
    countAuthFailure: () => {
      figures.authFailures++;
    },
    recordRequest: (route, status, durationMs) => {
      let own = figures.requests.get(route);
      if (own === undefined) {
        own = { ...noLatencies(), byStatus: new Map() };
        figures.requests.set(route, own);
      }
      observe(own, durationMs / 1000);
      own.byStatus.set(status, (own.byStatus.get(status) ?? 0) + 1);
    },
    countDrop: (reason) => {
      figures.drops.set(reason, (figures.drops.get(reason) ?? 0) + 1);
    },
    recordModel: (model, { inputTokens = 0, outputTokens = 0 }, costUsd = 0) => {
      const own = figures.models.get(model) ?? { calls: 0, in: 0, out: 0, costUsd: 0 };
      figures.models.set(model, own);
      own.calls++;
      own.in += inputTokens;
      own.out += outputTokens;
      own.costUsd += costUsd;
    },
    countTokens: (input, output) => {
      figures.tokens.in += input;
      figures.tokens.out += output;
    },
    expose: async () => {
      registry ??= createRegistry(figures);
      const { contentType, metrics } = await registry.then((loaded) => ({
        contentType: loaded.contentType,
        metrics: loaded.metrics(),
      }));
      return { contentType, body: await metrics };
    },
    snapshot: async () => ({
      uptime_s: Math.round((now() - startedAt) / 1000),
      tools: Object.fromEntries([...figures.tools].map(([tool, own]) => [tool, summarize(own)])),
      characters: { ...figures.characters },
    }),
  };
};
