import { EXTRAS, missingExtra } from "../base/extras-table.ts";
import type { CallTrace } from "./records.ts";

export interface Tracer {
  startCall(traceparent: string | undefined): CallTrace;
  /** Sends what is queued; called at the end of the program. */
  flush(): Promise<void>;
}

const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

export const traceIdOf = (traceparent: string | undefined): string | undefined =>
  traceparent === undefined ? undefined : TRACEPARENT.exec(traceparent)?.[1];

/** Loads OpenTelemetry, so it is only called if an endpoint is configured. */
export const createTracer = async (
  endpoint: string,
  version: string,
  onError: (error: Error) => void,
): Promise<Tracer> => {
  const [api, sdk, { OTLPTraceExporter }, { resourceFromAttributes }] = await Promise.all([
    import("@opentelemetry/api"),
    import("@opentelemetry/sdk-trace-base"),
    import("@opentelemetry/exporter-trace-otlp-http"),
    import("@opentelemetry/resources"),
  ]).catch((cause: unknown) => {
    throw missingExtra(EXTRAS.traces, cause);
  });
  api.diag.setLogger(
    {
      error: (message) => onError(new Error(message)),
      warn: () => {},
      info: () => {},
      debug: () => {},
      verbose: () => {},
    },
    api.DiagLogLevel.ERROR,
  );
  const provider = new sdk.BasicTracerProvider({
    resource: resourceFromAttributes({ "service.name": "llmc", "service.version": version }),
    spanProcessors: [new sdk.BatchSpanProcessor(new OTLPTraceExporter({ url: endpoint }))],
  });
  const tracer = provider.getTracer("llmc", version);

  return {
    startCall: (traceparent) => {
      const match = traceparent === undefined ? null : TRACEPARENT.exec(traceparent);
      const [, traceId, spanId, flags] = match ?? [];
      const parent =
        traceId === undefined || spanId === undefined
          ? api.ROOT_CONTEXT
          : api.trace.setSpanContext(api.ROOT_CONTEXT, {
              traceId,
              spanId,
              traceFlags: Number.parseInt(flags ?? "01", 16),
              isRemote: true,
            });
      const span = tracer.startSpan("tools/call", { kind: api.SpanKind.SERVER }, parent);
      return {
        traceId: span.spanContext().traceId,
        end: (tool, errorCode) => {
          span.updateName(`call ${tool}`);
          span.setAttribute("llmc.tool", tool);
          if (errorCode !== undefined) {
            span.setAttribute("error.type", errorCode);
            span.setStatus({ code: api.SpanStatusCode.ERROR });
          }
          span.end();
        },
      };
    },
    flush: () => provider.forceFlush(),
  };
};
