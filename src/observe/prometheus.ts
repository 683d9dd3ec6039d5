import { Counter, collectDefaultMetrics, Histogram, Registry } from "prom-client";
import type { Figures } from "./figures.ts";

type Labels = Record<string, string | number>;
interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

/** Seconds; chosen around the targets of the design documents (15, 150 and 200 ms). */
const BUCKETS = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.015, 0.025, 0.05, 0.1, 0.15, 0.2, 0.5, 1, 2, 5, 10, 30,
];

const byDirection = ({ in: input, out }: { in: number; out: number }, labels: Labels = {}): Sample[] => [
  { labels: { ...labels, direction: "in" }, value: input },
  { labels: { ...labels, direction: "out" }, value: out },
];

interface CounterSource {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  readonly read: (figures: Figures) => readonly Sample[];
}

const COUNTERS: readonly CounterSource[] = [
  {
    name: "llmc_calls_total",
    help: "Calls by tool and outcome.",
    labelNames: ["tool", "code"],
    read: ({ tools }) =>
      [...tools].flatMap(([tool, { byCode }]) =>
        [...byCode].map(([code, value]) => ({ labels: { tool, code }, value })),
      ),
  },
  {
    name: "llmc_call_characters_total",
    help: "Characters of arguments and results.",
    labelNames: ["direction"],
    read: ({ characters }) => byDirection(characters),
  },
  {
    name: "llmc_call_tokens_total",
    help: "Tokens (o200k_base) of arguments and results, counted while the token audit is on.",
    labelNames: ["direction"],
    read: ({ tokens }) => byDirection(tokens),
  },
  {
    name: "llmc_model_calls_total",
    help: "Answers of models.",
    labelNames: ["model"],
    read: ({ models }) => [...models].map(([model, { calls }]) => ({ labels: { model }, value: calls })),
  },
  {
    name: "llmc_model_cost_usd_total",
    help: "Cost in US dollars of the answers whose price is known.",
    labelNames: ["model"],
    read: ({ models }) => [...models].map(([model, { costUsd }]) => ({ labels: { model }, value: costUsd })),
  },
  {
    name: "llmc_model_tokens_total",
    help: "Tokens to and from models, as their providers count them.",
    labelNames: ["model", "direction"],
    read: ({ models }) => [...models].flatMap(([model, own]) => byDirection(own, { model })),
  },
  {
    name: "llmc_auth_failures_total",
    help: "Requests with a missing or wrong token.",
    labelNames: [] as readonly string[],
    read: ({ authFailures }) => [{ labels: {}, value: authFailures }],
  },
  {
    name: "llmc_http_requests_total",
    help: "HTTP requests by route and status.",
    labelNames: ["route", "status"],
    read: ({ requests }) =>
      [...requests].flatMap(([route, byStatus]) =>
        [...byStatus].map(([status, value]) => ({ labels: { route, status }, value })),
      ),
  },
  {
    name: "llmc_http_drops_total",
    help: "HTTP requests refused by a limit, by reason.",
    labelNames: ["reason"],
    read: ({ drops }) => [...drops].map(([reason, value]) => ({ labels: { reason }, value })),
  },
];

/**
 * The metrics of Prometheus. Counters read the figures when they are printed; durations go into histograms as they come,
 * which takes a microsecond each, so this is created only where the metrics are served.
 */
export const createPrometheus = (figures: Figures) => {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const { name, help, labelNames, read } of COUNTERS)
    new Counter({
      name,
      help,
      labelNames,
      registers: [registry],
      collect() {
        this.reset();
        for (const { labels, value } of read(figures)) this.inc(labels, value);
      },
    });
  const histogram = <Label extends string>(name: string, help: string, label: Label) =>
    new Histogram({ name, help, labelNames: [label], buckets: BUCKETS, registers: [registry] });
  const calls = histogram("llmc_call_duration_seconds", "Time from request to result.", "tool");
  const envelope = histogram(
    "llmc_te_duration_seconds",
    "Time of commands in the Tool Envelope, by mode.",
    "mode",
  );
  const requests = histogram(
    "llmc_http_request_duration_seconds",
    "Time from the headers of a request to the end of its answer, by route.",
    "route",
  );
  return {
    registry,
    observeCall: (tool: string, ms: number) => calls.observe({ tool }, ms / 1000),
    observeEnvelope: (mode: string, ms: number) => envelope.observe({ mode }, ms / 1000),
    observeRequest: (route: string, ms: number) => requests.observe({ route }, ms / 1000),
  };
};

export type Prometheus = ReturnType<typeof createPrometheus>;
