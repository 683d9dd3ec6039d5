import { spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { json } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { enterAirGap } from "../../src/host/air-gap/enter-air-gap.ts";

type Results = Readonly<Record<string, string>>;

/** What each is told in the air gap: of a server on the machine, and of one elsewhere. */
const REFUSALS = {
  openai: ["unavailable", "unavailable"],
  ollama: ["unavailable", "unavailable"],
  anthropic: ["unavailable", "unavailable"],
  gemini: ["unavailable", "unavailable"],
  traces: ["ECONNREFUSED", "ENETUNREACH"],
  redis: ["ECONNREFUSED", "ENETUNREACH"],
  postgres: ["ECONNREFUSED", "ENETUNREACH"],
  bases: ["unavailable ECONNREFUSED", "unavailable ENETUNREACH"],
  page: ["unavailable ECONNREFUSED", "unavailable ENETUNREACH"],
  repository: ["unavailable", "unavailable"],
} as const;

/** Of a network that is kept for documentation; nobody is there. */
const ELSEWHERE = "192.0.2.1:4000";
const MAIN = join(import.meta.dirname, "air-gap-clients-main.ts");
const ENV = { PATH: process.env["PATH"] ?? "", HOME: "/nonexistent" };

const run = {
  outside: async (tasks: Results): Promise<unknown> =>
    json(spawn(process.execPath, [MAIN, JSON.stringify(tasks)], { env: ENV }).stdout),
  inside: async (tasks: Results): Promise<unknown> => {
    const { child } = await enterAirGap({
      argv: [process.execPath, MAIN, JSON.stringify(tasks)],
      env: ENV,
      cwd: "/",
      stdio: ["ignore", "pipe", "inherit"],
    });
    return json(child.stdout as Readable);
  },
};

describe("REQ-I10 no client of the server's reaches a server that is not relayed", () => {
  /** One server per client, so that it is known who came. */
  const servers = new Map<string, Server>();
  const arrived = new Set<string>();
  let inside: Results = {};
  let arrivedInside: readonly string[] = [];

  beforeAll(async () => {
    const tasks: Record<string, string> = {};
    for (const client of Object.keys(REFUSALS)) {
      const server = createServer((socket) => {
        arrived.add(client);
        socket.on("error", () => {}).end("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n");
      }).listen(0, "127.0.0.1");
      await once(server, "listening");
      servers.set(client, server);
      tasks[client] = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    }
    const elsewhere = Object.keys(REFUSALS).map((client) => [`${client} elsewhere`, ELSEWHERE] as const);
    inside = (await run.inside({ ...tasks, ...Object.fromEntries(elsewhere) })) as Results;
    arrivedInside = [...arrived];
    await run.outside(tasks);
  }, 120_000);
  afterAll(() => {
    for (const server of servers.values()) server.close();
  });

  test("nothing arrived on the machine", () => {
    expect(arrivedInside).toEqual([]);
  });

  test.each(Object.entries(REFUSALS))("%s: %s", (client, [onTheMachine, elsewhere]) => {
    expect(inside[client]).toBe(onTheMachine);
    expect(inside[`${client} elsewhere`]).toBe(elsewhere);
  });

  test("outside the air gap, each of them arrived: the attempts are real ones", () => {
    expect([...arrived].toSorted()).toEqual(Object.keys(REFUSALS).toSorted());
  });
});
