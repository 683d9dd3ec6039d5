import type { RequestListener, Server } from "node:http";
import { toLlmcError } from "../base/error.ts";
import { connectTo } from "../host/net/link-sockets.ts";
import { createPassedOnServer, type ServerLimits } from "../host/net/listen.ts";
import { holdPort } from "../host/net/passed-listener.ts";
import { isFrontOf } from "../host/net/private-socket.ts";
import { makeSocketFolder, removeSocketFolder } from "../host/net/socket-folder.ts";
import { newKey } from "../host/os/lazy-builtins.ts";
import { createPassedOnInput } from "../http/requests/input.ts";
import type { HttpParts } from "../http/server.ts";
import { createFrontConnections } from "../link/front-connections.ts";
import type { FrontChild } from "../link/front-process.ts";
import { CORE_KEEP_ALIVE_MS } from "../link/http-exchange.ts";
import { superviseHttpFronts } from "../link/http-fronts.ts";
import { answerGreeting } from "../link/http-link.ts";
import type { FrontHello, HttpFrontHello, HttpFrontSettings } from "../link/relay-records.ts";
import { openedOutside } from "./air-gap.ts";
import type { App, AppRequest } from "./app.ts";
import {
  compileFront,
  createFrontStarter,
  GROWN,
  LINK_LISTENER,
  MIN_HEAP_MB,
  PUBLIC_LISTENER,
} from "./front-programs.ts";
import { addPartGauges } from "./health-probes.ts";
import { isSplitWanted, sandboxWanted } from "./sandbox-wanted.ts";

/** For greetings, and for requests that end while others begin. */
const FURTHER_CONNECTIONS = 16;
/** Pipes, listeners, what Node opens for itself, and connections that are being closed. */
const FURTHER_DESCRIPTORS = 128;
const MIB = 1024 * 1024;
/** Of objects, for a body of one byte: its text, its objects, and its text again. */
const HEAP_PER_BYTE = 8;
/** The part of its memory that bodies may take while they are read. */
const BODY_SHARE = 1 / 8;

type Mcp = ReturnType<App["config"]["current"]>["config"]["mcp"];

export const serverLimits = ({ server, limits, tools }: Mcp): ServerLimits => ({
  maxHeaderBytes: limits.max_header_bytes,
  maxConnections: server.max_connections,
  headersTimeoutMs: limits.header_timeout_seconds * 1000,
  requestTimeoutMs: limits.body_timeout_seconds * 1000,
  idleTimeoutMs: Math.min(tools.idle_timeout, limits.idle_timeout_seconds) * 1000,
});

/** A front may have that many, and two descriptors for each of its clients. */
const linkConnections = ({ server }: Mcp): number => server.max_connections + FURTHER_CONNECTIONS;
const descriptors = (mcp: Mcp): number =>
  mcp.server.max_connections + linkConnections(mcp) + FURTHER_DESCRIPTORS;

/** Of all bodies that are being read. */
export const maxBodyBytes = ({ limits, max_memory_mb: memoryMb }: Mcp): number =>
  Math.max(2 * limits.max_request_bytes, BODY_SHARE * memoryMb * MIB);

/** The port that clients connect to, which in an air gap was opened before, outside. */
const openPort = async ({ server }: Mcp, env: AppRequest["env"]) => {
  const opened = openedOutside(env)?.http;
  if (opened === undefined) return { ...(await holdPort(server)), passedOnBy: undefined };
  const { descriptor, port, secret } = opened;
  return { descriptor, port, close: () => {}, passedOnBy: { port, secret } };
};

/** Made for each front anew: it may be started because a setting has changed. */
const helloOf = (
  front: number,
  mcp: Mcp,
  token: string,
  passedOnBy: HttpFrontHello["passedOnBy"],
): FrontHello => ({
  front,
  session: "",
  listener: LINK_LISTENER,
  token,
  stateKey: "",
  seen: "",
  http: {
    listener: PUBLIC_LISTENER,
    passedOnBy,
    limits: serverLimits(mcp),
    maxRequestBytes: mcp.limits.max_request_bytes,
    maxBodyBytes: maxBodyBytes(mcp),
  },
});

/** For a front that only loads its code. */
const loadingOnly = ({ http, ...hello }: FrontHello): FrontHello => ({
  ...hello,
  listener: null,
  ...(http && { http: { ...http, listener: null } }),
});

/** What the server accepts instead of connections of clients: those that it has opened to its fronts. */
const acceptFromFronts = (app: App, token: string) => {
  const mcp = (): Mcp => app.config.current().config.mcp;
  const { input, admit, expectsAsking } = createPassedOnInput(maxBodyBytes(mcp()));
  /** Those that were started before there was a server. */
  const waiting: FrontChild[] = [];
  let fronts: ReturnType<typeof createFrontConnections> | undefined;
  let isServing = false;
  let close = (): void => {};
  const serverFactory = (given: unknown): Server => {
    const handler = given as RequestListener;
    const server = createPassedOnServer(
      (request, response) => {
        const isOfFront = fronts?.use(request.socket) === true;
        if (isOfFront && admit(request)) handler(request, response);
        else if (!isOfFront || !answerGreeting(request, response)) request.socket.destroy();
      },
      {
        ...serverLimits(mcp()),
        // The fronts are bounded by what may be opened to each.
        maxConnections: Number.POSITIVE_INFINITY,
        idleTimeoutMs: CORE_KEEP_ALIVE_MS,
      },
    );
    server.on("checkContinue", (request, response) => {
      expectsAsking(request, response);
      server.emit("request", request, response);
    });
    server.prependListener("upgrade", (request, socket) => {
      if (fronts?.use(request.socket) !== true || !admit(request)) socket.destroy();
    });
    fronts = createFrontConnections({
      server,
      token,
      connect: connectTo,
      isFront: (socket, front) => isFrontOf(socket, front, "us"),
      maxConnections: () => linkConnections(mcp()),
      onRefused: (reason) => app.observer.log.warn({ reason }, "a connection to a front was refused"),
    });
    close = () => {
      fronts?.close();
      server.close();
    };
    return server;
  };
  return {
    parts: { input, serverFactory } satisfies Pick<HttpParts, "input" | "serverFactory">,
    connectTo: (child: FrontChild): void => {
      if (isServing) fronts?.add(child.pid ?? 0, child.socketPath);
      else waiting.push(child);
    },
    /** From now on fronts are answered. */
    serve: (): void => {
      isServing = true;
      for (const { pid = 0, socketPath } of waiting.splice(0)) fronts?.add(pid, socketPath);
    },
    close: (): void => close(),
  };
};

const startFirst = async (
  app: App,
  start: (front: number) => Promise<FrontChild>,
  isRequired: boolean,
): Promise<FrontChild | undefined> => {
  try {
    return await start(1);
  } catch (thrown) {
    if (isRequired) throw thrown;
    const { message, hint = "" } = toLlmcError(thrown);
    app.observer.log.warn({}, `everything runs in one process, without a sandbox: ${message} ${hint}`);
    return undefined;
  }
};

/**
 * Starts what parses the requests of HTTP clients as a process of its own, where that is wanted and the machine can;
 * otherwise undefined. The port is held here, and every front inherits it.
 */
export const openHttpFront = async (app: App, { env }: AppRequest) => {
  const loaded = app.config.current();
  const mcp = (): Mcp => app.config.current().config.mcp;
  if (!isSplitWanted(loaded, "HTTP")) return undefined;
  const sandbox = sandboxWanted(loaded);
  await using opened = new AsyncDisposableStack();
  const port = await openPort(mcp(), env);
  opened.defer(port.close);
  const folder = makeSocketFolder(env["XDG_RUNTIME_DIR"]);
  opened.defer(() => removeSocketFolder(folder));
  const startFront = createFrontStarter({
    env,
    sandbox,
    folder,
    memoryMb: () => mcp().max_memory_mb,
    heapMb: () => MIN_HEAP_MB + Math.ceil((HEAP_PER_BYTE * mcp().limits.max_request_bytes) / MIB),
    descriptors: descriptors(mcp()),
    publicListener: port.descriptor,
    onStderr: (text) => app.observer.log.warn({ front: text }, "from the front"),
  });
  const firstFront = await startFirst(app, startFront, sandbox === "required");
  if (firstFront === undefined) return undefined;
  opened.defer(() => firstFront.kill());
  if (sandbox === "off")
    app.observer.log.warn({}, "mcp.sandbox_enabled is false: what parses input is not sandboxed");
  const token = Buffer.from(newKey()).toString("base64url");
  const link = acceptFromFronts(app, token);
  const hello = (front: number): FrontHello => helloOf(front, mcp(), token, port.passedOnBy);
  opened.defer(link.close);
  const fronts = superviseHttpFronts({
    start: (front) => (front === 1 ? Promise.resolve(firstFront) : startFront(front)),
    hello: (front) => JSON.stringify(hello(front)),
    settings: () =>
      JSON.stringify({ tokenHeader: mcp().auth.header.toLowerCase() } satisfies HttpFrontSettings),
    onStarted: link.connectTo,
    maxSize: () => ({
      residentBytes: GROWN * mcp().max_memory_mb * MIB,
      descriptors: descriptors(mcp()) - FURTHER_DESCRIPTORS / 2,
    }),
    log: (text) => app.observer.log.info({}, text),
  });
  opened.defer(fronts.stop);
  const resources = opened.move();

  /** Begins to accept clients; resolves to the port. */
  const serve = async () => {
    link.serve();
    try {
      await fronts.ready;
    } catch (thrown) {
      await resources.disposeAsync();
      throw thrown;
    }
    let memoryMb = mcp().max_memory_mb;
    app.config.onChange(() => {
      fronts.publish();
      if (memoryMb !== mcp().max_memory_mb) fronts.replace();
      memoryMb = mcp().max_memory_mb;
    });
    addPartGauges(app.metrics, () => ({ front: fronts.pid() ?? 0 }));
    if (sandbox !== "off") compileFront(env, loadingOnly(hello(2)));
    return { port: port.port, replace: fronts.replace };
  };
  return {
    parts: link.parts,
    connections: fronts.connections,
    serve,
    close: (): Promise<void> => {
      // Whoever comes now is refused by the kernel, and not left waiting.
      port.close();
      return resources.disposeAsync();
    },
  };
};

export type HttpFront = NonNullable<Awaited<ReturnType<typeof openHttpFront>>>;
