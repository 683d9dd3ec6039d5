import { existsSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { rounds } from "../rounds.ts";
import { toolModule } from "../workspace.ts";
import { type DoorProcess, openRaw, startHttpDoor, TOKEN, UNLIMITED } from "./http-door.ts";

const MODULE = `
import { writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
${toolModule(`
  tool("nap", async ({ ms }, ports, call) => {
    if (ms > 1000) writeFileSync(import.meta.dirname + "/started-" + ms, "");
    await sleep(ms, undefined, { signal: call.signal });
    return ms;
  },
    kit.z.strictObject({ ms: kit.z.int() }));
`)}`;

const open = (...args: readonly string[]): Promise<DoorProcess> =>
  startHttpDoor({
    args: [...UNLIMITED, "--mode", "classic", "--set", "mcp.tools.custom_modules=mods", ...args],
    files: { "mods/m.mjs": MODULE, "a.txt": "hello\n" },
  });

const until = async (door: DoorProcess, text: string): Promise<void> => {
  await expect.poll(() => door.logs().includes(text), { timeout: 10_000, interval: 5 }).toBe(true);
};

const started = async (door: DoorProcess, ms: number): Promise<void> => {
  await expect
    .poll(() => existsSync(join(door.root, `mods/started-${ms}`)), { timeout: 10_000, interval: 5 })
    .toBe(true);
};

describe("REQ-H5 FAIL-E4: SIGTERM", () => {
  test("under load: what was accepted is answered, what comes later is refused in good form, and it exits with 0", async () => {
    await using door = await open();
    const counts = { ok: 0, refused: 0, lost: 0, after: 0 };
    let stopped = false;
    const loop = async (): Promise<void> => {
      while (true) {
        const sentAfter = stopped;
        try {
          const response = await door.tool("nap", { ms: 5 });
          const body = (await response.json()) as { data?: string; code?: string };
          if (response.status === 200 && body.data === "5") counts.ok++;
          else {
            expect(response.status).toBe(503);
            expect(body.code).toBe("BUSY");
            expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
            expect(response.headers.get("connection")).toBe("close");
            counts.refused++;
          }
        } catch (error) {
          const code = (error as { cause?: { code?: string } }).cause?.code;
          // The listener is closed: nothing was accepted, nothing is lost.
          if (code === "ECONNREFUSED") return;
          if (!sentAfter) counts.lost++;
          else counts.after++;
          return;
        }
      }
    };
    const load = Promise.all(Array.from({ length: 16 }, loop));
    await expect.poll(() => counts.ok, { interval: 5, timeout: 10_000 }).toBeGreaterThan(rounds(100, 2000));
    stopped = true;
    door.process.kill("SIGTERM");
    await load;
    expect(await door.exited).toBe(0);
    expect(counts.lost).toBe(0);
    expect(counts.refused).toBeGreaterThan(0);
  });

  test("a long call finishes; meanwhile readiness is false, health answers, new calls and WebSockets are refused", async () => {
    await using door = await open();
    const long = door.tool("nap", { ms: 1500 });
    const mcp = door.post(
      "/mcp",
      {
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: {
          name: "nap",
          arguments: { ms: 1501 },
          _meta: {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { name: "t", version: "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
          },
        },
      },
      {
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "nap",
      },
    );
    const socket = new WebSocket(`${door.url.replace("http", "ws")}/ws`, {
      headers: { "x-llmc-token": TOKEN },
    });
    await new Promise((resolve) => socket.once("open", resolve));
    const closed = new Promise((resolve) => socket.once("close", resolve));
    await started(door, 1500);
    await started(door, 1501);
    door.process.kill("SIGTERM");
    await until(door, '"stopping"');
    expect((await fetch(`${door.url}/health/ready`)).status).toBe(503);
    expect((await fetch(`${door.url}/health`)).status).toBe(200);
    const refused = await door.tool("nap", { ms: 1 });
    expect([refused.status, refused.headers.get("connection")]).toEqual([503, "close"]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    const late = new WebSocket(`${door.url.replace("http", "ws")}/ws`, {
      headers: { "x-llmc-token": TOKEN },
    });
    expect(
      await new Promise((resolve) => {
        late.once("unexpected-response", (_request, response) => resolve(response.statusCode));
        late.once("error", () => {});
      }),
    ).toBe(503);
    expect(await (await long).json()).toMatchObject({ data: "1500" });
    expect(await (await mcp).text()).toContain("1501");
    expect(await closed).toBe(1001);
    expect(await door.exited).toBe(0);
  });

  test("does not wait for ever: at the limit calls are ended, with an answer", async () => {
    await using door = await open("--set", "mcp.server.drain_timeout_seconds=1");
    const long = door.tool("nap", { ms: 60_000 });
    await started(door, 60_000);
    door.process.kill("SIGTERM");
    const answer = await long;
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({ code: "BUSY", message: "The server is stopping." });
    expect(await door.exited).toBe(0);
    expect(door.logs()).toContain("the drain timeout has passed; remaining calls are aborted");
  });

  test("REQ-O1: a client that did not wait for its answer is counted as gone, not as answered", async () => {
    await using door = await open();
    const hungUp = new AbortController();
    const long = door.post(
      "/tool",
      { session_id: "s", name: "nap", args: { ms: 60_000 } },
      {},
      hungUp.signal,
    );
    await started(door, 60_000);
    hungUp.abort();
    await expect(long).rejects.toThrow();
    const counted = async () => (await door.get("/metrics")).text();
    await expect.poll(counted).toContain('llmc_http_requests_total{route="/tool",status="499"} 1');
    expect(await counted()).not.toContain('route="/tool",status="200"');
  });

  test("idle connections and standing streams do not hold it up", async () => {
    await using door = await open();
    const opened = await door.post(
      "/mcp",
      {
        jsonrpc: "2.0",
        id: 1,
        method: "initialize",
        params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } },
      },
      { accept: "application/json, text/event-stream" },
    );
    await opened.text();
    const stream = await door.get("/mcp", {
      accept: "text/event-stream",
      "mcp-session-id": opened.headers.get("mcp-session-id") ?? "",
    });
    expect(stream.status).toBe(200);
    const silent = connect(door.port, "127.0.0.1").on("error", () => {});
    const idle = await openRaw(door.port);
    idle.socket.write("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await expect.poll(idle.received).toContain('"ok":true');
    const startedAt = performance.now();
    door.process.kill("SIGTERM");
    expect(await door.exited).toBe(0);
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    silent.destroy();
    await stream.text().catch(() => {});
  });
});
