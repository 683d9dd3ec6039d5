import { hostHeaderValidation, originValidation } from "@modelcontextprotocol/fastify";
import { type FetchLikeMcpHandler, toNodeHandler } from "@modelcontextprotocol/node";
import { type FastifyInstance, type FastifyServerFactory, fastify } from "fastify";
import { LlmcError, renderForHttp, toLlmcError } from "../base/error.ts";
import { ERROR_TABLE } from "../base/error-table.ts";
import { parseGuardedBytes } from "../base/json-guard.ts";
import { type AuthSettings, createAuthenticator } from "./auth.ts";

interface HttpParts {
  readonly mcp: FetchLikeMcpHandler;
  readonly health: () => { readonly ok: boolean; readonly version: string };
  readonly metrics: () => Promise<{ readonly contentType: string; readonly body: string }>;
  readonly metricsPath: string | undefined;
  readonly auth: () => AuthSettings;
  readonly token: string | undefined;
  /** Names accepted in Host and Origin, beside loopback. */
  readonly allowedHosts: readonly string[];
  readonly maxRequestBytes: number;
  readonly newId: () => string;
  /** The listener's factory: only the host room opens sockets. */
  readonly serverFactory: FastifyServerFactory;
  readonly onAuthFailure: () => void;
  readonly onError: (error: LlmcError, correlationId: string) => void;
}

const LOOPBACK_NAMES = ["localhost", "127.0.0.1", "[::1]"];
const CORRELATION_ID = /^[A-Za-z0-9._-]{8,64}$/;

/** Fastify's own refusals, in our words. */
const translate = (thrown: unknown): LlmcError => {
  const status =
    typeof thrown === "object" && thrown !== null && "statusCode" in thrown ? thrown.statusCode : undefined;
  if (status === 413)
    return new LlmcError("file_too_large", "The request body is too large.", {
      hint: "Raise mcp.limits.max_request_bytes.",
    });
  if (status === 415) return new LlmcError("invalid_args", "The body must be application/json.");
  if (status === 400) return new LlmcError("invalid_args", "The request is malformed.");
  return toLlmcError(thrown);
};

/** The HTTP door: `/mcp`, `/health` and the metrics. */
export const createHttpApp = (parts: HttpParts): FastifyInstance => {
  const app = fastify({
    serverFactory: parts.serverFactory,
    bodyLimit: parts.maxRequestBytes,
    genReqId: (request) => {
      const given = request.headers["x-correlation-id"];
      return typeof given === "string" && CORRELATION_ID.test(given) ? given : parts.newId();
    },
    requestIdHeader: false,
    logger: false,
  });
  const authenticate = createAuthenticator(parts.auth, parts.token);
  const names = [...LOOPBACK_NAMES, ...parts.allowedHosts];

  app.addHook("onRequest", hostHeaderValidation(names));
  app.addHook("onRequest", originValidation(names));
  app.addHook("onRequest", async (request, reply) => {
    reply.header("x-correlation-id", request.id);
    if (request.routeOptions.url === "/health") return;
    try {
      authenticate(request);
    } catch (thrown) {
      parts.onAuthFailure();
      reply.header("www-authenticate", "Bearer");
      throw thrown;
    }
  });

  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, (_request, body, done) => {
    try {
      done(null, parseGuardedBytes(body as Buffer));
    } catch (thrown) {
      done(thrown as Error);
    }
  });

  app.setErrorHandler((thrown, request, reply) => {
    const error = translate(thrown);
    if (error.code === "internal_error") parts.onError(error, request.id);
    if (request.routeOptions.url === "/mcp" && error.code === "invalid_args") {
      return reply
        .code(400)
        .send({ jsonrpc: "2.0", id: null, error: { code: -32700, message: error.message } });
    }
    return reply.code(ERROR_TABLE[error.code].status).send(renderForHttp(error, request.id));
  });
  app.setNotFoundHandler((request, reply) =>
    reply
      .code(404)
      .send(
        renderForHttp(new LlmcError("resource_not_found", "There is nothing at this address."), request.id),
      ),
  );

  app.get("/health", async () => {
    const { ok, version } = parts.health();
    return { ok, version };
  });

  if (parts.metricsPath !== undefined) {
    app.get(parts.metricsPath, async (_request, reply) => {
      const { contentType, body } = await parts.metrics();
      return reply.type(contentType).send(body);
    });
  }

  const handleMcp = toNodeHandler(parts.mcp, { maxRequestBodySize: parts.maxRequestBytes });
  app.route({
    method: ["GET", "POST", "DELETE"],
    url: "/mcp",
    handler: async (request, reply) => {
      reply.hijack();
      reply.raw.setHeader("x-correlation-id", request.id);
      // The handler reads the id from the request, so that both sides log the same one.
      request.raw.headers["x-correlation-id"] = request.id;
      await handleMcp(request.raw as Parameters<typeof handleMcp>[0], reply.raw, request.body);
    },
  });
  return app;
};
