import { flag, oneOf, section, text, whole } from "../base/option.ts";

const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "silent"] as const;

export const observeSections = [
  section("mcp.observability", "Logs, metrics, traces and the token audit.", {
    enabled: flag(
      true,
      false,
      "Master switch: false turns metrics, traces and the token audit off, and logs down to errors.",
    ),
    metrics_enabled: flag(true, false, "Count calls, errors and latencies for get_metrics."),
    metrics_prometheus_enabled: flag(true, "any", "Serve the metrics in Prometheus format over HTTP."),
    metrics_path: text("/metrics", "any", "Path of the Prometheus metrics.", { restart: true }),
    csv_token_audit_enabled: flag(
      false,
      "any",
      "Append one line per call to a CSV file, with exact token counts.",
    ),
    csv_path: text(
      "./artifacts/token_audit.csv",
      "any",
      "The token audit's file, relative to the workspace.",
      { path: { noEntry: "a report of counts, which the server does not read as anything else" } },
    ),
    log_format: oneOf(
      ["json", "text"],
      "json",
      "any",
      "Format of log lines on stderr. Unless it is set, lines on a terminal are text.",
    ),
    log_level: oneOf(LOG_LEVELS, "info", "any", "Minimum severity that is logged."),
    retention_days: whole(
      0,
      0,
      36_500,
      "less",
      "Days that token audit lines are kept; 0 keeps them forever.",
      { unlimited: 0 },
    ),
    include_correlation_id: flag(true, false, "Put the call's correlation id into its log lines."),
    otlp_endpoint: text(
      "",
      "any",
      "OTLP/HTTP address that traces are sent to, such as http://127.0.0.1:4318/v1/traces. If empty, no traces are sent.",
      {
        restart: true,
      },
    ),
  }),
  section(
    "mcp.logging",
    "Alternative names for the log settings above; a key that is set here takes precedence.",
    {
      level: oneOf(
        LOG_LEVELS,
        "info",
        "any",
        "Minimum severity that is logged; when set, it wins over mcp.observability.log_level.",
      ),
      structured_output: flag(
        true,
        "any",
        "JSON lines (true) or text (false); when set, it wins over mcp.observability.log_format.",
      ),
      trace_propagation: flag(
        true,
        "any",
        "Continue the caller's W3C trace context (traceparent in _meta or HTTP headers).",
      ),
    },
  ),
] as const;
