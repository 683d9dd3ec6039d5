import { randomBytes } from "node:crypto";
import type { RequestListener } from "node:http";
import { join } from "node:path";
import { type App, type AppRequest, createApp } from "./app.ts";
import { LlmcError } from "./base/error.ts";
import type { Io } from "./cli/io.ts";
import { claimStdout } from "./host/stdio.ts";
import { createStateCodec } from "./mcp/questions.ts";
import { describeCause } from "./observe/cause.ts";
import { VERSION } from "./version.ts";

/** How long requests under way may take once the program was told to stop, in milliseconds. */
const DRAIN_MS = 10_000;

const mcpPartsOf = (app: App) => ({
  core: app.core,
  version: VERSION,
  codec: createStateCodec(randomBytes(32)),
});

/** Resolves when the program is told to stop. SIGHUP reloads the configuration. */
const untilSignal = (app: App): Promise<void> =>
  new Promise((resolve) => {
    process.once("SIGTERM", () => resolve());
    process.once("SIGINT", () => resolve());
    process.on("SIGHUP", () => void app.config.reload());
  });

/** What a custom module lets slip in a timer or a forgotten promise must not take the session down; it is logged. */
const surviveStrays = ({ observer: { log } }: App): void => {
  process.on("unhandledRejection", (reason) =>
    log.error(describeCause(reason), "a promise was rejected and nobody listened"),
  );
  process.on("uncaughtException", (error) =>
    log.error(describeCause(error), "an exception was thrown and nobody caught it"),
  );
};

const refuseDisabled = (app: App): void => {
  if (!app.config.current().config.mcp.enabled) {
    throw new LlmcError("unavailable", "mcp.enabled is false: the server does not start.", {
      hint: "Set it to true in llmc.toml.",
    });
  }
};

/** Once the client has its tool list there is time: the first call then finds everything loaded. */
const PRELOAD_MS = 300;

/** Also looks after what a killed process left behind. */
const preload = (app: App): void => {
  setTimeout(() => void app.engines().catch(() => {}), PRELOAD_MS).unref();
};

export const serveStdio = async (request: AppRequest): Promise<void> => {
  const { LLMC_PROTOCOL_FD: fd } = request.env;
  const streams = claimStdout(fd === undefined ? undefined : Number(fd));
  const app = await createApp(request);
  refuseDisabled(app);
  surviveStrays(app);
  const { openStdioDoor } = await import("./mcp/stdio.ts");
  const door = openStdioDoor({
    ...mcpPartsOf(app),
    ...streams,
    maxFrameBytes: () => app.config.current().config.mcp.limits.max_frame_bytes,
    newId: app.newId,
    onRefused: (reason) => app.observer.log.warn({ reason }, "message refused"),
    onError: (error) => app.observer.log.warn(describeCause(error), "message refused"),
  });
  app.observer.log.info(
    { version: VERSION, mode: app.core.settings().mode, tools: app.core.listTools().length },
    "serving on stdio",
  );
  preload(app);
  await Promise.race([door.closed, untilSignal(app)]);
  await door.close();
  await app.close();
};

const tokenFile = (root: string): string => join(root, ".llmc", "token");

/** The token from the environment; or, where asked for, one that is made once and kept for the owner's eyes. */
const findToken = async (
  app: App,
  generate: boolean,
  env: AppRequest["env"],
): Promise<string | undefined> => {
  const { token_env: variable } = app.config.current().config.mcp.auth;
  const given = env[variable];
  if (given !== undefined && given !== "") return given;
  if (!generate) return undefined;
  const kept = (await app.disk.readText(tokenFile(app.root)))?.trim();
  if (kept !== undefined && kept.length >= 32) return kept;
  const made = randomBytes(32).toString("base64url");
  await app.disk.writeText(tokenFile(app.root), `${made}\n`, 0o600);
  return made;
};

const welcome = async (app: App, url: string, generated: boolean, command: string): Promise<string> => {
  const { modeCost } = await import("./cli/tools-command.ts");
  const { mode } = app.core.settings();
  const { tokens, tools } = await modeCost(app.core, mode);
  const { header, token_env: variable, mode: authMode } = app.config.current().config.mcp.auth;
  const secret = generated ? `$(cat ${tokenFile(app.root)})` : `$${variable}`;
  const authorization = authMode === "none" ? "" : ` \\\n       -H "${header}: ${secret}"`;
  return [
    `llmc ${VERSION} serves ${app.root}`,
    `  ${url}/mcp   ${mode} mode: ${tools.length} tools, ${tokens} tokens`,
    ...(authMode === "none"
      ? ["  no token is asked for (mcp.auth.mode)"]
      : [
          `  token: ${generated ? `in ${tokenFile(app.root)}` : `in ${variable}`}, sent as ${header} or Authorization: Bearer`,
        ]),
    "",
    "Next:",
    `  is it well?      curl ${url}/health`,
    `  what it counts:  curl ${url}/metrics${authorization}`,
    `  use it from a client over stdio, which needs no server running:`,
    `                   ${command} connect claude-code   (or claude-desktop, cursor, vscode, codex, zed)`,
    `  see the tools:   ${command} tools`,
    `  configure it:    ${command} init`,
    "",
    "",
  ].join("\n");
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
  const [
    { createHttpApp },
    { checkAuthPosture },
    { createMcpHttp },
    { closeServer, createHttpServer, listen },
  ] = await Promise.all([
    import("./http/app.ts"),
    import("./http/auth.ts"),
    import("./mcp/http.ts"),
    import("./host/listen.ts"),
  ]);
  const { mcp } = app.config.current().config;
  const { host } = mcp.server;
  const token = await findToken(app, generateToken, request.env);
  checkAuthPosture({
    mode: mcp.auth.mode,
    host,
    allowUnauthenticated: mcp.auth.allow_unauthenticated,
    tokenEnv: mcp.auth.token_env,
    token,
  });

  const mcpHttp = createMcpHttp({
    ...mcpPartsOf(app),
    newId: app.newId,
    now: app.now,
    onError: (error) => app.observer.log.warn(describeCause(error), "request refused"),
  });
  const exposesMetrics = mcp.observability.enabled && mcp.observability.metrics_prometheus_enabled;
  const http = createHttpApp({
    mcp: mcpHttp,
    health: app.core.health,
    metrics: app.metrics.expose,
    metricsPath: exposesMetrics ? mcp.observability.metrics_path : undefined,
    auth: () => app.config.current().config.mcp.auth,
    token,
    allowedHosts: mcp.server.allowed_hosts,
    maxRequestBytes: mcp.limits.max_request_bytes,
    newId: app.newId,
    serverFactory: (handler) => createHttpServer(handler as RequestListener, mcp.limits.max_header_bytes),
    onAuthFailure: () => {
      app.metrics.countAuthFailure();
      app.observer.log.warn({}, "a request came without the right token");
    },
    onError: (error, correlationId) =>
      app.observer.log.error(
        { correlation_id: correlationId, ...describeCause(error.cause) },
        "request failed",
      ),
  });
  preload(app);
  await http.ready();
  const port = await listen(http.server, { host, port: mcp.server.port });
  const shown = host.includes(":") ? `[${host}]` : host;
  io.out(
    await welcome(
      app,
      `http://${shown}:${port}`,
      generateToken && request.env[mcp.auth.token_env] === undefined,
      command,
    ),
  );
  app.observer.log.info({ version: VERSION, host, port, mode: app.core.settings().mode }, "serving on HTTP");

  await untilSignal(app);
  app.observer.log.info({}, "stopping");
  const drained = closeServer(http.server, DRAIN_MS);
  await mcpHttp.close();
  await drained;
  await app.close();
};
