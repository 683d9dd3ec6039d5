import type { Server } from "node:http";
import { acceptPassedOn } from "../host/air-gap/accept-passed-on.ts";
import { acceptInherited } from "../host/net/link-sockets.ts";
import { closeServer, createHttpServer } from "../host/net/listen.ts";
import { newId } from "../host/os/lazy-builtins.ts";
import { type ForwardParts, forward } from "../http/front/forward.ts";
import { createSocketForwarder } from "../http/front/forward-socket.ts";
import { renderParserError } from "../http/requests/errors.ts";
import { createByteBudget } from "../link/byte-budget.ts";
import { createCoreConnections } from "../link/core-connections.ts";
import { createHttpExchange, type HttpExchange } from "../link/http-exchange.ts";
import type { FrontHello, HttpFrontHello, HttpFrontSettings, RelayRecord } from "../link/relay-records.ts";
import type { RecordWriter } from "./record-writer.ts";

/** How often the number of connections is reported at the most. */
const REPORT_MS = 500;
const RETRY_MS = 50;
/** The core ends a front that takes longer. */
const MAX_DRAIN_MS = 60_000;

/** The server that clients speak to: everything that it accepts is rewritten and passed on. */
const createPublicServer = (
  http: HttpFrontHello,
  exchange: HttpExchange,
  { tokenHeader, isClosing }: Pick<ForwardParts, "tokenHeader" | "isClosing">,
): Server => {
  const parts = {
    exchange,
    tokenHeader,
    isClosing,
    maxRequestBytes: http.maxRequestBytes,
    bodies: createByteBudget(http.maxBodyBytes),
    newId,
  };
  const server = createHttpServer(
    (request, response) => forward(request, response, parts),
    http.limits,
    undefined,
  );
  const forwardSocket = createSocketForwarder(parts);
  server.on("upgrade", (request, stream, head) => void forwardSocket(request, stream, head));
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    if (socket.writable && error.code !== "ECONNRESET") socket.write(renderParserError(error.code, newId()));
    socket.destroy(error);
  });
  return server;
};

/** Says how many clients are connected: the first change at once, the ones after it together. */
const reportConnections = (server: Server, { send }: RecordWriter): (() => void) => {
  let [open, reported] = [0, 0];
  let timer: NodeJS.Timeout | undefined;
  const report = (): void => {
    timer = undefined;
    if (open === reported) return;
    reported = open;
    timer = setTimeout(report, REPORT_MS).unref();
    void send("S", [open]);
  };
  const change = (by: 1 | -1): void => {
    open += by;
    if (timer === undefined) report();
  };
  server.on("connection", (socket) => {
    change(1);
    socket.once("close", () => change(-1));
  });
  return () => clearTimeout(timer);
};

const openPublic = async (server: Server, { listener, passedOnBy }: HttpFrontHello): Promise<void> => {
  if (listener === null) return;
  if (passedOnBy !== undefined) await acceptPassedOn(server, { ...passedOnBy, descriptor: listener });
  else
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject).listen({ fd: listener }, resolve);
    });
};

/** A front over HTTP: it accepts clients as soon as it can speak to the core. */
export const openHttpFrontDoor = (hello: FrontHello, http: HttpFrontHello, writer: RecordWriter) => {
  let settings: HttpFrontSettings = { tokenHeader: "" };
  let isClosing = false;
  const connections = createCoreConnections(hello.token);
  const stopLink =
    hello.listener === null ? () => {} : acceptInherited(hello.listener, connections.add, () => {});
  const exchange = createHttpExchange({
    connect: connections.take,
    maxConnections: http.limits.maxConnections,
  });
  const server = createPublicServer(http, exchange, {
    tokenHeader: () => settings.tokenHeader,
    isClosing: () => isClosing,
  });
  const stopReports = reportConnections(server, writer);
  const open = Promise.withResolvers<undefined>();

  const meet = async (generation: number): Promise<void> => {
    let fits: boolean;
    try {
      fits = await exchange.greet();
    } catch {
      if (!isClosing) setTimeout(() => void meet(generation), RETRY_MS);
      return;
    }
    if (!fits) {
      await writer.send("F", []);
      return;
    }
    await writer.send("O", [generation]);
    await openPublic(server, http);
    open.resolve(undefined);
  };

  return {
    take: ({ kind, fields, payload }: RelayRecord): void => {
      if (kind === "U") void meet(Number(fields[0]));
      else if (kind === "C") settings = JSON.parse(payload.toString("utf8")) as HttpFrontSettings;
      else if (kind === "P") void open.promise.then(() => writer.send("H", []));
    },
    /** Accepts nobody any more, and lets what is under way finish; the core says how long that may take. */
    close: async (): Promise<void> => {
      isClosing = true;
      await closeServer(server, MAX_DRAIN_MS);
      stopReports();
      stopLink();
      exchange.close();
      connections.close();
    },
  };
};
