import { once } from "node:events";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { describe, expect, onTestFinished, test } from "vitest";
import { tempWorkspace } from "../../../test/app.ts";
import { hasOpenssl, makePair } from "../../../test/key-pairs.ts";
import { type KeyPair, readKeyPair } from "../os/key-pair.ts";
import { closeServer, createHttpServer, listen } from "./listen.ts";

/** More than the system keeps for a peer that does not read. */
const LARGE = Buffer.alloc(32 * 1024 * 1024);

const LIMITS = {
  maxHeaderBytes: 16_384,
  maxConnections: 8,
  headersTimeoutMs: 60_000,
  requestTimeoutMs: 1000,
  idleTimeoutMs: 60_000,
};

const answer = (request: IncomingMessage, response: ServerResponse): void => {
  if (request.url === "/large") response.end(LARGE);
  else if (request.url === "/stream") response.write(": open\n\n");
  else if (request.url === "/body") request.resume().on("end", () => response.write("taken"));
  else response.end("here");
};

const open = async (keyPair?: KeyPair) => {
  let served = 0;
  const server: Server = createHttpServer(
    (request, response) => {
      served++;
      answer(request, response);
    },
    LIMITS,
    keyPair,
  );
  const port = await listen(server, { host: "127.0.0.1", port: 0 });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    server,
    served: () => served,
    /** Sends the bytes on a connection that is not read; `theirs` is its other end. */
    send: async (bytes: string): Promise<{ readonly ours: Socket; readonly theirs: Socket }> => {
      const accepted = once(server, "connection");
      const to = { port, host: "127.0.0.1" };
      const ours = keyPair === undefined ? connect(to) : connectTls({ ...to, rejectUnauthorized: false });
      ours.on("error", () => {});
      onTestFinished(() => void ours.destroy());
      const [theirs] = (await accepted) as [Socket];
      ours.write(bytes);
      return { ours, theirs };
    },
  };
};

const newKeyPair = (): Promise<KeyPair> => {
  const folder = tempWorkspace();
  makePair(folder, "test");
  return readKeyPair(join(folder, "test.crt"), join(folder, "test.key"));
};

const get = (path: string, ...headers: readonly string[]): string =>
  [`GET ${path} HTTP/1.1`, "Host: localhost", ...headers, "", ""].join("\r\n");

const untilUnread = async (socket: Socket): Promise<void> => {
  await expect.poll(() => socket.writableLength).toBeGreaterThan(0);
};

describe("FAIL-E3 FAIL-J9 what a connection may hold", () => {
  test.each([{ kind: "plain", isTls: false }, ...(hasOpenssl ? [{ kind: "TLS", isTls: true }] : [])])(
    "$kind: answers that nobody reads end the connection; a slow reader and a silent stream stay",
    async ({ isTls }) => {
      const door = await open(isTls ? await newKeyPair() : undefined);
      const stream = await door.send(get("/stream"));
      const slow = await door.send(get("/large"));
      const reading = setInterval(() => slow.ours.read(256 * 1024), 50);
      onTestFinished(() => clearInterval(reading));
      const unread = await door.send(get("/large"));
      await once(unread.theirs, "close");
      expect([stream.theirs.destroyed, slow.theirs.destroyed]).toEqual([false, false]);
    },
  );

  test("connections that leave their answers unread make room for one that speaks, streams do not", async () => {
    const door = await open();
    const stream = await door.send(get("/stream"));
    for (let i = 1; i < LIMITS.maxConnections; i++) {
      const { theirs } = await door.send(get("/large"));
      await untilUnread(theirs);
    }
    const { ours } = await door.send(get("/"));
    const [received] = await once(ours, "data");
    expect(String(received)).toContain("here");
    expect(stream.theirs.destroyed).toBe(false);
  });

  test("FAIL-E3 requests that are not sent to their end make room, the oldest first; one that is served does not", async () => {
    const door = await open();
    const post = ["POST /body HTTP/1.1", "Host: localhost", "Content-Length: 2", "", "x"].join("\r\n");
    const complete = await door.send(`${post}y`);
    await once(complete.ours, "data");
    const halves = [];
    for (let i = 1; i < LIMITS.maxConnections; i++) {
      halves.push(await door.send(post));
      await expect.poll(door.served).toBe(i + 1);
    }
    const { ours } = await door.send(get("/"));
    const [received] = await once(ours, "data");
    expect(String(received)).toContain("here");
    expect(complete.theirs.destroyed).toBe(false);
    expect(halves.map(({ theirs }) => theirs.destroyed)).toEqual([true, ...halves.slice(1).map(() => false)]);
  });

  test.each([
    ["requests", get("/")],
    ["requests with an expectation that nobody meets", get("/", "Expect: something")],
  ])("%s far ahead of their answers end the connection", async (_what, request) => {
    const door = await open();
    const { theirs } = await door.send(request.repeat(500));
    await once(theirs, "close");
    expect(door.served()).toBeLessThanOrEqual(16);
  });

  test("a few requests ahead are answered, again and again", async () => {
    const door = await open();
    const { ours } = await door.send("");
    let received = "";
    ours.on("data", (data) => {
      received += data;
    });
    for (let round = 1; round <= 3; round++) {
      ours.write(get("/").repeat(16));
      await expect.poll(() => received.split("here").length - 1).toBe(16 * round);
    }
  });
});

describe("REQ-I9 REQ-H5 a server that closes", () => {
  test("serves the connection that it has just accepted, and ends what has been silent for long", async () => {
    const { server, send } = await open();
    const silent = await send("");
    const spoken = await send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    await once(spoken.ours, "data");
    const fresh = await send("");
    const closed = closeServer(server, 30_000);
    await once(spoken.ours, "close");
    fresh.ours.write("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    const [answered] = (await once(fresh.ours, "data")) as [Buffer];
    expect(answered.toString()).toMatch(/^HTTP\/1\.1 200 /);
    await closed;
    expect(silent.theirs.destroyed).toBe(true);
  });
});
