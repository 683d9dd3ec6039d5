import type { RequestListener, Server } from "node:http";
import type { Io } from "../cli/io.ts";
import { createRefusalLog } from "../http/refusal-log.ts";
import type { HttpServer } from "../http/server.ts";
import { describeCause } from "../observe/cause.ts";
import { createAgentPort, followAgentModel } from "./agent-wiring.ts";
import { type App, type AppRequest, createApp } from "./app.ts";
import { followRevocations, followTokens, hotParts, openRateLimiter, openTls } from "./http-wiring.ts";
import { mcpPartsOf, preload, refuseDisabled, surviveStrays, untilSignal } from "./serve.ts";
import { findToken } from "./token-file.ts";
import { VERSION } from "./version.ts";

const welcome = async (
  app: App,
  url: string,
  tokenFile: string | undefined,
  command: string,
): Promise<string> => {
  const [{ modeCost }, { tokenCounter }] = await Promise.all([
    import("../cli/tools-command.ts"),
    import("../host/os/token-counter.ts"),
  ]);
  const { mode } = app.core.settings();
  const { tokens, tools } = await modeCost(app.core, mode, await tokenCounter());
  const { header, token_env: variable, mode: authMode } = app.config.current().config.mcp.auth;
  const secret = tokenFile === undefined ? `$${variable}` : `$(cat ${tokenFile})`;
  const authorization = authMode === "none" ? "" : ` \\\n       -H "${header}: ${secret}"`;
  return [
    `llmc ${VERSION} serves ${app.root}`,
    `  ${url}/mcp   ${mode} mode: ${tools.length} tools, ${tokens} tokens`,
    ...(authMode === "none"
      ? ["  no token is asked for (mcp.auth.mode)"]
      : [`  token: in ${tokenFile ?? variable}, sent as ${header} or Authorization: Bearer`]),
    "",
    "Next:",
    `  is it well?      curl ${url}/health`,
    `  try it:          ${url}/docs in a browser`,
    `  what it counts:  curl ${url}/metrics${authorization}`,
    `  use it from a client over stdio, which needs no server running:`,
    `                   ${command} connect claude-code   (or claude-desktop, cursor, vscode, codex, zed)`,
    `  see the tools:   ${command} tools`,
    `  configure it:    ${command} init`,
    "",
    "",
  ].join("\n");
};

/** Once everything under way has ended, connections that still hold an unread answer have this long, in milliseconds. */
const CLOSE_MS = 2000;
/** For requests that were on their way when the signal came: they get their 503 instead of a closed door. */
const LINGER_MS = 250;

/** In-flight work finishes, new work is refused; at the limit what is left is ended. */
const drain = async (
  app: App,
  { app: http, inFlight, closeSockets }: HttpServer,
  closeMcp: () => Promise<void>,
  closeServer: (server: Server, graceMs: number) => Promise<void>,
): Promise<void> => {
  const limitMs = app.config.current().config.mcp.server.drain_timeout_seconds * 1000;
  inFlight.startDraining();
  app.observer.log.info({ under_way: inFlight.count() }, "stopping");
  const linger = new Promise((done) => setTimeout(done, Math.min(LINGER_MS, limitMs)));
  const limit = setTimeout(() => {
    app.observer.log.warn({ under_way: inFlight.count() }, "calls are ended before they finished");
    inFlight.abortAll();
  }, limitMs);
  const impatient = () => inFlight.abortAll();
  process.once("SIGTERM", impatient);
  process.once("SIGINT", impatient);
  await Promise.all([inFlight.idle(), linger]);
  clearTimeout(limit);
  closeSockets();
  const closed = closeServer(http.server, CLOSE_MS);
  await closeMcp();
  await closed;
};

interface HttpServeRequest {
  readonly app: AppRequest;
  readonly io: Io;
  readonly generateToken: boolean;
  /** How to call this program again, for the hints. */
  readonly command: string;
}

export const serveHttp = async ({
  app: request,
  io,
  generateToken,
  command,
}: HttpServeRequest): Promise<void> => {
  const app = await createApp(request);
  refuseDisabled(app);
  surviveStrays(app);
  const [{ createHttpServer }, { createMcpHttp }, host, { createProxies }] = await Promise.all([
    import("../http/server.ts"),
    import("../mcp/http.ts"),
    import("../host/net/listen.ts"),
    import("../host/net/proxies.ts"),
  ]);
  const { mcp } = app.config.current().config;
  const { server, limits, observability } = mcp;
  const found = await findToken(app, generateToken, request);
  const tokens = await followTokens(app, found.token, request.env);
  const tls = await openTls(app, server);
  const rates = await openRateLimiter(app, limits.state_url);

  const mcpHttp = createMcpHttp({
    ...mcpPartsOf(app),
    newId: app.newId,
    now: app.now,
    onError: (error) => app.observer.log.warn(describeCause(error), "request refused"),
  });
  const logRefusal = createRefusalLog(app.now, app.observer.log);
  const http = createHttpServer({
    ...hotParts(app),
    core: app.core,
    version: VERSION,
    mcp: mcpHttp,
    bootload: async (sessionId, taskId, signal) =>
      (await app.engines()).retrieval.bootload({ sessionId, taskId }, signal),
    agent: createAgentPort(app, request.env),
    tokens: tokens.current,
    metrics: app.metrics.expose,
    metricsPath:
      observability.enabled && observability.metrics_prometheus_enabled
        ? observability.metrics_path
        : undefined,
    metricsOpen: mcp.auth.metrics_open,
    allowedHosts: server.allowed_hosts,
    proxies: createProxies(server.trusted_proxies),
    scheme: server.tls_enabled ? "https" : "http",
    maxRequestBytes: limits.max_request_bytes,
    rates,
    newId: app.newId,
    now: app.now,
    serverFactory: (handler) =>
      host.createHttpServer(
        handler as RequestListener,
        {
          maxHeaderBytes: limits.max_header_bytes,
          maxConnections: server.max_connections,
          headersTimeoutMs: limits.header_timeout_seconds * 1000,
          requestTimeoutMs: limits.body_timeout_seconds * 1000,
          idleTimeoutMs: limits.idle_timeout_seconds * 1000,
        },
        tls?.keyPair,
      ),
    onRefused: (reason, fields) => {
      if (reason === "auth") app.metrics.countAuthFailure();
      else app.metrics.countDrop(reason);
      logRefusal(reason, fields);
    },
    onAnswered: (route, status, durationMs, correlationId) => {
      app.metrics.recordRequest(route, status, durationMs);
      app.observer.log.debug(
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
      app.observer.log.error(
        { correlation_id: correlationId, ...describeCause(error.cause) },
        "request failed",
      ),
  });
  followRevocations(app, tokens, http, mcpHttp.dropSessionsOf);
  preload(app);
  followAgentModel(app, request.env);
  await http.app.ready();
  // Before the door opens: a signal that finds nobody listening for it ends the process at once.
  const told = untilSignal(app);
  const port = await host.listen(http.app.server, { host: server.host, port: server.port });
  const stopFollowing = tls?.follow(http.app.server);
  const shown = server.host.includes(":") ? `[${server.host}]` : server.host;
  const url = `${server.tls_enabled ? "https" : "http"}://${shown}:${port}`;
  io.out(await welcome(app, url, found.file, command));
  app.observer.log.info(
    { version: VERSION, host: server.host, port, mode: app.core.settings().mode },
    "serving on HTTP",
  );

  await told;
  await drain(app, http, mcpHttp.close, host.closeServer);
  stopFollowing?.();
  await rates.close();
  await app.close();
};
