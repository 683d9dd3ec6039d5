import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

/** Seconds; chosen around the targets of the design documents (15, 150 and 200 ms). */
const buckets = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.015, 0.025, 0.05, 0.1, 0.15, 0.2, 0.5, 1, 2, 5, 10, 30,
];

/** One value, or one for each value of a label. */
export interface GaugeOptions {
  readonly help: string;
  readonly label?: string;
  readonly read: () => number | Readonly<Record<string, number>>;
}

/** Counters and histograms, beside the metrics of the process. */
export const createPrometheus = () => {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const counter = <L extends string>(name: string, help: string, labelNames: L[]) =>
    new Counter({ name, help, labelNames, registers });
  const histogram = <L extends string>(name: string, help: string, labelNames: L[]) =>
    new Histogram({ name, help, labelNames, buckets, registers });
  const asked = counter("llmc_questions_asked_total", "Questions that users were asked.", []);
  const notAsked = counter(
    "llmc_questions_not_asked_total",
    "Questions that were one too many within a minute: the call was refused.",
    [],
  );
  const answered = counter(
    "llmc_questions_total",
    "Questions by answer; unanswered: nobody answered in time, or the client failed.",
    ["answer"],
  );
  return {
    registry,
    addGauge: (name: string, { help, label, read }: GaugeOptions) =>
      new Gauge({
        name,
        help,
        registers,
        labelNames: label === undefined ? [] : [label],
        collect() {
          const value = read();
          if (typeof value === "number" || label === undefined) return this.set(Number(value));
          this.reset();
          for (const [key, one] of Object.entries(value)) this.set({ [label]: key }, one);
        },
      }),
    countQuestion: (event: string): void => {
      if (event === "asked") asked.inc();
      else if (event === "not_asked") notAsked.inc();
      else answered.inc({ answer: event });
    },
    calls: counter("llmc_calls_total", "Calls by tool and outcome.", ["tool", "code"]),
    callSeconds: histogram("llmc_call_duration_seconds", "Time from request to result.", ["tool"]),
    characters: counter("llmc_call_characters_total", "Characters of arguments and results.", ["direction"]),
    tokens: counter(
      "llmc_call_tokens_total",
      "Tokens (o200k_base) of arguments and results, counted while the token audit is on.",
      ["direction"],
    ),
    envelopeSeconds: histogram(
      "llmc_te_duration_seconds",
      "Time of commands in the Tool Envelope, by mode.",
      ["mode"],
    ),
    modelCalls: counter("llmc_model_calls_total", "Answers of models.", ["model"]),
    modelCost: counter(
      "llmc_model_cost_usd_total",
      "Cost in US dollars of the answers whose price is known.",
      ["model"],
    ),
    modelTokens: counter(
      "llmc_model_tokens_total",
      "Tokens to and from models, as their providers count them.",
      ["model", "direction"],
    ),
    authFailures: counter("llmc_auth_failures_total", "Requests with a missing or wrong token.", []),
    requests: counter("llmc_http_requests_total", "HTTP requests by route and status.", ["route", "status"]),
    requestSeconds: histogram(
      "llmc_http_request_duration_seconds",
      "Time from the headers of a request to the end of its answer, by route.",
      ["route"],
    ),
    drops: counter("llmc_http_drops_total", "HTTP requests refused by a limit, by reason.", ["reason"]),
  };
};
