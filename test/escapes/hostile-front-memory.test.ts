import { once } from "node:events";
import type { Server } from "node:http";
import { createConnection, type Socket } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeSocketFolder, removeSocketFolder } from "../../src/host/net/socket-folder.ts";
import { createCallTable } from "../../src/link/call-table.ts";
import { createEventLog } from "../../src/link/event-log.ts";
import { createLinkServer } from "../../src/link/link-server.ts";
import { createSealedState } from "../../src/link/sealed-state.ts";
import {
  createFrameReader,
  encodeFrame,
  STREAM_PATH,
  STREAM_PROTOCOL,
} from "../../src/link/stream-frames.ts";
import { snapshotOf } from "../../src/wiring/keep-start.ts";
import { openTestApp } from "../app.ts";

const TOKEN = "the-token-of-this-start";
const MAX_OPEN_BYTES = 4_000_000;
const ORIGIN = {
  ...{ agentId: "a", sessionId: "s", model: "m", budgetProfile: "", correlationId: "12345678" },
  ...{ route: null, traceparent: null, progress: false, asks: [], answers: null, state: null },
};

let folder: string;
let server: Server;
const events = createEventLog();

beforeAll(async () => {
  const app = await openTestApp({ files: { "a.txt": "hello\n" } }, afterAll);
  folder = makeSocketFolder(undefined);
  server = createLinkServer({
    core: app.core,
    state: createSealedState(new Uint8Array(32), Date.now),
    connection: "c",
    newId: () => "new-id-12345678",
    table: createCallTable({ generation: 1, maxEntries: 1000, maxResultChars: 1_000_000 }),
    events,
    generation: 1,
    token: TOKEN,
    snapshot: () => snapshotOf(app),
    connections: () => 10,
    frontOf: () => "front",
    admitConnection: () => true,
    onLog: () => {},
    onRefused: () => {},
    maxBodyBytes: () => 1_000_000,
    maxOpenBytes: MAX_OPEN_BYTES,
  });
  await once(server.listen(join(folder, "link.sock")), "listening");
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
  removeSocketFolder(folder);
});

const head = (path: string, more = ""): string =>
  `GET ${path} HTTP/1.1\r\nhost: core\r\nx-llmc-token: ${TOKEN}\r\nx-llmc-schema: 1.0\r\n${more}\r\n`;

const connect = async (): Promise<{ socket: Socket; received: () => string; isClosed: () => boolean }> => {
  const socket = createConnection(join(folder, "link.sock")).on("error", () => {});
  await once(socket, "connect");
  let received = "";
  socket.setEncoding("latin1").on("data", (part: string) => {
    received += part;
  });
  return { socket, received: () => received, isClosed: () => socket.closed };
};

describe("FAIL-H1 REQ-I6 what a hostile front asks for takes bounded memory in the core", () => {
  let lastLine = 0;

  /** What the core answers to a call with such arguments. */
  const call = async (tool: string, args: object): Promise<string> => {
    const socket = createConnection(join(folder, "link.sock"));
    socket.write(head(STREAM_PATH, `connection: Upgrade\r\nupgrade: ${STREAM_PROTOCOL}\r\n`));
    await once(socket, "data");
    const answer = new Promise<string>((resolve, reject) =>
      socket.on(
        "data",
        createFrameReader({
          maxBytes: () => 1_000_000,
          onFrame: (_stream, payload) => resolve(payload.toString()),
          onOversize: reject,
          onMalformed: () => reject(new Error("not a frame")),
        }),
      ),
    );
    const work = { method: "call", tool, args };
    socket.write(
      encodeFrame(1, JSON.stringify({ n: ++lastLine, round: 0, generation: 1, origin: ORIGIN, work })),
    );
    return answer.finally(() => socket.destroy());
  };
  const lists = (count: number): unknown => Array.from({ length: count / 1000 }, () => Array(1000).fill([]));

  test("values count for what they weigh when they are parsed, and no longer than their request", async () => {
    // 120 KB of text, which take about as much memory as all requests together may.
    expect(await call("read_file", { path: "a.txt", x: lists(40_000) })).toContain('"busy"');
    for (let i = 0; i < 5; i++)
      expect(await call("read_file", { path: "a.txt", x: lists(20_000) })).not.toContain('"busy"');
    expect(await call("read_file", { path: "a.txt" })).toContain("hello");
  });

  test("a request that would take more than its share is refused before it is parsed", async () => {
    expect(await call("read_file", { path: "a.txt", x: lists(200_000) })).toContain(
      "More than 200000 commas",
    );
  });
});

test("FAIL-H1 REQ-I6 a body of the link that comes in thousands of tiny pieces is refused", async () => {
  const { socket, received } = await connect();
  const start = head("/v1/log", "transfer-encoding: chunked\r\n").replace("GET", "POST");
  socket.write(`${start}${"1\r\nx\r\n".repeat(20_000)}`);
  await expect.poll(received).toContain("too many small pieces");
  socket.destroy();
});

describe("FAIL-H1 FAIL-D7 streams of events that a hostile front opens", () => {
  test("end with the connection on which more are asked for", async () => {
    const { socket, isClosed } = await connect();
    socket.write(head("/v1/events").repeat(400));
    await expect.poll(isClosed).toBe(true);
  });

  test("make room for the next one, which hears of what changes", async () => {
    const first = await connect();
    first.socket.write(head("/v1/events"));
    await expect.poll(first.received).toContain("snapshot");
    const second = await connect();
    second.socket.write(head("/v1/events"));
    await expect.poll(first.isClosed).toBe(true);
    await expect.poll(second.received).toContain("snapshot");
    events.add({ list: "tools" });
    await expect.poll(second.received).toContain('"list":"tools"');
    second.socket.destroy();
  });

  test("requests that are sent ahead of their answers end their connection, beyond a few", async () => {
    const { socket, received, isClosed } = await connect();
    socket.write(head("/v1/hello").repeat(400));
    await expect.poll(isClosed).toBe(true);
    expect(received().split("HTTP/1.1 200").length - 1).toBeLessThan(400);
  });
});
