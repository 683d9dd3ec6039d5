import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer as createHttpServer, type IncomingMessage, request, type Server } from "node:http";
import { createConnection, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { connectTo } from "../host/net/link-sockets.ts";
import { isFrontOf } from "../host/net/private-socket.ts";
import { createCoreConnections } from "./core-connections.ts";
import { createFrontConnections } from "./front-connections.ts";
import { createHttpExchange } from "./http-exchange.ts";
import { LinkBroken } from "./link-broken.ts";
import { createLinkClient } from "./link-client.ts";
import { readBody } from "./read-body.ts";
import { createSocketServer } from "./socket-server.ts";

const TOKEN = "the-token-of-this-start";
const MAX_TOKEN_MS = 300;
/** Far below the time after which a request gives up by itself. */
const AT_ONCE_MS = 1000;

/** Listens at its argument, and prints what comes. */
const LISTENER = `
const print = (text) => process.stdout.write(text + "\\n");
require("node:net").createServer((socket) => {
  socket.setEncoding("utf8").on("data", print).on("error", () => {}).on("close", () => print("closed"));
}).listen(process.argv[1], () => print("listening"));
process.stdin.resume().once("end", () => process.exit());
`;

test("REQ-I7 a connection is not idle while an answer is owed, however long that takes", async () => {
  const folder = mkdtempSync(join(tmpdir(), "llmc-idle-"));
  const path = join(folder, "server.sock");
  const server = createSocketServer({
    token: TOKEN,
    needsSchema: false,
    checkPeer: () => {},
    answer: async ({ socket }, response) => {
      // The idle time of this server, many times over.
      await Promise.race([sleep(500), once(socket, "close")]);
      response.end("done");
    },
    sendError: (_request, response) => void response.end(),
  });
  server.setTimeout(20);
  await once(server.listen(path), "listening");
  const asked = request({ socketPath: path, headers: { "x-llmc-token": TOKEN, connection: "close" } }).end();
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  expect(await text(answer)).toBe("done");
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

describe("FAIL-H3 REQ-I3 the two ends of a front's socket", () => {
  let folder: string;
  let path: string;
  let accepted: ReturnType<typeof createCoreConnections>;
  let listener: ReturnType<typeof createServer>;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "llmc-connections-"));
    path = join(folder, "front.sock");
    accepted = createCoreConnections(TOKEN, MAX_TOKEN_MS);
    listener = createServer(accepted.add).listen(path);
    await once(listener, "listening");
  });
  afterEach(() => {
    accepted.close();
    listener.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const serveWith = (server: Server) =>
    createFrontConnections({
      server,
      token: TOKEN,
      connect: (to) => createConnection(to),
      isFront: () => true,
      maxConnections: () => 1,
      onRefused: () => {},
    });

  test("a request that never ends is given up, though the server does not listen", async () => {
    const server = createSocketServer({
      token: TOKEN,
      needsSchema: false,
      maxRequestMs: 50,
      checkPeer: () => {},
      answer: async (request) => void (await readBody(request, 100)),
      sendError: (_request, response) => void response.end(),
    });
    const connections = serveWith(server);
    connections.add(1, path);
    const socket = await accepted.take();
    const since = performance.now();
    socket.write(`POST / HTTP/1.1\r\nhost: x\r\nx-llmc-token: ${TOKEN}\r\ncontent-length: 9\r\n\r\nabc`);
    await once(socket.resume(), "close");
    expect(performance.now() - since).toBeLessThan(AT_ONCE_MS);
    connections.close();
  });

  const core = (maxConnections = 3, idleMs = 0) => {
    const sockets: Socket[] = [];
    const atOnce: number[] = [];
    const server = createHttpServer((request, response) => {
      connections.use(request.socket);
      const greeting = JSON.stringify({ schema: "1.0", connections: 2 });
      if (request.url === "/v1/events") response.write("{}\n");
      else response.end(request.url === "/v1/hello" ? greeting : "{}");
    });
    server.setTimeout(idleMs);
    const connections = createFrontConnections({
      server,
      token: TOKEN,
      connect: (to) => {
        const socket = createConnection(to);
        sockets.push(socket);
        atOnce.push(sockets.filter(({ destroyed }) => !destroyed).length);
        return socket;
      },
      isFront: () => true,
      maxConnections: () => maxConnections,
      onRefused: () => {},
    });
    return { connections, sockets, atOnce, close: connections.close };
  };

  test.each(["", "guess", "x".repeat(TOKEN.length), `${TOKEN}x`])(
    "a stranger who connects to a front and says %j gets nothing",
    async (greeting) => {
      const stranger = createConnection(path);
      stranger.write(greeting);
      const ended = text(stranger);
      const taken = accepted.take().then(
        () => "taken",
        () => "none",
      );
      const { connections, close } = core();
      connections.add(1, path);
      // The core's own is the one that is used, and the stranger's is closed.
      expect(await taken).toBe("taken");
      expect(await ended).toBe("");
      await expect.poll(() => stranger.closed).toBe(true);
      close();
    },
  );

  /** Another process that listens there, with what it prints: what it hears, and `closed` for each connection that ended. */
  const listenElsewhere = async (to: string): Promise<{ pid: number; printed: () => string }> => {
    const child = spawn(process.execPath, ["-e", LISTENER, to], { stdio: ["pipe", "pipe", "inherit"] });
    onTestFinished(() => void child.kill());
    let printed = "";
    child.stdout.setEncoding("utf8").on("data", (part: string) => {
      printed += part;
    });
    await expect.poll(() => printed, { timeout: 10_000 }).toBe("listening\n");
    return { pid: child.pid ?? 0, printed: () => printed };
  };

  test.skipIf(process.platform !== "linux")(
    "the core shows its token to no process but the front that it was told of, by what the kernel says",
    async () => {
      const [theirs, other] = [join(folder, "front-2.sock"), join(folder, "stranger.sock")];
      const [front, stranger] = await Promise.all([listenElsewhere(theirs), listenElsewhere(other)]);
      const refused: string[] = [];
      const connections = createFrontConnections({
        server: createHttpServer(),
        token: TOKEN,
        connect: connectTo,
        isFront: (socket, pid) => isFrontOf(socket, pid, "us"),
        maxConnections: () => 1,
        onRefused: (reason) => refused.push(reason),
      });
      connections.add(front.pid, other);
      await expect.poll(stranger.printed).toBe("listening\nclosed\n");
      expect(refused).toEqual(["a front's socket is another process's"]);
      connections.add(front.pid, theirs);
      await expect.poll(front.printed).toBe(`listening\n${TOKEN}\n`);
      connections.close();
    },
  );

  test("FAIL-D7 a request that waits for a connection fails at once when the link is closed", async () => {
    const link = createLinkClient({ token: TOKEN, connect: accepted.take });
    const waiting = [
      link.ask("{}", () => {}),
      link.greet(),
      link.post("/v1/log", "{}"),
      link.listen("/v1/events", () => {}),
    ];
    const since = performance.now();
    setTimeout(link.close, 10);
    for (const asked of waiting) await expect(asked).rejects.toThrow(LinkBroken);
    expect(performance.now() - since).toBeLessThan(AT_ONCE_MS);
    await expect(link.greet()).rejects.toThrow(LinkBroken);
  });

  test("FAIL-D7 whoever waits for a connection fails at once when there will be none, and no stranger stays", async () => {
    const stranger = createConnection(path);
    await once(listener, "connection");
    const since = performance.now();
    const taken = accepted.take();
    accepted.close();
    await expect(taken).rejects.toThrow(LinkBroken);
    await expect(accepted.take()).rejects.toThrow(LinkBroken);
    await once(stranger.resume(), "close");
    expect(performance.now() - since).toBeLessThan(MAX_TOKEN_MS);
  });

  test("a spare is not closed for being idle, and a connection in use is", async () => {
    const { connections, sockets, close } = core(3, 50);
    connections.add(1, path);
    await expect.poll(() => sockets.length).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(sockets).toHaveLength(1);
    const [spare] = sockets;
    const link = createLinkClient({ token: TOKEN, connect: accepted.take });
    await expect(link.listen("/v1/events", () => {})).rejects.toThrow(LinkBroken);
    expect(spare?.destroyed).toBe(true);
    link.close();
    close();
  });

  test("closing the core's end closes every connection, also one whose answer has not ended", async () => {
    const { connections, sockets, close } = core();
    connections.add(1, path);
    const link = createLinkClient({ token: TOKEN, connect: accepted.take });
    const begun = Promise.withResolvers<unknown>();
    const listened = link.listen("/v1/events", begun.resolve);
    await begun.promise;
    connections.close();
    await expect(listened).rejects.toThrow(LinkBroken);
    await expect.poll(() => sockets.every(({ destroyed }) => destroyed)).toBe(true);
    link.close();
    close();
  });

  test("one connection is ready that is not in use, and never more than the bound are open", async () => {
    const { connections, sockets, atOnce, close } = core();
    connections.add(1, path);
    const link = createLinkClient({ token: TOKEN, connect: accepted.take });
    await expect.poll(() => sockets.length).toBe(1);
    await link.greet();
    await expect.poll(() => sockets.length).toBe(2);
    await Promise.all(Array.from({ length: 9 }, () => link.post("/v1/log", "{}")));
    await expect.poll(() => sockets.filter(({ destroyed }) => !destroyed).length).toBe(3);
    expect(Math.max(...atOnce)).toBe(3);
    link.close();
    close();
  });

  test("FAIL-E3 requests whose clients have left take no connection from others", async () => {
    const { connections, close } = core();
    const exchange = createHttpExchange({ connect: accepted.take, maxConnections: 100 });
    const ask = (gone: AbortSignal) =>
      exchange.open({ method: "GET", path: "/", headers: ["host", "core"] }, gone).on("error", () => {});
    const leaving = new AbortController();
    const left = Array.from({ length: 20 }, () => ask(leaving.signal));
    const stays = ask(new AbortController().signal);
    const answered = once(stays.end(), "response");
    for (const request of left) request.destroy();
    leaving.abort();
    const since = performance.now();
    connections.add(1, path);
    await answered;
    expect(performance.now() - since).toBeLessThan(AT_ONCE_MS);
    exchange.close();
    close();
  });
});
