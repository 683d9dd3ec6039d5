import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type HttpDoor,
  openHttpDoor,
  openRaw,
  sendRaw,
  statusOf,
  TOKEN,
  UNLIMITED,
} from "../doors/http-door.ts";
import { ANN, BOB, initialize, openSocket, openTokenDoor, ping } from "../doors/two-tokens.ts";

/** One server for all tests of a block: a request that is refused changes nothing of it. */
const doorOfBlock = (options: Parameters<typeof openHttpDoor>[0]): (() => HttpDoor) => {
  let door: HttpDoor;
  beforeAll(async () => {
    door = await openHttpDoor(options);
  });
  afterAll(() => door[Symbol.asyncDispose]());
  return () => door;
};

/** Of one token. */
const MAX_EACH = 64;

const request = (line: string, headers: readonly string[], body = ""): string =>
  [line, ...headers, "Connection: close", "", body].join("\r\n");

describe("FAIL-J9: bounds of one token", () => {
  test("REQ-H3 its own longest-idle session makes room for its new ones, never another's", async () => {
    await using door = await openTokenDoor();
    const ann = await initialize(door, ANN);
    const sessions: string[] = [];
    for (let i = 0; i < MAX_EACH + 3; i++) sessions.push(await initialize(door, BOB));
    expect(new Set(sessions).size).toBe(MAX_EACH + 3);
    const statuses = [];
    for (const session of sessions) statuses.push(await ping(door, BOB, session));
    expect(statuses.slice(0, 3)).toEqual([404, 404, 404]);
    expect(statuses.slice(3).every((status) => status === 200)).toBe(true);
    expect(await ping(door, ANN, ann)).toBe(200);
  });

  test("REQ-H3 sessions that are opened at the same time are bounded, too", async () => {
    await using door = await openTokenDoor();
    const opened = await Promise.all(Array.from({ length: 150 }, () => initialize(door, BOB)));
    const live = await Promise.all(
      opened.filter((id) => !id.startsWith("status")).map((id) => ping(door, BOB, id)),
    );
    expect(live.filter((status) => status === 200).length).toBeLessThanOrEqual(MAX_EACH);
    expect(await ping(door, BOB, await initialize(door, BOB))).toBe(200);
  });

  test("REQ-H3 WebSockets are bounded by token", async () => {
    await using door = await openTokenDoor();
    const sockets = await Promise.all(Array.from({ length: MAX_EACH }, () => openSocket(door, BOB)));
    await expect(openSocket(door, BOB)).rejects.toThrow("429");
    const ann = await openSocket(door, ANN);
    sockets[0]?.socket.close();
    await sockets[0]?.closed;
    await expect
      .poll(() =>
        openSocket(door, BOB).then(
          () => true,
          () => false,
        ),
      )
      .toBe(true);
    for (const { socket } of [...sockets, ann]) socket.terminate();
  });
});

describe("FAIL-J9: guesses", () => {
  test("REQ-H2 made-up addresses are one address, and the right token gets in all the same", async () => {
    await using door = await openHttpDoor({
      args: [
        ...UNLIMITED,
        ...["--set", "mcp.server.trusted_proxies=127.0.0.1", "--set", "mcp.limits.wrong_tokens_per_minute=5"],
      ],
    });
    const from = async (address: string, token: string): Promise<number> =>
      (await fetch(`${door.url}/metrics`, { headers: { "x-llmc-token": token, "x-forwarded-for": address } }))
        .status;
    const statuses: number[] = [];
    const names = [
      "unknown",
      "_hidden",
      "1.2.3",
      "1.2.3.4.5",
      "999.1.1.1",
      "::g",
      "a b",
      "0x7f000001",
      "evil",
    ];
    for (let i = 0; i < 30; i++) statuses.push(await from(`${names[i % names.length]}${i}`, `guess-${i}`));
    expect(statuses.filter((status) => status === 401).length).toBeLessThanOrEqual(7);
    expect(statuses.at(-1)).toBe(429);
    expect(await from("unknown", TOKEN)).toBe(200);
    // One address, however it is written.
    const written = ["2001:db8::1", "2001:0DB8::1", "[2001:db8::2]:443", "2001:db8:0:0:1::"];
    const same: number[] = [];
    for (let i = 0; i < 12; i++) same.push(await from(written[i % written.length] ?? "", `other-${i}`));
    expect(same.filter((status) => status === 401).length).toBeLessThanOrEqual(6);
    expect(await from("2001:db8::1", TOKEN)).toBe(200);
  });
});

describe("FAIL-J9: a body in chunks", () => {
  const opened = doorOfBlock({ args: UNLIMITED, files: { "a.txt": "here" } });
  const BODY = JSON.stringify({ session_id: "s", name: "read_file", args: { path: "a.txt" } });
  const HEAD = request("POST /tool HTTP/1.1", [
    "Host: localhost",
    `X-LLMC-Token: ${TOKEN}`,
    "Content-Type: application/json",
    "Transfer-Encoding: chunked",
  ]);
  const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;

  test("REQ-H4 of one byte each is read, as long as it is an ordinary body", async () => {
    const answer = await sendRaw(opened().port, `${HEAD}${[...BODY].map(chunk).join("")}0\r\n\r\n`);
    expect(statusOf(answer)).toBe(200);
    expect(answer).toContain("here");
    const padded = `${BODY}${" ".repeat(200_000)}`.match(/.{1,70}/g) ?? [];
    expect(statusOf(await sendRaw(opened().port, `${HEAD}${padded.map(chunk).join("")}0\r\n\r\n`))).toBe(200);
  });

  test("REQ-H4 of one byte each without an end is refused before it takes memory: 413", async () => {
    const answer = await sendRaw(opened().port, `${HEAD}${chunk(" ").repeat(10_000)}`);
    expect(statusOf(answer)).toBe(413);
    expect(answer).toContain("too many small pieces");
  });

  test("REQ-H4 over the limit, announced or not: 413", async () => {
    const long = sendRaw(opened().port, `${HEAD}${chunk(" ".repeat(10_000)).repeat(30)}`);
    expect(statusOf(await long)).toBe(413);
    const announced = HEAD.replace("Transfer-Encoding: chunked", "Content-Length: 300000");
    expect(statusOf(await sendRaw(opened().port, announced))).toBe(413);
  });
});

describe("FAIL-J9: headers that come twice", () => {
  const opened = doorOfBlock({ args: UNLIMITED });
  const BODY = JSON.stringify({ session_id: "s", name: "read_file", args: { path: "a.txt" } });
  test.each([
    ["Host", ["Host: evil.example"]],
    ["Host, the same", ["Host: localhost"]],
    ["the token", [`X-LLMC-Token: ${TOKEN}`]],
    ["the token, one of them wrong", ["X-LLMC-Token: wrong"]],
    ["Authorization", ["Authorization: Bearer a", "Authorization: Bearer b"]],
    ["Origin", ["Origin: http://localhost", "Origin: https://evil.example"]],
    ["Content-Type", ["Content-Type: text/plain"]],
    ["Content-Length", [`Content-Length: ${BODY.length}`]],
    ["Transfer-Encoding", ["Transfer-Encoding: chunked"]],
    ["Mcp-Session-Id", ["Mcp-Session-Id: a", "Mcp-Session-Id: b"]],
  ])("REQ-H4 %s: 400", async (_name, more) => {
    const door = opened();
    const headers = [
      "Host: localhost",
      `X-LLMC-Token: ${TOKEN}`,
      "Content-Type: application/json",
      `Content-Length: ${BODY.length}`,
    ];
    expect(statusOf(await sendRaw(door.port, request("POST /tool HTTP/1.1", headers, BODY)))).toBe(200);
    expect(
      statusOf(await sendRaw(door.port, request("POST /tool HTTP/1.1", [...headers, ...more], BODY))),
    ).toBe(400);
    const upgrade = [
      "Host: localhost",
      "Upgrade: websocket",
      "Connection: Upgrade",
      `X-LLMC-Token: ${TOKEN}`,
      "Host: evil.example",
    ];
    const raw = await openRaw(door.port);
    raw.socket.write(
      [
        "GET /ws HTTP/1.1",
        ...upgrade,
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "",
        "",
      ].join("\r\n"),
    );
    expect(statusOf(await raw.closed)).toBe(400);
  });
});

describe("FAIL-J9: pages, where no token is asked for", () => {
  const opened = doorOfBlock({ args: [...UNLIMITED, "--set", "mcp.auth.mode=none"], env: {} });

  test("REQ-H4 only our own page reaches anything; programs that are no browser do", async () => {
    const door = opened();
    const call = { session_id: "s", name: "read_file", args: { path: "a.txt" } };
    const status = async (headers: Record<string, string>): Promise<number> =>
      (await door.post("/tool", call, headers)).status;
    const own = `http://127.0.0.1:${door.port}`;
    expect(await status({})).toBe(200);
    expect(await status({ origin: own })).toBe(200);
    const foreign = [
      "http://localhost:3000",
      "http://127.0.0.1:1",
      "http://127.0.0.1",
      `https://127.0.0.1:${door.port}`,
      `http://localhost:${door.port}`,
      "http://[::1]:3000",
      "https://evil.example",
      "null",
      "file://",
    ];
    for (const origin of foreign) {
      expect([origin, await status({ origin })]).toEqual([origin, 403]);
      expect([origin, (await fetch(`${door.url}/health`, { headers: { origin } })).status]).toEqual([
        origin,
        403,
      ]);
      await expect(openSocket(door, { origin })).rejects.toThrow("403");
    }
    const { socket } = await openSocket(door, { origin: own });
    socket.terminate();
    (await openSocket(door, {})).socket.terminate();
    // A page's form or image sends no Origin with some requests; the browser then still says where it stands.
    const raw = (site: string) =>
      sendRaw(
        door.port,
        request("GET /openapi.json HTTP/1.1", [`Host: localhost:${door.port}`, `Sec-Fetch-Site: ${site}`]),
      );
    for (const site of ["cross-site", "same-site", "Cross-Site"]) expect(statusOf(await raw(site))).toBe(403);
    for (const site of ["same-origin", "none"]) expect(statusOf(await raw(site))).toBe(200);
  });

  test("REQ-H4 pages of a host that the operator allows may use it", async () => {
    await using door = await openHttpDoor({
      args: [...UNLIMITED, "--set", "mcp.auth.mode=none", "--set", "mcp.server.allowed_hosts=app.example"],
      env: {},
    });
    const headers = { origin: "https://app.example", "sec-fetch-site": "cross-site" };
    expect((await fetch(`${door.url}/health`, { headers })).status).toBe(200);
    expect((await fetch(`${door.url}/health`, { headers: { origin: "http://localhost:3000" } })).status).toBe(
      403,
    );
  });

  test.each(["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])(
    "REQ-H4 a form's body of the type %j is not read",
    async (type) => {
      const door = opened();
      const body = JSON.stringify({ session_id: "s", name: "read_file", args: { path: "a.txt" } });
      for (const path of ["/tool", "/mcp", "/rag/search"])
        expect((await door.post(path, body, { "content-type": type })).status).toBe(415);
    },
  );
});
