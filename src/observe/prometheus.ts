import { Counter, collectDefaultMetrics, Registry } from "prom-client";
import { BUCKETS, type Durations, type Figures } from "./figures.ts";

type Labels = Record<string, string | number>;
interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

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
      [...requests].flatMap(([route, { byStatus }]) =>
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

interface HistogramSource {
  readonly name: string;
  readonly help: string;
  readonly label: string;
  readonly read: (figures: Figures) => ReadonlyMap<string, Durations>;
}

const HISTOGRAMS: readonly HistogramSource[] = [
  {
    name: "llmc_call_duration_seconds",
    help: "Time from request to result.",
    label: "tool",
    read: ({ tools }) => tools,
  },
  {
    name: "llmc_te_duration_seconds",
    help: "Time of commands in the Tool Envelope, by mode.",
    label: "mode",
    read: ({ envelope }) => envelope,
  },
  {
    name: "llmc_http_request_duration_seconds",
    help: "Time from the headers of a request to the end of its answer, by route.",
    label: "route",
    read: ({ requests }) => requests,
  },
];

const escapeLabel = (value: string): string =>
  value.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');

/**
 * Histograms are counted and printed here, because `observe` of prom-client costs 7 µs of processor time per HTTP call,
 * 12 % of a call that does nothing.
 */
const renderHistogram = ({ name, help, label, read }: HistogramSource, figures: Figures): string => {
  const series = [...read(figures)].flatMap(([value, { buckets, seconds, count }]) => {
    const own = `${label}="${escapeLabel(value)}"`;
    let cumulative = 0;
    return [
      ...[...BUCKETS, "+Inf"].map((le, i) => {
        cumulative += buckets[i] ?? 0;
        return `${name}_bucket{le="${le}",${own}} ${cumulative}`;
      }),
      `${name}_sum{${own}} ${seconds}`,
      `${name}_count{${own}} ${count}`,
    ];
  });
  return [`# HELP ${name} ${help}`, `# TYPE ${name} histogram`, ...series, ""].join("\n");
};

/** The figures in the text format of Prometheus, with the metrics of the process. */
export const createExposition = (figures: Figures) => {
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
  return async () => {
    const histograms = HISTOGRAMS.map((source) => renderHistogram(source, figures));
    return {
      contentType: registry.contentType,
      body: `${await registry.metrics()}\n${histograms.join("\n")}`,
    };
  };
};
