import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { FetchLikeMcpHandler } from "@modelcontextprotocol/node";
import {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerFactory,
  fastify,
} from "fastify";
import { LlmcError, renderForHttp } from "../base/error.ts";
import type { Core } from "../core/core.ts";
import type { AuthSettings } from "./auth/authenticate.ts";
import { createOpenConnections, hasLostRights } from "./auth/revocation.ts";
import type { Identity, Token } from "./auth/token-registry.ts";
import { type ConcurrencyLimits, createConcurrencyLimiter } from "./limits/concurrency-limiter.ts";
import { createGuessLimiter } from "./limits/guess-limiter.ts";
import type { RateLimit, RateLimiter } from "./limits/rate-limiter.ts";
import { createAuthorizer, type RefusalReason } from "./middleware/authorize.ts";
import type { Proxies } from "./middleware/client-address.ts";
import { createErrorHandler, renderParserError, unsupported } from "./requests/errors.ts";
import { createInFlightRequests, type InFlightRequests } from "./requests/in-flight.ts";
import type { HttpInput } from "./requests/input.ts";
import { callerOf, correlationIdOf } from "./requests/origin.ts";
import { parseTarget } from "./requests/target.ts";
import { type AgentPort, addAgentRoute } from "./routes/agent.ts";
import type { RouteContext } from "./routes/context.ts";
import { addDescriptionRoutes } from "./routes/description.ts";
import { addHealthRoutes, type Page } from "./routes/health.ts";
import { addInvokeRoute } from "./routes/invoke.ts";
import { addMcpRoute } from "./routes/mcp.ts";
import { addRagRoutes, type BootloadPort } from "./routes/rag.ts";
import { addToolRoute } from "./routes/tool.ts";
import { addWebSocket } from "./routes/web-socket.ts";

export interface HttpParts {
  readonly core: Core;
  readonly version: string;
  readonly mcp: FetchLikeMcpHandler;
  readonly bootload: BootloadPort;
  readonly agent: AgentPort;
  readonly metrics: () => Promise<Page>;
  readonly metricsPath: string | undefined;
  readonly metricsOpen: boolean;
  readonly auth: () => AuthSettings;
  readonly tokens: () => readonly Token[];
  readonly allowedHosts: readonly string[];
  /** Proxies whose X-Forwarded-For is trusted. */
  readonly proxies: Proxies;
  readonly scheme: "http" | "https";
  /** Where requests come from. */
  readonly input: HttpInput;
  readonly maxRequestBytes: number;
  readonly rates: RateLimiter;
  readonly rateLimit: () => RateLimit;
  readonly concurrencyLimits: () => ConcurrencyLimits;
  readonly wrongTokensPerMinute: () => number;
  readonly newId: () => string;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
  /** Only the host room opens sockets. */
  readonly serverFactory: FastifyServerFactory;
  readonly onRefused: (reason: RefusalReason, fields: Readonly<Record<string, string>>) => void;
  readonly onAnswered: (route: string, status: number, durationMs: number, correlationId: string) => void;
  readonly onInternalError: (error: LlmcError, correlationId: string) => void;
}

export interface HttpServer {
  readonly app: FastifyInstance;
  readonly inFlight: InFlightRequests;
  closeSockets(): void;
  /** Call it when the tokens have changed: ends the requests and connections of tokens that were revoked or lost a scope. */
  enforceTokens(): void;
}

/** The status in the metrics for a request whose client left before the answer. It is never sent. */
const CLIENT_GONE = 499;

/** The check of the host and the routes see the same target. */
const takeTarget = ({
  url,
  headers,
}: {
  url?: string | undefined;
  readonly headers: IncomingHttpHeaders;
}): string => {
  const { path, host = headers.host } = parseTarget(url);
  if (host !== undefined) headers.host = host;
  return path;
};

const createFastify = (parts: HttpParts): FastifyInstance =>
  fastify({
    serverFactory: parts.serverFactory,
    genReqId: ({ headers }) => correlationIdOf(headers) ?? parts.newId(),
    requestIdHeader: false,
    rewriteUrl: takeTarget,
    routerOptions: { ignoreTrailingSlash: false },
    clientErrorHandler: (error, socket) => {
      if (socket.writable && error.code !== "ECONNRESET")
        socket.write(renderParserError(error.code, parts.newId()));
      socket.destroy(error);
    },
    frameworkErrors: (_error, { id }, reply: FastifyReply) => {
      reply.code(422).send(renderForHttp(new LlmcError("invalid_args", "The URL is malformed."), id));
    },
    logger: false,
  });

/** Compressed bodies are refused, so none can be a decompression bomb. */
const refuseCompressed = ({ "content-encoding": encoding }: IncomingHttpHeaders): void => {
  if (encoding !== undefined && encoding !== "identity")
    throw unsupported("Compressed request bodies are not supported.");
};

/** Accepts only JSON, and checks its nesting and size before it is parsed. */
const acceptOnlyJson = (app: FastifyInstance, { input, maxRequestBytes }: HttpParts): void => {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", (_request: FastifyRequest, payload: IncomingMessage) =>
    input.readBody(payload, maxRequestBytes),
  );
};

/** The middleware of every request: security headers, bookkeeping, and the one decision whether it is served. */
const addMiddleware = (parts: HttpParts, { app, authorizer, inFlight: requests }: RouteContext): void => {
  app.decorateRequest("inFlight");
  app.addHook("onRequest", async (request, reply) => {
    const startedAt = parts.now();
    const inFlight = requests.begin(request.id);
    request.inFlight = inFlight;
    reply.header("x-correlation-id", request.id);
    reply.header("x-content-type-options", "nosniff");
    reply.header("cache-control", "no-store");
    // Read once, because Fastify builds these options anew each time.
    const { url: route = "other", config } = request.routeOptions;
    const { raw } = reply;
    // Emitted exactly once; `once` itself would cost more.
    raw.on("close", () => {
      const isComplete = raw.writableFinished;
      inFlight.end(!isComplete);
      parts.onAnswered(route, isComplete ? raw.statusCode : CLIENT_GONE, parts.now() - startedAt, request.id);
    });
    if (requests.isDraining()) reply.header("connection", "close");
    await authorizer.authorize(request.raw, inFlight, config);
    refuseCompressed(request.headers);
  });
};

const addNotFound = (app: FastifyInstance): void => {
  const methods = new Map<string, string[]>();
  app.addHook("onRoute", ({ url, method }) => {
    methods.set(url, [...(methods.get(url) ?? []), ...(Array.isArray(method) ? method : [method])]);
  });
  app.setNotFoundHandler((request, reply) => {
    const others = methods.get(request.url.split("?", 1)[0] ?? "");
    if (others !== undefined) {
      const error = new LlmcError("invalid_args", `This path accepts only ${others.join(", ")}.`);
      return reply.code(405).header("allow", others.join(", ")).send(renderForHttp(error, request.id));
    }
    const error = new LlmcError("resource_not_found", "There is nothing at this path.", {
      hint: "GET /openapi.json lists the endpoints.",
    });
    return reply.code(404).send(renderForHttp(error, request.id));
  });
};

/** Builds the server with all its routes, without listening. */
export const createHttpServer = (parts: HttpParts): HttpServer => {
  const app = createFastify(parts);
  const inFlight = createInFlightRequests();
  const guesses = createGuessLimiter(parts.now, parts.wrongTokensPerMinute);
  const context: RouteContext = {
    app,
    core: parts.core,
    inFlight,
    connections: createOpenConnections(),
    concurrency: createConcurrencyLimiter(parts.concurrencyLimits, (tokenName, correlationId) =>
      parts.onRefused("lane", { token_name: tokenName, correlation_id: correlationId }),
    ),
    authorizer: createAuthorizer({
      ...parts,
      inFlight,
      guesses,
      permit: (action, identity) =>
        parts.core.authorizeEndpoint(action, callerOf(parts.core.settings(), identity)),
    }),
    newId: parts.newId,
    onInternalError: parts.onInternalError,
  };
  addNotFound(app);
  acceptOnlyJson(app, parts);
  addMiddleware(parts, context);
  app.setErrorHandler(
    createErrorHandler(parts.onInternalError, ({ id, inFlight: { identity } }) =>
      parts.onRefused("malformed", { ...(identity && { token_name: identity.name }), correlation_id: id }),
    ),
  );

  addHealthRoutes(context, parts);
  addToolRoute(context);
  addInvokeRoute(context);
  addAgentRoute(context, parts.agent);
  addRagRoutes(context, parts.bootload);
  addMcpRoute(context, parts.mcp, parts.maxRequestBytes);
  addDescriptionRoutes(context, parts);
  const closeSockets = addWebSocket(context, {
    server: app.server,
    maxRequestBytes: parts.maxRequestBytes,
    input: parts.input,
  });
  const enforceTokens = (): void => {
    const isRevoked = (identity: Identity): boolean =>
      parts.auth().mode === "token" && hasLostRights(identity, parts.tokens());
    inFlight.abortWhere(isRevoked);
    context.connections.endWhere(isRevoked);
  };
  return { app, inFlight, closeSockets, enforceTokens };
};
