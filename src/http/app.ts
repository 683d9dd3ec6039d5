import type { IncomingHttpHeaders } from "node:http";
import type { FetchLikeMcpHandler } from "@modelcontextprotocol/node";
import { type FastifyInstance, type FastifyReply, type FastifyServerFactory, fastify } from "fastify";
import { LlmcError, renderForHttp } from "../base/error.ts";
import { parseGuardedBytes } from "../base/json-guard.ts";
import type { Core } from "../core/core.ts";
import { addressOf, type Proxies } from "./address.ts";
import { createAdmission, type Drop } from "./admission.ts";
import type { AuthSettings } from "./auth.ts";
import type { Door } from "./door.ts";
import { createGuesses } from "./guesses.ts";
import { createLanes, type LaneLimits } from "./lanes.ts";
import type { RateLimit, RateStore } from "./rate.ts";
import { createErrorHandler, parserRefusal, unsupported } from "./refusals.ts";
import { type AgentPort, addAgentRoute } from "./routes/agent.ts";
import { addDescriptionRoutes } from "./routes/description.ts";
import { addHealthRoutes, type Page } from "./routes/health.ts";
import { addMcpRoute } from "./routes/mcp.ts";
import { addRagRoutes, type BootloadPort } from "./routes/rag.ts";
import { addToolRoute } from "./routes/tool.ts";
import { createStandings, hasLost } from "./standing.ts";
import { targetOf } from "./target.ts";
import type { Identity, Token } from "./tokens.ts";
import { createVisits, type Visits } from "./visits.ts";
import { addWebSocket } from "./web-socket.ts";

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
  /** Those that are believed about X-Forwarded-For. */
  readonly proxies: Proxies;
  readonly scheme: "http" | "https";
  readonly maxRequestBytes: number;
  readonly rates: RateStore;
  readonly rateLimit: () => RateLimit;
  readonly laneLimits: () => LaneLimits;
  readonly wrongTokensPerMinute: () => number;
  readonly newId: () => string;
  /** Milliseconds that only move forward. */
  readonly now: () => number;
  /** The listener's factory: only the host room opens sockets. */
  readonly serverFactory: FastifyServerFactory;
  readonly onDrop: (why: Drop, fields: Readonly<Record<string, string>>) => void;
  readonly onAnswered: (route: string, status: number, durationMs: number, correlationId: string) => void;
  readonly onInternalError: (error: LlmcError, correlationId: string) => void;
}

export interface HttpApp {
  readonly app: FastifyInstance;
  readonly visits: Visits;
  /** Ends every WebSocket. */
  closeSockets(): void;
  /** The tokens have changed: ends what is open or under way for those that are gone or have lost a scope. */
  enforceTokens(): void;
}

/** What is counted for an answer that its client did not wait for; nobody gets to see it. */
const CLIENT_GONE = 499;

/** Only well-formed ids are taken over from a caller. */
const CORRELATION_ID = /^[A-Za-z0-9._-]{8,64}$/;

const givenId = (...candidates: readonly unknown[]): string | undefined =>
  candidates.find((id): id is string => typeof id === "string" && CORRELATION_ID.test(id));

const createFastify = (parts: HttpParts): FastifyInstance =>
  fastify({
    serverFactory: parts.serverFactory,
    bodyLimit: parts.maxRequestBytes,
    genReqId: ({ headers }) => givenId(headers["x-correlation-id"], headers["x-request-id"]) ?? parts.newId(),
    requestIdHeader: false,
    rewriteUrl: targetOf,
    routerOptions: { ignoreTrailingSlash: false },
    clientErrorHandler: (error, socket) => {
      if (socket.writable && error.code !== "ECONNRESET")
        socket.write(parserRefusal(error.code, parts.newId()));
      socket.destroy(error);
    },
    frameworkErrors: (_error, { id }, reply: FastifyReply) => {
      reply.code(422).send(renderForHttp(new LlmcError("invalid_args", "The address is malformed."), id));
    },
    logger: false,
  });

/** Compressed bodies are not read, so none can be a bomb. */
const refuseCompressed = ({ "content-encoding": encoding }: IncomingHttpHeaders): void => {
  if (encoding !== undefined && encoding !== "identity")
    throw unsupported("Compressed request bodies are not read.");
};

/** JSON alone, checked before it is parsed. */
const takeJsonOnly = (app: FastifyInstance): void => {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, (_request, body, done) => {
    try {
      done(null, parseGuardedBytes(body as Buffer));
    } catch (thrown) {
      done(thrown as Error);
    }
  });
};

const addAdmission = (parts: HttpParts, door: Door, visits: Visits): void => {
  const { app, admission } = door;
  app.decorateRequest("visit");
  app.decorateRequest("identity", undefined);

  app.addHook("onRequest", (request, reply, done) => {
    const startedAt = parts.now();
    const visit = visits.begin();
    request.visit = visit;
    reply.header("x-correlation-id", request.id);
    reply.header("x-content-type-options", "nosniff");
    reply.header("cache-control", "no-store");
    // Fastify puts them together anew each time they are read.
    const { url: route = "other", config } = request.routeOptions;
    const { raw } = reply;
    // Comes once, whatever happens; `once` itself would cost more.
    raw.on("close", () => {
      const isWhole = raw.writableFinished;
      visit.end(!isWhole);
      parts.onAnswered(route, isWhole ? raw.statusCode : CLIENT_GONE, parts.now() - startedAt, request.id);
    });
    try {
      if (visits.isDraining()) reply.header("connection", "close");
      if (config.duringDrain !== true) admission.checkDraining();
      admission.checkPlace(request.raw);
      if (config.open !== true) {
        const identity = admission.identify(
          request.headers,
          addressOf(request.raw, parts.proxies),
          request.raw.socket,
        );
        request.identity = identity;
        visit.identity = identity;
        const charged = admission.charge(identity);
        if (charged instanceof Promise) {
          charged.then(() => refuseCompressed(request.headers)).then(() => done(), done);
          return;
        }
      }
      refuseCompressed(request.headers);
    } catch (thrown) {
      return done(thrown as Error);
    }
    // Outside: what later steps throw is theirs.
    done();
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
      const error = new LlmcError("invalid_args", `This address takes ${others.join(", ")} only.`);
      return reply.code(405).header("allow", others.join(", ")).send(renderForHttp(error, request.id));
    }
    const error = new LlmcError("resource_not_found", "There is nothing at this address.", {
      hint: "GET /openapi.json describes what there is.",
    });
    return reply.code(404).send(renderForHttp(error, request.id));
  });
};

/** The HTTP door. Nothing listens yet. */
export const createHttpApp = (parts: HttpParts): HttpApp => {
  const app = createFastify(parts);
  const visits = createVisits();
  const door: Door = {
    app,
    core: parts.core,
    standings: createStandings(),
    lanes: createLanes(parts.laneLimits, (token) => parts.onDrop("lane", { token })),
    admission: createAdmission({
      ...parts,
      visits,
      guesses: createGuesses(parts.now, parts.wrongTokensPerMinute),
    }),
    onInternalError: parts.onInternalError,
  };
  addNotFound(app);
  takeJsonOnly(app);
  addAdmission(parts, door, visits);
  app.setErrorHandler(createErrorHandler(parts.onInternalError));

  addHealthRoutes(door, { ...parts, isDraining: visits.isDraining });
  addToolRoute(door);
  addAgentRoute(door, parts.agent);
  addRagRoutes(door, parts.bootload);
  addMcpRoute(door, parts.mcp, parts.maxRequestBytes);
  addDescriptionRoutes(door, parts);
  const closeSockets = addWebSocket(door, { ...parts, visits, server: app.server });
  const enforceTokens = (): void => {
    const isLost = (identity: Identity): boolean =>
      parts.auth().mode === "token" && hasLost(identity, parts.tokens());
    visits.abortWhere(isLost);
    door.standings.endWhere(isLost);
  };
  return { app, visits, closeSockets, enforceTokens };
};
