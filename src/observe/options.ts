import { flag, oneOf, section, text, whole } from "../base/option.ts";

const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "silent"] as const;

export const observeSections = [
  section("mcp.observability", "Logs, metrics, traces and the token audit.", {
    enabled: flag(
      true,
      "Master switch: false turns metrics, traces and the token audit off, and logs down to errors.",
    ),
    metrics_enabled: flag(true, "Count calls, errors and latencies for get_metrics."),
    metrics_prometheus_enabled: flag(true, "Serve the metrics in Prometheus format over HTTP."),
    metrics_path: text("/metrics", "Where the Prometheus metrics are served.", { restart: true }),
    csv_token_audit_enabled: flag(false, "Append one line per call to a CSV file, with exact token counts."),
    csv_path: text("./artifacts/token_audit.csv", "The token audit's file, relative to the workspace."),
    log_format: oneOf(["json", "text"], "json", "How log lines look on stderr."),
    log_level: oneOf(LOG_LEVELS, "info", "Least severe level that is logged."),
    retention_days: whole(0, 0, 36_500, "Days that token audit lines are kept; 0 keeps them for ever."),
    include_correlation_id: flag(true, "Put the call's correlation id into its log lines."),
    otlp_endpoint: text(
      "",
      "OTLP/HTTP address that traces are sent to, such as http://127.0.0.1:4318/v1/traces. Empty: no traces.",
      {
        restart: true,
      },
    ),
  }),
  section(
    "mcp.logging",
    "The same log, by the names of the isolation document; a key that is set here wins.",
    {
      level: oneOf(
        LOG_LEVELS,
        "info",
        "Least severe level that is logged; when set, it wins over mcp.observability.log_level.",
      ),
      structured_output: flag(
        true,
        "JSON lines (true) or text (false); when set, it wins over mcp.observability.log_format.",
      ),
      trace_propagation: flag(
        true,
        "Continue the caller's W3C trace context (traceparent in _meta or HTTP headers).",
      ),
    },
  ),
] as const;
