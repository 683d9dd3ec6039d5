import type { CallRecord, CallTexts } from "./records.ts";

type Prometheus = typeof import("prom-client");

export interface Metrics {
  recordCall(record: CallRecord, texts: CallTexts): void;
  countAuthFailure(): void;
  /** Exact token counts, known while the token audit is on. */
  countTokens(input: number, output: number): void;
  /** Prometheus text format, and its content type. */
  expose(): Promise<{ readonly contentType: string; readonly body: string }>;
  /** For get_metrics: counts, errors and latencies by tool. */
  snapshot(): Promise<Readonly<Record<string, unknown>>>;
}

/** Seconds; around the targets of the design documents (15, 150 and 200 ms). */
const LATENCY_BUCKETS = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.015, 0.025, 0.05, 0.1, 0.15, 0.2, 0.5, 1, 2, 5, 10, 30,
];

const createInstruments = ({ Registry, Counter, Histogram, collectDefaultMetrics }: Prometheus) => {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  return {
    registry,
    calls: new Counter({
      name: "llmc_calls_total",
      help: "Calls by tool and outcome.",
      labelNames: ["tool", "code"],
      registers,
    }),
    duration: new Histogram({
      name: "llmc_call_duration_seconds",
      help: "Time from request to result.",
      labelNames: ["tool"],
      buckets: LATENCY_BUCKETS,
      registers,
    }),
    characters: new Counter({
      name: "llmc_call_characters_total",
      help: "Characters of arguments and results.",
      labelNames: ["direction"],
      registers,
    }),
    tokens: new Counter({
      name: "llmc_call_tokens_total",
      help: "Tokens (o200k_base) of arguments and results, counted while the token audit is on.",
      labelNames: ["direction"],
      registers,
    }),
    authFailures: new Counter({
      name: "llmc_auth_failures_total",
      help: "Requests with a missing or wrong token.",
      registers,
    }),
  };
};

type Instruments = ReturnType<typeof createInstruments>;

/** Latencies kept exactly per tool, for percentiles without bucket error; older ones fall out. */
const RECENT = 1024;

const percentile = (sorted: readonly number[], p: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))] ?? 0;

const createRecent = () => {
  const byTool = new Map<string, { count: number; errors: Map<string, number>; latencies: number[] }>();
  return {
    add: ({ tool, durationMs, errorCode }: CallRecord): void => {
      let entry = byTool.get(tool);
      if (entry === undefined) {
        entry = { count: 0, errors: new Map(), latencies: [] };
        byTool.set(tool, entry);
      }
      entry.latencies[entry.count % RECENT] = durationMs;
      entry.count++;
      if (errorCode !== undefined) entry.errors.set(errorCode, (entry.errors.get(errorCode) ?? 0) + 1);
    },
    snapshot: () =>
      Object.fromEntries(
        [...byTool].map(([tool, { count, errors, latencies }]) => {
          const sorted = latencies.toSorted((a, b) => a - b);
          const ms = (p: number) => Math.round(percentile(sorted, p) * 100) / 100;
          return [
            tool,
            {
              calls: count,
              errors: Object.fromEntries(errors),
              p50_ms: ms(0.5),
              p95_ms: ms(0.95),
              p99_ms: ms(0.99),
            },
          ];
        }),
      ),
  };
};

/**
 * prom-client takes 30 ms to load, which a client would wait for at start; it is loaded when somebody first looks, and
 * until then the few numbers it needs are held back.
 */
export const createMetrics = (now: () => number): Metrics => {
  const startedAt = now();
  const recent = createRecent();
  let instruments: Instruments | undefined;
  let loading: Promise<Instruments> | undefined;
  let held: ((to: Instruments) => void)[] = [];
  let charsIn = 0;
  let charsOut = 0;

  const load = (): Promise<Instruments> => {
    loading ??= import("prom-client").then((prometheus) => {
      const loaded = createInstruments(prometheus);
      for (const apply of held) apply(loaded);
      held = [];
      instruments = loaded;
      return loaded;
    });
    return loading;
  };

  /** Past this many the wait is not worth the memory. */
  const MAX_HELD = 1000;

  const apply = (change: (to: Instruments) => void): void => {
    if (instruments !== undefined) {
      change(instruments);
      return;
    }
    held.push(change);
    if (held.length >= MAX_HELD) void load();
  };

  return {
    recordCall: (record, texts) => {
      recent.add(record);
      const charactersIn = texts.input().length;
      const charactersOut = texts.output().length;
      charsIn += charactersIn;
      charsOut += charactersOut;
      const { tool, durationMs, errorCode } = record;
      apply(({ calls, duration, characters }) => {
        calls.inc({ tool, code: errorCode ?? "ok" });
        duration.observe({ tool }, durationMs / 1000);
        characters.inc({ direction: "in" }, charactersIn);
        characters.inc({ direction: "out" }, charactersOut);
      });
    },
    countTokens: (input, output) =>
      apply(({ tokens }) => {
        tokens.inc({ direction: "in" }, input);
        tokens.inc({ direction: "out" }, output);
      }),
    countAuthFailure: () => apply(({ authFailures }) => authFailures.inc()),
    expose: async () => {
      const { registry } = await load();
      return { contentType: registry.contentType, body: await registry.metrics() };
    },
    snapshot: async () => ({
      uptime_s: Math.round((now() - startedAt) / 1000),
      tools: recent.snapshot(),
      characters: { in: charsIn, out: charsOut },
    }),
  };
};
