import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ERROR_TABLE, type ErrorCode } from "../../src/base/error-table.ts";
import { listenPrivately, ownUserId, peerOf } from "../../src/host/net/private-socket.ts";
import { makeSocketFolder, removeSocketFolder } from "../../src/host/net/socket-folder.ts";
import { createCallTable } from "../../src/link/call-table.ts";
import { createEventLog } from "../../src/link/event-log.ts";
import { createLinkServer } from "../../src/link/link-server.ts";
import { createSealedState } from "../../src/link/sealed-state.ts";
import {
  createFrameReader,
  encodeFrame,
  HEAD_BYTES,
  STREAM_PATH,
  STREAM_PROTOCOL,
} from "../../src/link/stream-frames.ts";
import { snapshotOf } from "../../src/wiring/keep-start.ts";
import { openTestApp, type TestApp } from "../app.ts";
import { encode, lines } from "../doors/fuzz-lines.ts";
import { rounds } from "../rounds.ts";

const TOKEN = "the-token-of-this-start";
const GENERATION = 2;
const ORIGIN = {
  agentId: "a",
  sessionId: "s",
  model: "m",
  budgetProfile: "",
  correlationId: "12345678",
  route: null,
  traceparent: null,
  progress: false,
  asks: [],
  answers: null,
  state: null,
};

interface Reply {
  readonly status: number;
  readonly text: string;
}

interface Sent {
  readonly path?: string;
  readonly body?: string | Uint8Array | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

let app: TestApp;
let folder: string;
const refusals: string[] = [];
let server: ReturnType<typeof createLinkServer>;
const table = createCallTable({ generation: GENERATION, maxEntries: 1000, maxResultChars: 1_000_000 });

/** A program that speaks the link and is not our front. */
const send = ({ path = STREAM_PATH, body, headers = {} }: Sent): Promise<Reply> =>
  path === STREAM_PATH ? sendFrame(body ?? "", headers) : post({ path, body, headers });

/** With everything that a front knows. */
const requestTo = (path: string) => ({
  socketPath: join(folder, "link.sock"),
  path,
  headers: { "x-llmc-token": TOKEN, "x-llmc-schema": "1.0" },
});

/** Makes the request that its argument describes, and prints the status. */
const STRANGER = `require("node:http").get(JSON.parse(process.argv[1]), ({ statusCode }) => {
  process.stdout.write(String(statusCode));
  process.exit();
});`;

const post = ({ path = "", body, headers = {} }: Sent): Promise<Reply> =>
  new Promise((resolve, reject) => {
    const to = requestTo(path);
    const request = httpRequest(
      {
        ...to,
        method: body === undefined ? "GET" : "POST",
        headers: { ...to.headers, ...headers },
      },
      (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (part: string) => {
          text += part;
        });
        response.once("end", () => resolve({ status: response.statusCode ?? 0, text }));
        response.once("error", reject);
      },
    );
    request.once("error", reject);
    request.end(body);
  });

/** Of bytes, which need not be UTF-8. */
const frameOf = (body: string | Uint8Array): Buffer => {
  const bytes = Buffer.from(body as Uint8Array);
  const frame = encodeFrame(7, "x".repeat(bytes.length));
  bytes.copy(frame, frame.length - bytes.length);
  return frame;
};

/** The same over an upgraded connection, as fronts send their requests; the status is that of what was refused. */
const sendFrame = (body: string | Uint8Array, headers: Readonly<Record<string, string>>): Promise<Reply> =>
  new Promise((resolve, reject) => {
    const request = httpRequest({
      socketPath: join(folder, "link.sock"),
      path: STREAM_PATH,
      headers: {
        "x-llmc-token": TOKEN,
        "x-llmc-schema": "1.0",
        connection: "Upgrade",
        upgrade: STREAM_PROTOCOL,
        ...headers,
      },
    });
    request.once("error", reject);
    request.once("response", (response) => {
      response.resume();
      resolve({ status: response.statusCode ?? 0, text: "" });
    });
    request.once("upgrade", (_response, socket) => {
      socket.on("error", () => {}).once("close", () => resolve({ status: 413, text: "" }));
      socket.on(
        "data",
        createFrameReader({
          maxBytes: () => 10_000_000,
          onOversize: () => reject(new Error("a long frame")),
          onMalformed: () => reject(new Error("not a frame")),
          onFrame: (_stream, payload, kind) => {
            const text = payload.toString("utf8");
            const { error } = JSON.parse(text) as { error?: { code: ErrorCode } };
            resolve({
              status: kind === "refused" ? ERROR_TABLE[error?.code ?? "internal_error"].status : 200,
              text,
            });
            socket.destroy();
          },
        }),
      );
      socket.write(frameOf(body));
    });
    request.end();
  });

const readFromWorkspace = (path: string): Promise<string> => readFile(join(app.root, path), "utf8");

let lastLine = 0;
const requestOf = (work: object, more: object = {}): string =>
  JSON.stringify({ n: ++lastLine, round: 0, generation: GENERATION, origin: ORIGIN, work, ...more });
const call = (tool: string, args: unknown, more: object = {}): Promise<Reply> =>
  send({ body: requestOf({ method: "call", tool, args }, more) });

beforeAll(async () => {
  app = await openTestApp({ files: { "a.txt": "hello\n", "log.txt": "", ".env": "SECRET=1\n" } }, afterAll);
  folder = makeSocketFolder(undefined);
  server = createLinkServer({
    core: app.core,
    state: createSealedState(new Uint8Array(32), Date.now),
    connection: "c",
    newId: () => "new-id-12345678",
    table,
    events: createEventLog(),
    generation: GENERATION,
    token: TOKEN,
    snapshot: () => snapshotOf(app),
    connections: () => 10,
    frontOf: () => "front",
    admitConnection: (socket) => peerOf(socket)?.uid === ownUserId() && peerOf(socket)?.pid === process.pid,
    onLog: () => {},
    onRefused: (reason) => void refusals.push(reason),
    maxBodyBytes: () => 1_000_000,
    maxOpenBytes: 4_000_000,
  });
  await listenPrivately(server, join(folder, "link.sock"));
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
  removeSocketFolder(folder);
});

describe("FAIL-H3 REQ-I3 strangers on the socket", () => {
  test("the right front with the right token is served", async () => {
    const { status, text } = await call("read_file", { path: "a.txt" });
    expect(status).toBe(200);
    expect(text).toContain("hello");
  });

  test.each([
    ["a wrong token", { "x-llmc-token": "guess" }, 401],
    ["another major version", { "x-llmc-schema": "2.0" }, 422],
    ["a newer minor version, which was not agreed on", { "x-llmc-schema": "1.7" }, 422],
    ["no version", { "x-llmc-schema": "" }, 422],
  ])("%s is refused", async (_what, headers, status) => {
    const body = requestOf({
      method: "call",
      tool: "linux_fs_write",
      args: { path: "stranger.txt", content: "x" },
    });
    expect((await send({ body, headers })).status).toBe(status);
    await expect(readFromWorkspace("stranger.txt")).rejects.toThrow();
  });

  test("another process is refused, by what the kernel says of it, whatever it knows", async () => {
    const asked = spawn(process.execPath, ["-e", STRANGER, JSON.stringify(requestTo("/v1/log"))]);
    const [status] = await Promise.all([text(asked.stdout), once(asked, "close")]);
    expect(status).toBe("403");
    // The same request of the front's process comes further.
    expect((await post({ path: "/v1/log" })).status).not.toBe(403);
  });
});

describe("FAIL-H1 REQ-I1 a hostile front gets nothing that the caller could not have had", () => {
  test.each([
    ["a secret", "read_file", { path: ".env" }],
    ["a file outside", "read_file", { path: "/etc/passwd" }],
  ])("%s is refused as it is to every caller", async (_what, tool, args) => {
    const { text } = await call(tool, args);
    expect(text).toContain("path_denied");
    expect(text).not.toContain("SECRET");
  });

  test.each(["principal", "owner", "transport", "may", "permit", "signal"])(
    "it cannot choose the %s of a caller",
    async (field) => {
      const reply = await call("read_file", { path: "a.txt" }, { origin: { ...ORIGIN, [field]: "admin" } });
      expect(reply.status).toBe(422);
    },
  );

  test("it cannot make up the state that a tool left with the client", async () => {
    const forged = `${"A".repeat(43)}.${JSON.stringify({ target: "call read_file", at: Date.now(), state: { llmc_ticket: "x" } })}`;
    const { text } = await call("read_file", { path: "a.txt" }, { origin: { ...ORIGIN, state: forged } });
    expect(text).toContain("state of the request is not valid");
  });

  test("FAIL-H2 a repeated request is done once, and its result is kept until the client has it", async () => {
    const body = requestOf({
      method: "call",
      tool: "linux_fs_write",
      args: { path: "log.txt", content: "once\n", mode: "append" },
    });
    const replies = await Promise.all([send({ body }), send({ body }), send({ body })]);
    const texts = [...replies, await send({ body })].map(({ text }) => text);
    expect(new Set(texts).size).toBe(1);
    expect(await readFromWorkspace("log.txt"), texts[0]).toBe("once\n");
  });

  test("REQ-I9 what another core may have done is not done again, unless it only reads", async () => {
    const before = { generation: GENERATION - 1 };
    const write = await call("linux_fs_write", { path: "other.txt", content: "x" }, before);
    expect(JSON.parse(write.text).value.body.meta).toMatchObject({ retryable: false, outcome: "unknown" });
    await expect(readFromWorkspace("other.txt")).rejects.toThrow();
    expect((await call("read_file", { path: "a.txt" }, before)).text).toContain("hello");
  });
});

describe("FAIL-H1 a front that holds what it does not use", () => {
  interface Held {
    readonly refused: Promise<number | string>;
    readonly end: () => void;
  }
  const headers = { "x-llmc-token": TOKEN, "x-llmc-schema": "1.0" };

  /** A request whose body does not end; gives the status with which it is refused. */
  const holdBody = (): Held => {
    const request = httpRequest({
      socketPath: join(folder, "link.sock"),
      path: "/v1/log",
      method: "POST",
      headers: { ...headers, "content-length": 999_999 },
    });
    request.on("error", () => {}).write("x".repeat(900_000));
    const refused = new Promise<number>((resolve) =>
      request.once("response", (response) => resolve(response.resume().statusCode ?? 0)),
    );
    return { refused, end: () => void request.destroy() };
  };

  /** The same on an upgraded connection, which is closed then. */
  const holdFrame = (): Held => {
    let held: Duplex | undefined;
    const request = httpRequest({
      socketPath: join(folder, "link.sock"),
      path: STREAM_PATH,
      headers: { ...headers, connection: "Upgrade", upgrade: STREAM_PROTOCOL },
    });
    const refused = new Promise<string>((resolve) =>
      request
        .on("error", () => {})
        .once("upgrade", (_response, socket) => {
          held = socket.on("error", () => {}).once("close", () => resolve("closed"));
          socket.resume().write(encodeFrame(1, "x".repeat(900_001)).subarray(0, 900_000));
        }),
    );
    request.end();
    return { refused, end: () => void held?.destroy() };
  };

  test.each([
    ["bodies", holdBody, 503],
    ["frames", holdFrame, "closed"],
  ] as const)(
    "%s under way are bounded together, and what is given up is free again",
    async (_what, hold, how) => {
      const held = Array.from({ length: 6 }, hold);
      expect(await Promise.race(held.map(({ refused }) => refused))).toBe(how);
      for (const { end } of held) end();
      await expect
        .poll(async () => (await call("read_file", { path: "a.txt" })).status, { timeout: 5000 })
        .toBe(200);
      const large = "x".repeat(900_000);
      for (let i = 0; i < 8; i++) expect((await call("stat", { path: "a.txt", large })).status).toBe(200);
    },
  );
});

describe("FAIL-D2 REQ-I6 the link is fuzzed", () => {
  test("no body ends the core or reaches a tool in another form", async () => {
    const valid = requestOf({ method: "call", tool: "read_file", args: { path: "a.txt" } });
    const mutated = fc
      .tuple(fc.nat(valid.length), fc.nat(20), fc.string({ maxLength: 20 }))
      .map(([at, cut, text]) => valid.slice(0, at) + text + valid.slice(at + cut));
    const bodies = fc.oneof(
      mutated,
      fc.string(),
      fc.json(),
      fc.constantFrom(
        "[".repeat(33) + "]".repeat(33),
        `{"__proto__":{}}`,
        `{"n":1,"n":1}`,
        "x".repeat(1_000_001),
      ),
    );
    const paths = fc.constantFrom(STREAM_PATH, "/v1/cancel", "/v1/log", "/v1/none", "/");
    await fc.assert(
      fc.asyncProperty(bodies, paths, async (body, path) => {
        const { status } = await send({ body, path }).catch(() => ({ status: 0 }));
        expect([0, 200, 204, 404, 413, 422]).toContain(status);
      }),
      { numRuns: rounds(300, 5000) },
    );
    expect((await call("read_file", { path: "a.txt" })).text).toContain("hello");
  });

  test("nor does any line of a client, as a body, as arguments or in the place of a value, mutated or not", async () => {
    const value = fc.oneof(lines("2025-11-25"), lines("2026-07-28")).map((line) => {
      const { bytes } = encode(line);
      return bytes.toString("latin1", 0, bytes.length - 1);
    });
    const fields = ["work", "args", "origin", "n"] as const;
    const placed = fc
      .tuple(value, fc.constantFrom(...fields))
      .map(([text, field]) =>
        field === "args"
          ? `{"n":${++lastLine},"round":0,"generation":${GENERATION},"origin":${JSON.stringify(ORIGIN)},"work":{"method":"call","tool":"read_file","args":${text}}}`
          : requestOf({ method: "call", tool: "read_file", args: {} }).replace(
              new RegExp(`"${field}":(\\{.*?\\}|\\d+)`),
              () => `"${field}":${text}`,
            ),
      );
    const mutated = fc
      .tuple(placed, fc.nat(2000), fc.nat(20), fc.string({ maxLength: 20 }))
      .map(([text, at, cut, more]) => text.slice(0, at) + more + text.slice(at + cut));
    const paths = fc.constantFrom(STREAM_PATH, STREAM_PATH, "/v1/cancel", "/v1/log");
    await fc.assert(
      fc.asyncProperty(fc.oneof(value, placed, mutated), paths, async (text, path) => {
        // As bytes: some of them are not UTF-8.
        const body = Buffer.from(text, "latin1");
        const { status } = await send({ body, path }).catch(() => ({ status: 0 }));
        expect([0, 200, 204, 404, 413, 422]).toContain(status);
      }),
      { numRuns: rounds(300, 5000) },
    );
    expect((await call("read_file", { path: "a.txt" })).text).toContain("hello");
    expect(await readFromWorkspace("log.txt")).toBe("once\n");
  });

  test.each([
    ["more at once than a front counts", { kind: "refusal", message: "x", count: 1e9 }],
    ["none at all", { kind: "refusal", message: "x", count: 0 }],
    ["a kind that there is not", { kind: "call", message: "x", count: 1 }],
    ["fields of the audit", { kind: "refusal", message: "x", count: 1, principal: "admin" }],
  ])("REQ-O5 a front cannot report refusals of %s", async (_what, entry) => {
    const before = refusals.length;
    const body = JSON.stringify({ entries: [entry] });
    expect((await send({ path: "/v1/log", body })).status).toBe(422);
    // But that it was malformed itself.
    expect(refusals.length).toBe(before + 1);
    expect(refusals.at(-1)).toMatch(/malformed/);
  });
});

describe("FAIL-D2 frames of an upgraded connection", () => {
  test("come whole, however they are cut, and without those that are too long", () => {
    const texts = ["", "a", "x".repeat(200_000), "é".repeat(40_000), "y".repeat(100_001), "{}"];
    const bytes = Buffer.concat(texts.map((text, stream) => encodeFrame(stream, text)));
    const expected = texts.map((text, stream) =>
      text.length > 100_000 ? `${stream} is long` : `${stream}:${text}`,
    );
    const long = texts.filter((text) => text.length > 100_000);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 60_000 }), { maxLength: 20 }), (cuts) => {
        const got: string[] = [];
        let skipped = 0;
        const read = createFrameReader({
          maxBytes: () => 100_000,
          onFrame: (stream, payload) => got.push(`${stream}:${payload.toString("utf8")}`),
          onOversize: (stream) => got.push(`${stream} is long`),
          onSkipped: (count) => {
            skipped += count;
          },
          onMalformed: () => got.push("broken"),
        });
        let at = 0;
        for (const length of cuts) {
          read(bytes.subarray(at, at + length));
          at += length;
        }
        if (at < bytes.length) read(bytes.subarray(at));
        expect(got).toEqual(expected);
        expect(skipped).toBe(long.reduce((sum, { length }) => sum + HEAD_BYTES + length, 0));
      }),
      { numRuns: rounds(30, 300) },
    );
  });

  test("end where one is of no kind, and nothing after it is read", () => {
    const got: string[] = [];
    const read = createFrameReader({
      maxBytes: () => 10,
      onFrame: (_stream, payload) => got.push(payload.toString("utf8")),
      onOversize: () => got.push("long"),
      onMalformed: () => got.push("broken"),
    });
    const strange = encodeFrame(1, "x");
    strange.writeUInt8(9, 8);
    read(strange);
    read(encodeFrame(2, "after"));
    expect(got).toEqual(["broken"]);
  });

  test("that are too long are refused by the core, and the connection goes on", async () => {
    const long = requestOf({ method: "call", tool: "stat", args: { path: "x".repeat(1_500_000) } });
    expect((await sendFrame(long, {})).status).toBe(413);
    expect((await call("read_file", { path: "a.txt" })).text).toContain("hello");
  });
});
