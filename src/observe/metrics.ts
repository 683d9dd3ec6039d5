import {
  addCall,
  addDrop,
  addEnvelope,
  addModelCall,
  addRequest,
  createFigures,
  summarize,
} from "./figures.ts";
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
  /** An HTTP request that was answered, by its route (never by its URL, which callers choose). */
  recordRequest(route: string, status: number, durationMs: number): void;
  /** A request that a limit refused. */
  countDrop(reason: string): void;
  /** A model that answered: tokens as its provider counts them, undefined if it does not report them. */
  recordModel(model: string, usage: ModelUsage, costUsd: number | undefined): void;
  /** Exact token counts, known while the token audit is on. */
  countTokens(input: number, output: number): void;
  /** Prometheus text format, and its content type. */
  expose(): Promise<{ readonly contentType: string; readonly body: string }>;
  /** For get_metrics: counts, errors and latencies by tool. */
  snapshot(): Promise<Readonly<Record<string, unknown>>>;
}

/** Counts in plain numbers; prom-client is loaded with the first scrape. */
export const createMetrics = (now: () => number): Metrics => {
  const startedAt = now();
  const figures = createFigures();
  const { characters, tokens } = figures;
  let exposition: Promise<Metrics["expose"]> | undefined;
  return {
    recordCall: ({ tool, durationMs, errorCode }, charactersIn, charactersOut) => {
      addCall(figures, tool, errorCode ?? "ok", durationMs);
      characters.in += charactersIn;
      characters.out += charactersOut;
    },
    recordEnvelope: (mode, durationMs) => addEnvelope(figures, mode, durationMs),
    countAuthFailure: () => {
      figures.authFailures++;
    },
    recordRequest: (route, status, durationMs) => addRequest(figures, route, status, durationMs),
    countDrop: (reason) => addDrop(figures, reason),
    recordModel: (model, { inputTokens = 0, outputTokens = 0 }, costUsd = 0) =>
      addModelCall(figures, model, { in: inputTokens, out: outputTokens, costUsd }),
    countTokens: (input, output) => {
      tokens.in += input;
      tokens.out += output;
    },
    expose: async () => {
      exposition ??= import("./prometheus.ts").then(({ createExposition }) => createExposition(figures));
      return (await exposition)();
    },
    snapshot: async () => ({
      uptime_s: Math.round((now() - startedAt) / 1000),
      tools: Object.fromEntries([...figures.tools].map(([tool, own]) => [tool, summarize(own)])),
      characters: { ...characters },
    }),
  };
};
