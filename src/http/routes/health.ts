import type { RouteContext } from "./context.ts";

export interface Page {
  readonly contentType: string;
  readonly body: string;
}

interface HealthParts {
  readonly metrics: () => Promise<Page>;
  /** Undefined: the metrics are not served. */
  readonly metricsPath: string | undefined;
  /** Serve the metrics without a token. */
  readonly metricsOpen: boolean;
}

const ALWAYS = { config: { open: true, duringDrain: true } } as const;

/** `/health`, liveness and readiness, which need no token; and the metrics. */
export const addHealthRoutes = ({ app, core, inFlight }: RouteContext, parts: HealthParts): void => {
  app.get("/health", ALWAYS, async (_request, reply) => {
    const { version, waiting, problems } = core.health();
    const { status } = await core.checkHealth();
    const ok = status !== "unhealthy";
    // Everybody may ask, so only the numbers are given; the tools name keys and checks.
    return reply.code(ok ? 200 : 503).send({
      ok,
      version,
      ...(waiting.length === 0 ? {} : { waiting: waiting.length }),
      ...(problems.length === 0 ? {} : { problems: problems.length }),
    });
  });
  app.get("/health/live", ALWAYS, async () => ({ ok: true }));
  app.get("/health/ready", ALWAYS, async (_request, reply) => {
    const ready = !inFlight.isDraining();
    return reply.code(ready ? 200 : 503).send({ ready });
  });
  if (parts.metricsPath === undefined) return;
  const config = { open: parts.metricsOpen, duringDrain: true, action: "read_metrics" };
  app.get(parts.metricsPath, { config }, async (_request, reply) => {
    const { contentType, body } = await parts.metrics();
    return reply.type(contentType).send(body);
  });
};
