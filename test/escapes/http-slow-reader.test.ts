import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import {
  type DoorProcess,
  type HttpDoor,
  openHttpDoor,
  startHttpDoor,
  TOKEN,
  UNLIMITED,
} from "../doors/http-door.ts";
import { residentBytesOfTree } from "../server-parts.ts";

const MIB = 1024 * 1024;

const residentBytes = ({ process: { pid } }: DoorProcess): number => residentBytesOfTree(pid ?? 0);

const openSocket = async (
  door: HttpDoor,
): Promise<{ readonly socket: WebSocket; readonly closed: Promise<number> }> => {
  const socket = new WebSocket(`${door.url.replace("http", "ws")}/ws`, {
    headers: { "x-llmc-token": TOKEN },
  });
  onTestFinished(() => socket.terminate());
  socket.on("error", () => {});
  const closed = new Promise<number>((resolve) => socket.once("close", resolve));
  await new Promise((resolve) => socket.once("open", resolve));
  return { socket, closed };
};

describe("FAIL-J6 FAIL-J9: WebSockets of clients that misbehave", () => {
  test("a client that does not read its answers loses its connection, not the server its memory", async () => {
    await using door = await startHttpDoor({ args: [...UNLIMITED] });
    const { socket, closed } = await openSocket(door);
    writeFileSync(join(door.root, "large.txt"), `${"x".repeat(99)}\n`.repeat(2000));
    const ask = (id: number): void =>
      socket.send(
        JSON.stringify({ id, session_id: "s", name: "read_file", args: { path: "large.txt", limit: 2000 } }),
      );
    // The first call loads the engines, which stay.
    const answered = new Promise((resolve) => socket.once("message", resolve));
    ask(0);
    await answered;
    const before = residentBytes(door);
    socket.pause();
    for (let id = 1; id < 3000 && socket.readyState === socket.OPEN; id++) {
      ask(id);
      if (id % 20 === 0) await sleep(20);
    }
    expect((await door.get("/health")).status).toBe(200);
    expect(residentBytes(door) - before).toBeLessThan(150 * MIB);
    socket.resume();
    expect([1006, 1013]).toContain(await closed);
  });

  test("messages that are no calls count against the rate limit", async () => {
    await using door = await openHttpDoor({ args: ["--set", "mcp.limits.rate_limit_burst=20"] });
    const { socket, closed } = await openSocket(door);
    let answers = 0;
    socket.on("message", () => answers++);
    for (let i = 0; i < 2000; i++) socket.send(i % 2 === 0 ? "{" : JSON.stringify({ id: i, nonsense: true }));
    expect(await closed).toBe(1008);
    expect(answers).toBeLessThan(200);
    expect((await door.get("/health")).status).toBe(200);
  });

  test("a message in very many fragments ends its connection; one in some fragments is read", async () => {
    await using door = await openHttpDoor({ args: [...UNLIMITED] });
    const { socket, closed } = await openSocket(door);
    const ask = JSON.stringify({ id: 1, session_id: "s", name: "read_file", args: { path: "a.txt" } });
    const answered = new Promise((resolve) => socket.once("message", resolve));
    for (const [at, char] of [...ask].entries()) socket.send(char, { fin: at === ask.length - 1 });
    expect(String(await answered)).toContain('"result"');
    for (let i = 0; i < 1000; i++) socket.send(" ", { fin: false });
    expect(await closed).toBe(1008);
    expect((await door.get("/health")).status).toBe(200);
  });

  test("messages that do not end share what bodies may take: the rest is refused, and others are served", async () => {
    const limits = ["mcp.max_memory_mb=128", "mcp.limits.max_request_bytes=1000000"];
    const args = [...UNLIMITED, ...limits.flatMap((one) => ["--set", one])];
    await using door = await startHttpDoor({ args });
    const sockets = await Promise.all(Array.from({ length: 60 }, () => openSocket(door)));
    const codes: number[] = [];
    for (const { closed } of sockets) void closed.then((code) => codes.push(code));
    for (const { socket } of sockets) socket.send(Buffer.alloc(900_000, " "), { fin: false });
    await expect.poll(() => codes.length).toBeGreaterThan(10);
    expect(new Set(codes)).toEqual(new Set([1013]));
    expect(codes.length).toBeLessThan(50);
    expect((await door.tool("read_file", { path: "a.txt" })).status).toBe(200);
    for (const { socket } of sockets) socket.terminate();
    const { socket } = await openSocket(door);
    const answered = new Promise((resolve) => socket.once("message", resolve));
    socket.send(JSON.stringify({ id: 1, session_id: "s", name: "read_file", args: { path: "a.txt" } }));
    expect(String(await answered)).toContain('"result"');
  });

  test("REQ-H3: large messages that come too early are neither parsed nor read on, and all are answered in the end", async () => {
    const limits = ["rate_limit_burst=4", "rate_limit_rps=20"].flatMap((one) => [
      "--set",
      `mcp.limits.${one}`,
    ]);
    await using door = await openHttpDoor({ args: limits });
    const { socket } = await openSocket(door);
    const answers: { readonly id: unknown; readonly data: { readonly code?: string } }[] = [];
    socket.on("message", (data) => answers.push(JSON.parse(String(data))));
    const args = { path: "a.txt", nonsense: "x".repeat(100_000) };
    for (let id = 1; id <= 30; id++)
      socket.send(JSON.stringify({ id, session_id: "s", name: "read_file", args }));
    await expect.poll(() => answers.length, { timeout: 20_000 }).toBe(30);
    const refused = answers.filter(({ data }) => data.code === "RATE_LIMITED");
    // After each of them the connection waits for the token's next turn.
    expect(refused.length).toBeLessThan(20);
    expect(refused.every(({ id }) => id === null)).toBe(true);
    expect(answers.filter(({ id }) => id !== null).length).toBeGreaterThan(10);
  });

  test("pings that nobody reads the answers of end the connection and take no memory", async () => {
    // What V8 sets aside for new objects grows with the load, and is not what is measured here.
    const env = { LLMC_MCP_TOKEN: TOKEN, NODE_OPTIONS: "--max-semi-space-size=4" };
    await using door = await startHttpDoor({ args: [...UNLIMITED], env });
    const { socket, closed } = await openSocket(door);
    const before = residentBytes(door);
    socket.pause();
    for (let i = 0; i < 400_000 && socket.readyState === socket.OPEN; i++) {
      socket.ping();
      if (i % 5000 === 0) await sleep(5);
    }
    expect((await door.get("/health")).status).toBe(200);
    expect(residentBytes(door) - before).toBeLessThan(50 * MIB);
    socket.resume();
    expect([1006, 1008]).toContain(await closed);
  });

  test.each(["ping", "pong"] as const)("a flood of %ss is a violation, a few are not", async (kind) => {
    await using door = await openHttpDoor({ args: [...UNLIMITED] });
    const { socket, closed } = await openSocket(door);
    const answers: string[] = [];
    socket.on("pong", (data) => answers.push(String(data)));
    for (let i = 0; i < 20; i++) socket[kind](`${i}`);
    const asked = new Promise((resolve) => socket.once("message", resolve));
    socket.send(JSON.stringify({ id: 1, session_id: "s", name: "health", args: {} }));
    await asked;
    expect(answers).toEqual(kind === "ping" ? Array.from({ length: 20 }, (_, i) => `${i}`) : []);
    for (let i = 0; i < 2000; i++) socket[kind]();
    expect(await closed).toBe(1008);
    expect(answers.length).toBeLessThanOrEqual(600);
  });

  test("a client that reads gets every answer, however large they are together", async () => {
    await using door = await openHttpDoor({ args: [...UNLIMITED] });
    const { socket } = await openSocket(door);
    const ids = new Set<unknown>();
    socket.on("message", (data) => ids.add((JSON.parse(String(data)) as { id: unknown }).id));
    for (let id = 0; id < 60; id++)
      socket.send(JSON.stringify({ id, session_id: "s", name: "read_file", args: { path: "a.txt" } }));
    await expect.poll(() => ids.size).toBe(60);
    expect(socket.readyState).toBe(socket.OPEN);
  });
});
