import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { toolModule } from "../workspace.ts";
import { type HttpDoor, openHttpDoor, openRaw, sendRaw, statusOf, TOKEN, UNLIMITED } from "./http-door.ts";

/** `wait` writes its end beside the workspace's files, so that a test sees how it ended after the client is gone. */
const MODULE = `
import { writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
${toolModule(`
  tool("steps", async (args, ports, call) => {
    for (let i = 1; i <= 3; i++) { await call.progress(i, 3, "step " + i); await sleep(5); }
    return "done";
  });
  tool("wait", async ({ mark }, ports, call) => {
    await call.progress(0);
    await new Promise((resolve) => call.signal.addEventListener("abort", resolve));
    writeFileSync(mark, String(call.signal.reason?.code));
    return "late";
  }, kit.z.strictObject({ mark: kit.z.string() }));
  tool("chatty", async (args, ports, call) => {
    for (let i = 0; i < 20000; i++) await call.progress(i, 20000, "x".repeat(500));
    return "the end";
  });
`)}`;

const SSE = { accept: "text/event-stream" };

interface StreamEvent {
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>>;
}

const eventsIn = (text: string): StreamEvent[] =>
  [...text.matchAll(/event: (\w+)\ndata: (.*)\n\n/g)].map(([, event = "", data = ""]) => ({
    event,
    data: JSON.parse(data),
  }));

const alive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

/** Descendants of a process whose command line holds the word. */
const childrenWith = (word: string): number[] => {
  const lines = execFileSync("ps", ["-eo", "pid=,args="], { encoding: "utf8" }).split("\n");
  return lines
    .filter((line) => line.includes(word) && !line.includes("ps -eo"))
    .map((line) => Number.parseInt(line, 10));
};

describe("REQ-H7: streamed calls", () => {
  let door: HttpDoor;
  beforeAll(async () => {
    door = await openHttpDoor({
      args: [...UNLIMITED, "--mode", "classic", "--set", "mcp.tools.custom_modules=mods"],
      files: { "a.txt": "hello\n", "mods/m.mjs": MODULE, fifo: "" },
    });
  });
  afterAll(() => door[Symbol.asyncDispose]());

  const openSocket = async (headers: Record<string, string> = { "x-llmc-token": TOKEN }) => {
    const socket = new WebSocket(door.url.replace("http", "ws").concat("/ws"), { headers });
    const messages: (StreamEvent & { id: unknown })[] = [];
    socket.on("message", (data) => messages.push(JSON.parse(String(data))));
    const outcome = await new Promise<string>((resolve) => {
      socket.once("open", () => resolve("open"));
      socket.once("unexpected-response", (_request, response) => resolve(String(response.statusCode)));
      socket.once("error", (error) => resolve(error.message));
    });
    const ended = (id: unknown) => messages.find((one) => one.id === id && one.event !== "progress");
    return {
      socket,
      messages,
      outcome,
      send: (message: unknown) =>
        socket.send(typeof message === "string" ? message : JSON.stringify(message)),
      end: async (id: unknown) => {
        await expect.poll(() => ended(id), { timeout: 10_000 }).toBeDefined();
        return ended(id) as StreamEvent;
      },
    };
  };
  const call = (id: unknown, name: string, args: object = {}) => ({ id, session_id: "s", name, args });

  test("server-sent events: progress, then the result", async () => {
    const response = await door.tool("steps", {}, SSE);
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    expect(response.headers.get("x-correlation-id")).toBeTruthy();
    expect(eventsIn(await response.text())).toEqual([
      { event: "progress", data: { done: 1, total: 3, message: "step 1" } },
      { event: "progress", data: { done: 2, total: 3, message: "step 2" } },
      { event: "progress", data: { done: 3, total: 3, message: "step 3" } },
      { event: "result", data: { data: '"done"', meta: { truncated: false } } },
    ]);
  });

  test("server-sent events: a failure is an event in the envelope; a bad body is refused before the stream", async () => {
    const [failure] = eventsIn(await (await door.tool("read_file", { path: "/etc/passwd" }, SSE)).text());
    expect(failure).toMatchObject({ event: "error", data: { code: "FORBIDDEN" } });
    expect((await door.post("/tool", {}, SSE)).status).toBe(422);
  });

  test.each([
    ["plain", {}],
    ["streamed", SSE],
  ])("FAIL-D5 FAIL-D7: a client that goes away ends its %s call", async (kind, headers) => {
    const mark = join(door.root, `mark-${kind}`);
    const leave = new AbortController();
    const gone = fetch(`${door.url}/tool`, {
      method: "POST",
      signal: leave.signal,
      headers: { "content-type": "application/json", "x-llmc-token": TOKEN, ...headers },
      body: JSON.stringify({ session_id: "s", name: "wait", args: { mark } }),
    }).then((response) => response.text());
    setTimeout(() => leave.abort(), 100);
    await expect(gone).rejects.toThrow();
    await expect.poll(() => existsSync(mark) && readFileSync(mark, "utf8")).toBe("cancelled");
  });

  test("FAIL-D5: a command of a client that goes away leaves no process behind", async () => {
    const raw = await openRaw(door.port);
    const body = JSON.stringify({ session_id: "s", name: "run_cmd", args: { command: "tail -f a.txt" } });
    raw.socket.write(
      `POST /tool HTTP/1.1\r\nHost: localhost\r\nX-LLMC-Token: ${TOKEN}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await expect.poll(() => childrenWith("tail -f a.txt").length, { timeout: 10_000 }).toBeGreaterThan(0);
    const pids = childrenWith("tail -f a.txt");
    raw.socket.destroy();
    await expect.poll(() => pids.filter(alive), { timeout: 10_000 }).toEqual([]);
  });

  test("a reader that is too slow misses progress, never the result", async () => {
    const response = await door.tool("chatty", {}, SSE);
    await new Promise((resolve) => setTimeout(resolve, 200));
    const events = eventsIn(await response.text());
    expect(events.at(-1)).toMatchObject({ event: "result" });
    expect(events.length).toBeLessThan(20_000);
  });

  test("WebSocket: the same messages by id, several calls at once", async () => {
    const { send, end, messages, outcome, socket } = await openSocket();
    expect(outcome).toBe("open");
    send(call(1, "steps"));
    send(call("two", "read_file", { path: "a.txt" }));
    send(call(3, "read_file", { path: "/etc/passwd" }));
    expect(await end(1)).toMatchObject({ event: "result", data: { data: '"done"' } });
    expect(await end("two")).toMatchObject({ event: "result", data: { data: "hello\n" } });
    expect(await end(3)).toMatchObject({ event: "error", data: { code: "FORBIDDEN" } });
    expect(messages.filter(({ id, event }) => id === 1 && event === "progress")).toHaveLength(3);
    socket.close();
  });

  test.each([
    ["{", null],
    [{}, null],
    [{ id: 7, session_id: "s" }, 7],
    [{ id: 8, cancel: "yes" }, 8],
    [{ id: { a: 1 }, session_id: "s", name: "health", args: {} }, null],
    [Buffer.from([0xff, 0xfe]).toString("latin1"), null],
  ])("FAIL-D2: the WebSocket message %j is refused by its id, and the next works", async (message, id) => {
    const { send, end, socket } = await openSocket();
    send(message);
    expect(await end(id)).toMatchObject({ event: "error", data: { code: "BAD_ARGS" } });
    send(call(99, "health"));
    expect(await end(99)).toMatchObject({ event: "result" });
    socket.close();
  });

  test("FAIL-D5: a WebSocket call is ended by its cancel message, or by the end of the connection", async () => {
    const { send, end, messages, socket } = await openSocket();
    const marks = [join(door.root, "ws-1"), join(door.root, "ws-2")] as const;
    send(call(1, "wait", { mark: marks[0] }));
    send(call(2, "wait", { mark: marks[1] }));
    send(call(2, "health"));
    expect(await end(2)).toMatchObject({ event: "error", data: { code: "BAD_ARGS" } });
    await expect.poll(() => messages.filter(({ event }) => event === "progress")).toHaveLength(2);
    send({ id: 1, cancel: true });
    expect(await end(1)).toMatchObject({ event: "error", data: { code: "TIMEOUT" } });
    socket.terminate();
    for (const mark of marks)
      await expect.poll(() => existsSync(mark) && readFileSync(mark, "utf8")).toBe("cancelled");
  });

  test("REQ-O5: a WebSocket that is refused is answered and recorded under the client's own correlation id", async () => {
    const [host, id] = [`127.0.0.1:${door.port}`, "the-id-of-the-client"];
    const upgrade = `GET /ws HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Correlation-Id: ${id}\r\n`;
    const answer = await sendRaw(
      door.port,
      `${upgrade}Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
    );
    expect(statusOf(answer)).toBe(401);
    expect(answer.toLowerCase()).toContain(`x-correlation-id: ${id}\r\n`);
    expect(answer).toContain(`"correlation_id":"${id}"`);
    await expect.poll(door.logs).toContain(`"correlation_id":"${id}"`);
  });

  test("REQ-H2 REQ-H3 FAIL-E2: a WebSocket passes the same checks as a request", async () => {
    expect((await openSocket({})).outcome).toBe("401");
    expect((await openSocket({ "x-llmc-token": "wrong" })).outcome).toBe("401");
    expect((await openSocket({ "x-llmc-token": TOKEN, origin: "https://evil.example" })).outcome).toBe("403");
    expect((await openSocket({ "x-llmc-token": TOKEN, host: "evil.example" })).outcome).toBe("403");
    const { socket } = await openSocket();
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.send("x".repeat(300_000));
    expect(await closed).toBe(1009);
    expect((await door.tool("health")).status).toBe(200);
  });
});
