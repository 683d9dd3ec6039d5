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
