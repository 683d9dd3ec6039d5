// The yardstick for HTTP: one Fastify route with the schema of /tool, a log line and metrics for each request, and
// nothing else; written as anybody would write it.
import { fastify } from "fastify";
import { destination, pino } from "pino";
import { Counter, Histogram } from "prom-client";

const requests = new Counter({ name: "requests_total", help: "Requests.", labelNames: ["route", "status"] });
const seconds = new Histogram({ name: "duration_seconds", help: "Time.", labelNames: ["route"] });

const app = fastify({
  loggerInstance: pino(destination({ fd: 2, sync: false })),
  disableRequestLogging: true,
});

app.addHook("onResponse", (request, reply, done) => {
  const route = request.routeOptions.url ?? "other";
  requests.inc({ route, status: reply.statusCode });
  seconds.observe({ route }, reply.elapsedTime / 1000);
  request.log.info({ route, status: reply.statusCode, duration_ms: reply.elapsedTime }, "request");
  done();
});

app.get("/health", async () => ({ ok: true, version: "v0" }));

app.post(
  "/tool",
  {
    schema: {
      body: {
        type: "object",
        required: ["session_id", "name"],
        additionalProperties: false,
        properties: {
          session_id: { type: "string", minLength: 1, maxLength: 200 },
          name: { type: "string", minLength: 1, maxLength: 200 },
          args: { type: "object", default: {} },
        },
      },
    },
  },
  async () => ({ data: "ok", meta: { truncated: false } }),
);

await app.listen({ host: "127.0.0.1", port: 0 });
process.stdout.write(`http://127.0.0.1:${app.server.address().port}/mcp\n`);
