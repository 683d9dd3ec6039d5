import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type HttpDoor,
  openHttpDoor,
  openRaw,
  type RawConnection,
  sendRaw,
  statusOf,
  TOKEN,
  UNLIMITED,
} from "../doors/http-door.ts";
import { rounds } from "../rounds.ts";

const HEAD = `Host: localhost\r\nX-LLMC-Token: ${TOKEN}\r\nContent-Type: application/json\r\n`;
const BODY = JSON.stringify({ session_id: "s", name: "read_file", args: { path: "a.txt" } });

const bodyOf = (answer: string): unknown => JSON.parse(answer.slice(answer.lastIndexOf("\r\n\r\n") + 4));

describe("FAIL-E3: connections that misbehave", () => {
  let door: HttpDoor;
  beforeAll(async () => {
    door = await openHttpDoor({
      args: [
        ...UNLIMITED,
        ...["header_timeout_seconds=1", "body_timeout_seconds=2"].flatMap((one) => [
          "--set",
          `mcp.limits.${one}`,
        ]),
        ...["--set", "mcp.server.max_connections=100"],
      ],
    });
  });
  afterAll(() => door[Symbol.asyncDispose]());
  const isServed = async (): Promise<boolean> =>
    (await door.tool("read_file", { path: "a.txt" })).status === 200;

  /** Writes a byte now and then until the server has had enough. */
  const drip = async (raw: RawConnection, byte: string): Promise<string> => {
    const timer = setInterval(() => raw.socket.write(byte), 50);
    const answer = await raw.closed;
    clearInterval(timer);
    return answer;
  };

  test("slow headers and slow bodies are cut off in time, with an answer, while others are served", async () => {
    const headers = await openRaw(door.port);
    headers.socket.write("GET /health HTTP/1.1\r\nHost: localhost\r\nX-Slow: ");
    const body = await openRaw(door.port);
    body.socket.write(`POST /tool HTTP/1.1\r\n${HEAD}Content-Length: 100000\r\n\r\n{`);
    const silent = await openRaw(door.port);
    const answers = Promise.all([drip(headers, "x"), drip(body, " "), silent.closed]);
    expect(await isServed()).toBe(true);
    const [slowHeaders, slowBody] = await answers;
    expect(statusOf(slowHeaders)).toBe(408);
    expect(bodyOf(slowHeaders)).toMatchObject({ code: "TIMEOUT", correlation_id: expect.any(String) });
    expect(statusOf(slowBody)).toBe(408);
  });

  test("a slow body without a token is not waited for", async () => {
    const raw = await openRaw(door.port);
    raw.socket.write(
      "POST /tool HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{",
    );
    const answer = await raw.closed;
    expect(statusOf(answer)).toBe(401);
    expect(answer).toMatch(/^connection: close$/im);
  });

  test("a thousand idle connections are bounded, and others are served", async () => {
    const many = rounds(300, 1000);
    const idle: RawConnection[] = [];
    for (let i = 0; i < many; i++) idle.push(await openRaw(door.port));
    expect(await isServed()).toBe(true);
    const isOpen = ({ socket }: RawConnection) => !socket.destroyed && socket.readyState === "open";
    await expect.poll(() => idle.filter(isOpen).length).toBeLessThanOrEqual(100);
    // Those that keep a request open are not the ones that lose their place.
    expect(await isServed()).toBe(true);
    for (const { socket } of idle) socket.destroy();
  });

  test("refused handshakes of clients that never hang up hold nothing, and others are served", async () => {
    const handshake = [
      "GET /ws HTTP/1.1",
      "Host: localhost",
      "Connection: Upgrade",
      "Upgrade: websocket",
      "Sec-WebSocket-Version: 13",
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
      "",
      "",
    ].join("\r\n");
    const held: Socket[] = [];
    for (let i = 0; i < 110; i++) {
      const socket = connect({ port: door.port, host: "127.0.0.1", allowHalfOpen: true });
      socket.on("error", () => {});
      held.push(socket);
      socket.write(handshake);
      const [answer] = await once(socket, "data");
      expect(statusOf(String(answer))).toBe(401);
    }
    expect(await isServed()).toBe(true);
    for (const socket of held) socket.destroy();
  });

  test.each([
    [
      "headers that are too large",
      `GET /health HTTP/1.1\r\nHost: localhost\r\nX-Big: ${"y".repeat(20_000)}\r\n\r\n`,
      431,
      "TOO_LARGE",
    ],
    [
      "very many headers",
      `GET /health HTTP/1.1\r\nHost: localhost\r\n${"A: b\r\n".repeat(5000)}\r\n`,
      431,
      "TOO_LARGE",
    ],
    [
      "an address that is too long",
      `GET /${"a".repeat(20_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
      431,
      "TOO_LARGE",
    ],
    [
      "a body that says it is too large",
      `POST /tool HTTP/1.1\r\n${HEAD}Content-Length: 300000\r\n\r\n`,
      413,
      "TOO_LARGE",
    ],
    [
      "a body in pieces that grows too large",
      `POST /tool HTTP/1.1\r\n${HEAD}Transfer-Encoding: chunked\r\n\r\n${`8000\r\n${" ".repeat(0x8000)}\r\n`.repeat(9)}`,
      413,
      "TOO_LARGE",
    ],
    [
      "two lengths",
      `POST /tool HTTP/1.1\r\n${HEAD}Content-Length: 5\r\nContent-Length: 6\r\n\r\n{}`,
      400,
      "BAD_ARGS",
    ],
    [
      "a length and pieces (request smuggling)",
      `POST /tool HTTP/1.1\r\n${HEAD}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /metrics HTTP/1.1\r\n\r\n`,
      400,
      "BAD_ARGS",
    ],
    [
      "a header name with a space",
      "GET /health HTTP/1.1\r\nHost: localhost\r\nX Y: z\r\n\r\n",
      400,
      "BAD_ARGS",
    ],
    ["no HTTP at all", "\u0016\u0003\u0001\u0002 hello\r\n\r\n", 400, "BAD_ARGS"],
  ])("%s: refused in the envelope, and the connection ends", async (_name, bytes, status, code) => {
    const answer = await sendRaw(door.port, bytes);
    expect(statusOf(answer)).toBe(status);
    expect(bodyOf(answer)).toMatchObject({
      code,
      message: expect.any(String),
      correlation_id: expect.any(String),
    });
    expect(await isServed()).toBe(true);
  });

  test("a body that is just small enough is read", async () => {
    const pad = 262_144 - BODY.length;
    const fits = await door.post("/tool", `${BODY}${" ".repeat(pad)}`);
    expect(fits.status).toBe(200);
    expect((await door.post("/tool", `${BODY}${" ".repeat(pad + 1)}`)).status).toBe(413);
  });

  test("a gzip bomb is not opened", async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000));
    const answer = await sendRaw(
      door.port,
      Buffer.concat([
        Buffer.from(
          `POST /tool HTTP/1.1\r\n${HEAD}Content-Encoding: gzip\r\nConnection: close\r\nContent-Length: ${bomb.length}\r\n\r\n`,
        ),
        bomb,
      ]),
    );
    expect(statusOf(answer)).toBe(415);
  });

  test("pipelined requests are answered in order, each by its own rights", async () => {
    const health = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
    const call = `POST /tool HTTP/1.1\r\n${HEAD}Content-Length: ${BODY.length}\r\n\r\n${BODY}`;
    const foreign = "GET /docs HTTP/1.1\r\nHost: evil.example\r\n\r\n";
    const last = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    const answer = await sendRaw(door.port, `${health}${call}${foreign}${last}`);
    const statuses = [...answer.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));
    expect(statuses).toEqual([200, 200, 403, 401]);
    expect(answer.indexOf('"ok":true')).toBeLessThan(answer.indexOf('"data":"hello'));
  });

  test("an absolute target counts with its own host, whatever the Host header says", async () => {
    const get = (target: string, host: string, ...more: readonly string[]) =>
      sendRaw(
        door.port,
        [`GET ${target} HTTP/1.1`, `Host: ${host}`, ...more, "Connection: close", "", ""].join("\r\n"),
      ).then(statusOf);
    expect(await get(`http://127.0.0.1:${door.port}/health`, "localhost")).toBe(200);
    expect(await get("http://evil.example/health", "localhost")).toBe(403);
    expect(await get("http://localhost/health", "evil.example")).toBe(200);
    expect(await get("http://localhost/metrics", "localhost")).toBe(401);
    expect(await get("ftp://localhost/health", "localhost", `X-LLMC-Token: ${TOKEN}`)).toBe(404);
    expect(await get("//evil.example/health", "localhost", `X-LLMC-Token: ${TOKEN}`)).toBe(404);
    expect(await get("/%zz", "localhost", `X-LLMC-Token: ${TOKEN}`)).toBe(422);
  });

  test.each(["/health", "/health/ready", "/docs", "/openapi.json", "/metrics", "/mcp", "/nowhere"])(
    "REQ-H4 FAIL-E2: %s is not served to another Host or Origin, token or not",
    async (path) => {
      const get = (...headers: readonly string[]) =>
        sendRaw(
          door.port,
          [`GET ${path} HTTP/1.1`, ...headers, `X-LLMC-Token: ${TOKEN}`, "Connection: close", "", ""].join(
            "\r\n",
          ),
        );
      for (const headers of [
        ["Host: evil.example"],
        [`Host: evil.example:${door.port}`],
        ["Host: localhost.evil.example"],
        ["Host: 127.0.0.1.evil.example"],
        ["Host: localhost", "Origin: https://evil.example"],
        ["Host: localhost", "Origin: null"],
      ]) {
        const answer = await get(...headers);
        expect(statusOf(answer), headers.join()).toBe(403);
        expect(bodyOf(answer)).toMatchObject({ code: "FORBIDDEN" });
      }
    },
  );

  test("CONNECT, TRACE and an upgrade to something else get nowhere", async () => {
    expect(
      await sendRaw(door.port, "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n"),
    ).toBe("");
    const trace = await sendRaw(door.port, `TRACE /health HTTP/1.1\r\n${HEAD}Connection: close\r\n\r\n`);
    expect([404, 405]).toContain(statusOf(trace));
    expect(trace).not.toContain(TOKEN);
    const h2c = await openRaw(door.port);
    h2c.socket.write(
      "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
    );
    await expect.poll(h2c.received).toContain('{"ok":true,"version":"v0"}');
    h2c.socket.destroy();
  });

  test("FAIL-D2: bytes at random never bring it down", async () => {
    let seed = 42;
    const random = (below: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return seed % below;
    };
    const base = Buffer.from(`POST /tool HTTP/1.1\r\n${HEAD}Content-Length: ${BODY.length}\r\n\r\n${BODY}`);
    await Promise.all(
      Array.from({ length: rounds(100, 3000) }, async () => {
        const bytes = Buffer.from(base);
        for (let flips = 1 + random(8); flips > 0; flips--) bytes[random(bytes.length)] = random(256);
        const raw = await openRaw(door.port);
        raw.socket.end(bytes.subarray(0, 1 + random(bytes.length)));
        await raw.closed;
      }),
    );
    expect(await isServed()).toBe(true);
  });
});
