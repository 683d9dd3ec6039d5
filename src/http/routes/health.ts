import { type Door, identityOf } from "../door.ts";
import { refuseScope } from "../tokens.ts";

export interface Page {
  readonly contentType: string;
  readonly body: string;
}

interface HealthParts {
  readonly isDraining: () => boolean;
  readonly metrics: () => Promise<Page>;
  /** Undefined: the metrics are not served. */
  readonly metricsPath: string | undefined;
  /** Serve the metrics to anybody. */
  readonly metricsOpen: boolean;
}

const ALWAYS = { config: { open: true, duringDrain: true } } as const;

/** `/health`, liveness and readiness, which anybody may ask; and the metrics. */
export const addHealthRoutes = ({ app, core }: Door, parts: HealthParts): void => {
  app.get("/health", ALWAYS, async () => {
    const { ok, version, waiting } = core.health();
    // Anybody may ask: the number is enough, the names are for callers of the tool.
    return { ok, version, ...(waiting.length === 0 ? {} : { waiting: waiting.length }) };
  });
  app.get("/health/live", ALWAYS, async () => ({ ok: true }));
  app.get("/health/ready", ALWAYS, async (_request, reply) => {
    const ready = !parts.isDraining();
    return reply.code(ready ? 200 : 503).send({ ready });
  });
  if (parts.metricsPath === undefined) return;
  const config = { open: parts.metricsOpen, duringDrain: true };
  app.get(parts.metricsPath, { config }, async (request, reply) => {
    if (!parts.metricsOpen) refuseScope(identityOf(request), "metrics");
    const { contentType, body } = await parts.metrics();
    return reply.type(contentType).send(body);
  });
};
