import { writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openHttpDoor, openRaw, sendRaw, statusOf, TOKEN, UNLIMITED } from "../doors/http-door.ts";
import { rounds } from "../rounds.ts";
import { toolModule } from "../workspace.ts";

const get = (path: string, headers: readonly string[]): string =>
  [`GET ${path} HTTP/1.1`, "Host: localhost", ...headers, "Connection: close", "", ""].join("\r\n");

const counterIn = (metrics: string, name: string): number =>
  Number(new RegExp(`^${name.replaceAll(/[{}"]/g, "\\$&")} (\\d+)`, "m").exec(metrics)?.[1] ?? 0);

describe("FAIL-E1: guessing", () => {
  test("wrong tokens are bounded, counted and kept out of the log; a spoofed X-Forwarded-For does not help", async () => {
    await using door = await openHttpDoor();
    const guesses = rounds(300, 10_000);
    const statuses = new Map<number, number>();
    for (let i = 0; i < guesses; i++) {
      const headers = { "x-llmc-token": `guess-${i}-xyzzy`, "x-forwarded-for": `10.1.${i >> 8}.${i & 255}` };
      const { status } = await fetch(`${door.url}/metrics`, { headers });
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    expect([...statuses.keys()].sort()).toEqual([401, 429]);
    const tried = statuses.get(401) ?? 0;
    expect(tried).toBeGreaterThanOrEqual(30);
    expect(tried).toBeLessThan(60 + guesses / 100);

    const late = await door.get("/metrics", { "x-llmc-token": "one-more-xyzzy" });
    expect(late.status).toBe(429);
    expect(Number(late.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await late.json()).toMatchObject({ code: "RATE_LIMITED" });
    // FAIL-J9: whoever has the right one is not locked out by others.
    expect((await door.get("/metrics")).status).toBe(200);
    expect((await door.get("/metrics", { "x-forwarded-for": "10.1.0.1" })).status).toBe(200);

    const metrics = await (await door.get("/metrics")).text();
    expect(counterIn(metrics, "llmc_auth_failures_total")).toBe(tried);
    expect(counterIn(metrics, 'llmc_http_drops_total{reason="guesses"}')).toBeGreaterThanOrEqual(
      guesses - tried,
    );
    expect(door.logs()).not.toMatch(/xyzzy/);
    expect(door.logs()).not.toContain(TOKEN);
    expect(door.logs().split("\n").length).toBeLessThan(guesses / 2);
  });

  test("behind a proxy that is trusted, each address has its own guesses; a stale token shuts nobody out", async () => {
    await using door = await openHttpDoor({
      args: [
        "--set",
        "mcp.server.trusted_proxies=127.0.0.1",
        "--set",
        "mcp.limits.wrong_tokens_per_minute=3",
      ],
    });
    const from = async (address: string, token: string): Promise<number> =>
      (await fetch(`${door.url}/metrics`, { headers: { "x-llmc-token": token, "x-forwarded-for": address } }))
        .status;
    const attacker = [];
    for (let i = 0; i < 6; i++) attacker.push(await from("203.0.113.9", `guess-${i}`));
    expect(attacker).toEqual([401, 401, 401, 429, 429, 429]);
    // What the client itself wrote in front of its address is not believed.
    expect(await from("198.51.100.1, 203.0.113.9", "guess")).toBe(429);
    expect(await from("203.0.113.9", TOKEN)).toBe(200);
    expect(await from("203.0.113.10", TOKEN)).toBe(200);
    for (let i = 0; i < 6; i++) expect(await from("203.0.113.11", "stale")).toBe(401);
    expect(await from("203.0.113.11", TOKEN)).toBe(200);
  });

  test("REQ-H2: a token that is taken out of the file opens nothing more, not even on a connection that it has opened", async () => {
    const tokens = (...entries: string[]) => `[mcp.auth]\ntokens = ${JSON.stringify(entries)}\n`;
    const others = ["ann read,metrics env:ANN"];
    await using door = await openHttpDoor({
      args: UNLIMITED,
      files: { "llmc.toml": tokens(...others, "bob read,metrics env:BOB") },
      env: { ANN: "the-token-of-ann", BOB: "the-token-of-bob" },
    });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const ask = (token: string) =>
      new Promise<{ status: number | undefined; reused: boolean }>((resolve, reject) => {
        const headers = { "x-llmc-token": token };
        const sent = request(`${door.url}/metrics`, { agent, headers }, (response) => {
          response
            .resume()
            .once("end", () => resolve({ status: response.statusCode, reused: sent.reusedSocket }));
        });
        sent.once("error", reject).end();
      });
    expect(await ask("the-token-of-bob")).toEqual({ status: 200, reused: false });
    expect(await ask("the-token-of-bob")).toEqual({ status: 200, reused: true });
    expect(await ask("the-token-of-ann")).toEqual({ status: 200, reused: true });
    expect(await ask("the-token-of-bob")).toEqual({ status: 200, reused: true });
    writeFileSync(join(door.root, "llmc.toml"), tokens(...others));
    await expect.poll(() => door.logs(), { timeout: 10_000 }).toContain("configuration reloaded");
    expect(await ask("the-token-of-ann")).toEqual({ status: 200, reused: true });
    expect(await ask("the-token-of-bob")).toEqual({ status: 401, reused: true });
    agent.destroy();
  });

  test.each([
    ["in the address", get(`/metrics?token=${TOKEN}&x-llmc-token=${TOKEN}`, [])],
    ["in another header", get("/metrics", [`X-Token: ${TOKEN}`])],
    ["as a cookie", get("/metrics", [`Cookie: X-LLMC-Token=${TOKEN}`])],
    ["with Basic", get("/metrics", [`Authorization: Basic ${TOKEN}`])],
    ["in part", get("/metrics", [`X-LLMC-Token: ${TOKEN.slice(0, -1)}`])],
    ["and more", get("/metrics", [`X-LLMC-Token: ${TOKEN}x`])],
    ["in capitals", get("/metrics", [`X-LLMC-Token: ${TOKEN.toUpperCase()}`])],
    ["empty", get("/metrics", ["X-LLMC-Token:"])],
  ])("a token %s is no token", async (_name, bytes) => {
    door ??= await openHttpDoor({ args: ["--set", "mcp.limits.wrong_tokens_per_minute=1000"] });
    expect(statusOf(await sendRaw(door.port, bytes))).toBe(401);
  });
  let door: Awaited<ReturnType<typeof openHttpDoor>> | undefined;

  test("REQ-H2: it does not start with a named token that has no secret", async () => {
    await door?.[Symbol.asyncDispose]();
    const files = { "llmc.toml": '[mcp.auth]\ntokens = ["ci read env:CI_TOKEN"]\n' };
    await expect(openHttpDoor({ files })).rejects.toThrow("CI_TOKEN is not set");
    await using named = await openHttpDoor({ files, env: { CI_TOKEN: "only-this-one" } });
    expect((await named.get("/openapi.json", { "x-llmc-token": "only-this-one" })).status).toBe(200);
    expect((await named.get("/openapi.json")).status).toBe(401);
    expect(named.logs() + named.out()).not.toContain("only-this-one");
  });
});

const MODULE = `
let running = 0;
let most = 0;
import { setTimeout as sleep } from "node:timers/promises";
${toolModule(`
  tool("crowd", async ({ ms }) => {
    most = Math.max(most, ++running);
    await sleep(ms);
    running--;
    return most;
  }, kit.z.strictObject({ ms: kit.z.int().default(20) }));
`)}`;

const SSE = { accept: "text/event-stream" };

/** Sends calls on connections that are already open, so that all of them arrive together. */
const atOnce = async (port: number, count: number, args: object): Promise<readonly string[]> => {
  const body = JSON.stringify({ session_id: "s", name: "crowd", args });
  const one = `POST /tool HTTP/1.1\r\nHost: localhost\r\nX-LLMC-Token: ${TOKEN}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const connections = await Promise.all(Array.from({ length: count }, () => openRaw(port)));
  for (const { socket } of connections) socket.write(one);
  return Promise.all(connections.map(({ closed }) => closed));
};

describe("REQ-H3: the default limits", () => {
  test("a burst of 40 gives 20 successes and what the bucket gets meanwhile, never more than 8 at a time, and well-formed 429s", async () => {
    await using door = await openHttpDoor({
      args: ["--mode", "classic", "--set", "mcp.tools.custom_modules=mods"],
      files: { "mods/m.mjs": MODULE },
    });
    const startedAt = performance.now();
    const answers = await atOnce(door.port, 40, {});
    // Ten more are allowed in each second that the burst takes, so a busy machine lets a few more in.
    const refilled = Math.ceil((performance.now() - startedAt) / 100);
    const ok = answers.filter((answer) => statusOf(answer) === 200);
    const refused = answers.filter((answer) => statusOf(answer) === 429);
    expect(ok.length).toBeGreaterThanOrEqual(20);
    expect(ok.length).toBeLessThanOrEqual(20 + refilled);
    expect(ok.length + refused.length).toBe(40);
    for (const answer of refused) {
      const [head = "", text = ""] = answer.split("\r\n\r\n");
      expect(head).toMatch(/^retry-after: [1-9]\d*$/im);
      expect(head).toMatch(/^x-correlation-id: .+$/im);
      expect(JSON.parse(text)).toMatchObject({ code: "RATE_LIMITED", hint: expect.any(String) });
    }
    const peak = Math.max(...ok.map((answer) => Number(/"data":"(\d+)"/.exec(answer)?.[1])));
    expect(peak).toBeGreaterThan(1);
    expect(peak).toBeLessThanOrEqual(8);
  });

  test("a queue that is full refuses one more, a streamed one as well", async () => {
    await using door = await openHttpDoor({
      files: {
        "mods/m.mjs": MODULE,
        "llmc.toml":
          '[mcp]\nmode = "classic"\n[mcp.tools]\ncustom_modules = "mods"\n[mcp.limits]\nconcurrency_per_token = 1\nqueue_per_token = 2\nrate_limit_rps = 1000\nrate_limit_burst = 1000\n',
      },
    });
    const answers = await atOnce(door.port, 6, { ms: 1000 });
    expect(answers.filter((answer) => statusOf(answer) === 200)).toHaveLength(3);
    expect(answers.filter((answer) => statusOf(answer) === 429)).toHaveLength(3);
    const busy = atOnce(door.port, 3, { ms: 1000 });
    await expect
      .poll(async () => (await door.tool("crowd", { ms: 1 }, SSE)).status, { interval: 1 })
      .toBe(429);
    await busy;
    const metrics = await (await door.get("/metrics")).text();
    expect(counterIn(metrics, 'llmc_http_drops_total{reason="lane"}')).toBeGreaterThanOrEqual(4);
  });
});
