import type { RequestListener, Server } from "node:http";
import type { Io } from "../cli/io.ts";
import type { ListenOptions } from "../host/net/listen.ts";
import type { KeyPair } from "../host/os/key-pair.ts";
import { createDirectInput } from "../http/requests/input.ts";
import type { HttpParts, HttpServer } from "../http/server.ts";
import { describeCause } from "../observe/cause.ts";
import { createAgentPort, followAgentModel } from "./agent-wiring.ts";
import { openedOutside } from "./air-gap.ts";
import { type App, type AppRequest, createApp } from "./app.ts";
import { addConnectionGauge } from "./health-probes.ts";
import { type HttpFront, maxBodyBytes, openHttpFront, serverLimits } from "./http-split.ts";
import { followRevocations, followTokens, hotParts, openRateLimiter, openTls } from "./http-wiring.ts";
import { openInvokeSocket } from "./invoke-socket.ts";
import { unmetSplit } from "./sandbox-wanted.ts";
import { mcpPartsOf } from "./serve.ts";
import { preload, refuseDisabled, surviveStrays, untilStopped } from "./serving.ts";
import type { Signals } from "./signals.ts";
import { tokenOf } from "./token-file.ts";
import { VERSION } from "./version.ts";
import { metricsPathOf, ownNameOf, welcome } from "./welcome.ts";

/** Milliseconds for connections with an unread answer, once all work has ended. */
const CLOSE_MS = 2000;
/** Milliseconds in which requests that were on their way get a 503 instead of a closed connection. */
const LINGER_MS = 250;

interface Drained extends Pick<HttpServer, "app" | "inFlight" | "closeSockets"> {
  readonly front: HttpFront | undefined;
  readonly closeMcp: () => Promise<void>;
}

/** Lets running calls finish and refuses new ones; after the time limit, ends what still runs. */
const drain = async (
  app: App,
  { app: http, inFlight, closeSockets, front, closeMcp }: Drained,
  signals: Signals,
): Promise<void> => {
  const limitMs = app.config.current().config.mcp.server.drain_timeout_seconds * 1000;
  inFlight.startDraining();
  app.observer.log.info({ under_way: inFlight.count() }, "stopping");
  const linger = new Promise((done) => setTimeout(done, Math.min(LINGER_MS, limitMs)));
  const limit = setTimeout(() => {
    app.observer.log.warn(
      { under_way: inFlight.count() },
      "the drain timeout has passed; remaining calls are aborted",
    );
    inFlight.abortAll();
  }, limitMs);
  // Whoever says it twice is in a hurry.
  signals.onStop(() => inFlight.abortAll());
  await Promise.all([inFlight.idle(), linger]);
  clearTimeout(limit);
  closeSockets();
  const { closeServer } = await import("../host/net/listen.ts");
  // Without one, the server itself has the connections of clients.
  const closed = front?.close() ?? closeServer(http.server, CLOSE_MS);
  await closeMcp();
  await closed;
};

interface HttpServeRequest {
  readonly app: AppRequest;
  readonly io: Io;
  readonly signals: Signals;
  readonly generateToken: boolean;
  /** How to call this program again, for the hints. */
  readonly command: string;
}

/** What is recorded of requests: metrics and log lines, never their content. */
const recordsOf = (app: App): Pick<HttpParts, "onRefused" | "onAnswered" | "onInternalError"> => {
  const { log } = app.observer;
  return {
    onRefused: (reason, fields) => {
      if (reason === "auth") app.metrics.countAuthFailure();
      else app.metrics.countDrop(reason);
      app.refusals.record(reason, { transport: "http", ...fields });
    },
    onAnswered: (route, status, durationMs, correlationId) => {
      app.metrics.recordRequest(route, status, durationMs);
      log.debug(
        () => ({
          correlation_id: correlationId,
          route,
          status,
          duration_ms: Math.round(durationMs * 1000) / 1000,
        }),
        "request",
      );
    },
    onInternalError: (error, correlationId) =>
      log.error({ correlation_id: correlationId, ...describeCause(error.cause) }, "request failed"),
  };
};

/** What the server reads from the configuration at its start. */
const startParts = async (app: App) => {
  const { createProxies } = await import("../host/net/proxies.ts");
  const { mcp } = app.config.current().config;
  return {
    metricsPath: metricsPathOf(app),
    metricsOpen: mcp.auth.metrics_open,
    allowedHosts: mcp.server.allowed_hosts,
    proxies: createProxies(mcp.server.trusted_proxies),
    scheme: mcp.server.tls_enabled ? ("https" as const) : ("http" as const),
    maxRequestBytes: mcp.limits.max_request_bytes,
  };
};

/** Where requests come from, where everything runs in one process. */
const directParts = async (app: App, keyPair: KeyPair | undefined) => {
  const { createHttpServer } = await import("../host/net/listen.ts");
  const { mcp } = app.config.current().config;
  const limits = serverLimits(mcp);
  return {
    input: createDirectInput(maxBodyBytes(mcp)),
    serverFactory: (handler: unknown) => createHttpServer(handler as RequestListener, limits, keyPair),
  };
};

/** The port, which in an air gap was opened before, outside. */
const openedPort = async (server: Server, wanted: ListenOptions, env: AppRequest["env"]): Promise<number> => {
  const opened = openedOutside(env)?.http;
  if (opened === undefined) return (await import("../host/net/listen.ts")).listen(server, wanted);
  return (await import("../host/air-gap/accept-passed-on.ts")).acceptPassedOn(server, opened);
};

/** Begins to accept clients; gives the address that they and people use. */
const accept = async (
  app: App,
  server: Server,
  front: HttpFront | undefined,
  { app: request, signals }: HttpServeRequest,
): Promise<string> => {
  const { host, port: wanted, tls_enabled: isTls } = app.config.current().config.mcp.server;
  const served = await front?.serve();
  // By what is installed now; if that is not well, the one that is there stays.
  if (served !== undefined) signals.onReload(served.replace);
  const port = served?.port ?? (await openedPort(server, { host, port: wanted }, request.env));
  const fields = { version: VERSION, host, port, mode: app.core.settings().mode };
  // At a terminal the banner says it.
  app.observer.log[request.stderr.isTerminal ? "debug" : "info"](fields, "serving on HTTP");
  const name = ownNameOf(host);
  return `${isTls ? "https" : "http"}://${name.includes(":") ? `[${name}]` : name}:${port}`;
};

export const serveHttp = async (start: HttpServeRequest): Promise<void> => {
  const { app: request, io, signals, generateToken, command } = start;
  const app = await createApp(request);
  refuseDisabled(app);
  const unmet = unmetSplit(app.config.current());
  if (unmet !== undefined) app.observer.log.warn({}, unmet);
  surviveStrays(app, signals);
  const { server, limits, auth } = app.config.current().config.mcp;
  const found = await tokenOf(request, auth.token_env, generateToken ? "make" : "unused");
  if (found.token !== undefined) app.secrets.add("the server's token", found.token);
  const tokens = await followTokens(app, found, request.env);
  const tls = await openTls(app, server);
  const rates = await openRateLimiter(app, limits.state_url);
  // The front is loaded while this process loads what it serves.
  const [front, { createHttpServer }, { createMcpHttp }] = await Promise.all([
    openHttpFront(app, request),
    import("../http/server.ts"),
    import("../mcp/http.ts"),
  ]);
  const { core, newId, now, metrics } = app;
  const mcp = createMcpHttp({
    ...mcpPartsOf(app),
    newId,
    now,
    onError: (error) => app.observer.log.warn(describeCause(error), "request refused"),
  });
  const http = createHttpServer({
    ...hotParts(app),
    ...(await startParts(app)),
    ...(front?.parts ?? (await directParts(app, tls?.keyPair))),
    ...recordsOf(app),
    core,
    version: VERSION,
    mcp,
    bootload: async (sessionId, taskId, signal) =>
      (await app.engines()).retrieval.bootload({ sessionId, taskId }, signal),
    agent: createAgentPort(app, request.env),
    tokens: tokens.current,
    metrics: await metrics.servePrometheus(),
    rates,
    newId,
    now,
  });
  addConnectionGauge(metrics, http.app.server, front?.connections);
  followRevocations(app, tokens, http, mcp.dropSessionsOf);
  preload(app);
  followAgentModel(app, request.env);
  await http.app.ready();
  // Before the port opens: a signal without a listener ends the process at once.
  const stopped = untilStopped(app, signals);
  const url = await accept(app, http.app.server, front, start);
  const stopFollowing = tls?.follow(http.app.server);
  const closeSocket = await openInvokeSocket(app, request.env);
  io.out(await welcome(app, { url, tokens: tokens.current(), command }));
  await stopped;
  closeSocket();
  await drain(app, { ...http, front, closeMcp: mcp.close }, signals);
  stopFollowing?.();
  await rates.close();
  await app.close();
};
