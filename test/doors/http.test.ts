import { spawn } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { request } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import { tokenPath } from "../../src/host/own-files/token-store.ts";
import { tempWorkspace } from "../app.ts";
import { USER_STATE } from "../user-state.ts";
import { cleanEnv, launcher } from "../workspace.ts";
import { type HttpDoor, openHttpDoor, startHttpDoor, TOKEN } from "./http-door.ts";

const openDoor = async (
  args: readonly string[] = [],
  env: Record<string, string> = { LLMC_MCP_TOKEN: TOKEN },
): Promise<HttpDoor> => {
  const door = await openHttpDoor({ args, env });
  onTestFinished(() => door[Symbol.asyncDispose]());
  return door;
};

const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } },
};

const post = (door: HttpDoor, body: string, headers: Record<string, string> = {}) =>
  fetch(`${door.url}/mcp`, {
    method: "POST",
    body,
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "x-llmc-token": TOKEN,
      ...headers,
    },
  });

/** `fetch` does not let a caller choose the Host header. */
const withHost = (door: HttpDoor, headers: Record<string, string>): Promise<number> =>
  new Promise((done, failed) => {
    const { hostname, port } = new URL(door.url);
    request({ hostname, port, path: "/health", headers }, (response) =>
      done(response.resume().statusCode ?? 0),
    )
      .on("error", failed)
      .end();
  });

describe("REQ-P1: what a start over HTTP shows", () => {
  const tokens = (...entries: readonly string[]) => ["--set", `mcp.auth.tokens=${JSON.stringify(entries)}`];
  const ENV = { CI_TOKEN: `${TOKEN}-ci`, RD_TOKEN: `${TOKEN}-rd` };

  test("the tokens that there are, and no variable that is not set", async () => {
    const ci = "ci read,execute env:CI_TOKEN";
    const out = (await openDoor(tokens(ci, "rd read env:RD_TOKEN"), ENV)).out();
    expect(out).toContain(
      "tokens: ci (read,execute) in CI_TOKEN; rd (read) in RD_TOKEN, sent as X-LLMC-Token",
    );
    expect(out).toMatch(/see metrics: +http\S+\/metrics, with a token of the scope metrics/);
    expect(out).not.toContain("LLMC_MCP_TOKEN");
  });

  test("the token that may see the metrics", async () => {
    const out = (await openDoor(tokens("ci read env:CI_TOKEN", "rd metrics env:RD_TOKEN"), ENV)).out();
    expect(out).toContain('-H "X-LLMC-Token: $RD_TOKEN"');
    const own = (await openDoor()).out();
    expect(own).toContain("token: in LLMC_MCP_TOKEN, sent as X-LLMC-Token");
    expect(own).toContain('-H "X-LLMC-Token: $LLMC_MCP_TOKEN"');
  });
});

describe("the HTTP door", () => {
  test("REQ-H2 FAIL-E1: every request but health needs the token, in its header or as bearer", async () => {
    const door = await openDoor();
    expect(await (await fetch(`${door.url}/health`)).json()).toEqual({ ok: true, version: "v0" });
    for (const headers of [
      {},
      { "x-llmc-token": "wrong" },
      { authorization: "Bearer wrong" },
      { authorization: TOKEN },
    ]) {
      const response = await fetch(`${door.url}/metrics`, {
        headers: { "x-correlation-id": "my-own-id-1", ...headers },
      });
      expect(response.status).toBe(401);
      expect(await response.json()).toMatchObject({ code: "AUTH_FAILED", correlation_id: "my-own-id-1" });
    }
    expect((await fetch(`${door.url}/metrics?token=${TOKEN}`)).status).toBe(401);
    for (const headers of [{ "x-llmc-token": TOKEN }, { authorization: `Bearer ${TOKEN}` }]) {
      expect((await fetch(`${door.url}/metrics`, { headers })).status).toBe(200);
    }
    expect(door.logs()).not.toContain(TOKEN);
    expect(door.out()).not.toContain(TOKEN);
    const metrics = await (await fetch(`${door.url}/metrics`, { headers: { "x-llmc-token": TOKEN } })).text();
    expect(metrics).toContain("llmc_auth_failures_total 5");
  });

  test("the welcome names metrics only where they are served", async () => {
    const served = await openDoor([], {
      LLMC_MCP_TOKEN: TOKEN,
      LLMC_MCP_OBSERVABILITY_METRICS_PATH: "/numbers",
    });
    await expect.poll(served.out).toContain(`curl ${served.url}/numbers`);
    expect((await served.get("/numbers")).status).toBe(200);
    const silent = await openDoor([], {
      LLMC_MCP_TOKEN: TOKEN,
      LLMC_MCP_OBSERVABILITY_METRICS_PROMETHEUS_ENABLED: "false",
    });
    await expect.poll(silent.out).toContain("configure it:");
    expect(silent.out()).not.toContain("metrics");
  });

  test("REQ-H4: on all addresses, the welcome names one that is served, and what other machines need", async () => {
    const door = await openDoor(["--host", "0.0.0.0"]);
    expect(new URL(door.url).hostname).toBe("127.0.0.1");
    expect((await fetch(`${door.url}/docs`)).status).toBe(200);
    await expect.poll(door.out).toContain("refused until mcp.server.allowed_hosts has the name");
    const named = await openDoor(["--host", "0.0.0.0", "--set", "mcp.server.allowed_hosts=llmc.example"]);
    await expect.poll(named.out).toContain("also under the names llmc.example");
    const usual = await openDoor();
    await expect.poll(usual.out).toContain("configure it:");
    expect(usual.out()).not.toMatch(/other machines|also under/);
  });

  test("REQ-H2: it does not start without a token, and says what to do", async () => {
    const root = tempWorkspace();
    const child = spawn(launcher, ["serve", "--http", "--port", "0", "--root", root], {
      env: cleanEnv(),
    });
    let err = "";
    child.stderr.on("data", (chunk) => {
      err += chunk;
    });
    const code = await new Promise((done) => child.once("close", done));
    expect(code).toBe(3);
    expect(err).toContain("LLMC_MCP_TOKEN is not set");
    expect(err).toContain("--generate-token");
  });

  test("REQ-P1 REQ-D22 FAIL-J12: a generated token is kept for the owner alone, outside, and is named, not shown", async () => {
    const door = await openDoor(["--generate-token"], {});
    const file = tokenPath(USER_STATE, door.root);
    const token = readFileSync(file, "utf8").trim();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(door.out()).toContain(file);
    expect(door.out() + door.logs()).not.toContain(token);
    expect((await fetch(`${door.url}/metrics`, { headers: { "x-llmc-token": token } })).status).toBe(200);
  });

  test("FAIL-J2: a token that the workspace brings along does not open the door", async () => {
    const theirs = "a-token-that-came-with-the-repository-0123456789";
    const door = await openHttpDoor({
      args: ["--generate-token"],
      env: {},
      files: { ".llmc/token": `${theirs}\n` },
    });
    onTestFinished(() => door[Symbol.asyncDispose]());
    const ask = async (token: string) =>
      (await fetch(`${door.url}/metrics`, { headers: { "x-llmc-token": token } })).status;
    expect(await ask(theirs)).toBe(401);
    expect(await ask(readFileSync(tokenPath(USER_STATE, door.root), "utf8").trim())).toBe(200);
  });

  test("REQ-H2: no authentication on a public address is refused unless the operator insists", async () => {
    const root = tempWorkspace();
    const args = [
      "serve",
      "--http",
      "--port",
      "0",
      "--host",
      "0.0.0.0",
      "--set",
      "mcp.auth.mode=none",
      "--root",
      root,
    ];
    const child = spawn(launcher, args, { env: { PATH: process.env["PATH"] } });
    const code = await new Promise((done) => child.once("close", done));
    expect(code).toBe(3);
  });

  test("REQ-H4 FAIL-E2: foreign Host and Origin are refused", async () => {
    const door = await openDoor();
    expect(await withHost(door, { host: "evil.example" })).toBe(403);
    expect(await withHost(door, { origin: "https://evil.example" })).toBe(403);
    expect(await withHost(door, { origin: "http://localhost:3000" })).toBe(200);
  });

  test("FAIL-D2 REQ-H3: broken, deep, oversized and foreign bodies get a clear refusal, and the next request works", async () => {
    const door = await openDoor();
    const deep = `${"[".repeat(40)}${"]".repeat(40)}`;
    for (const body of [
      "{",
      "nonsense",
      '{"a":1,"a":2}',
      `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":${deep}}}`,
    ]) {
      const response = await post(door, body);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ jsonrpc: "2.0", error: { code: -32700 } });
    }
    const large = await post(door, JSON.stringify({ ...INITIALIZE, pad: "x".repeat(300_000) }));
    expect(large.status).toBe(413);
    expect(await large.json()).toMatchObject({ code: "TOO_LARGE" });
    expect((await post(door, "a=b", { "content-type": "application/x-www-form-urlencoded" })).status).toBe(
      415,
    );
    expect((await fetch(`${door.url}/health`, { headers: { "x-big": "y".repeat(20_000) } })).status).toBe(
      431,
    );
    expect((await fetch(`${door.url}/nowhere`, { headers: { "x-llmc-token": TOKEN } })).status).toBe(404);
    expect((await post(door, JSON.stringify(INITIALIZE))).status).toBe(200);
  });

  test("REQ-D10: a session is opened, used, unknown and ended", async () => {
    const door = await openDoor();
    const opened = await post(door, JSON.stringify(INITIALIZE));
    const session = opened.headers.get("mcp-session-id") ?? "";
    expect(session).toMatch(/^[0-9a-f-]{36}$/);
    const list = await post(door, JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/list" }), {
      "mcp-session-id": session,
    });
    expect(await list.text()).toContain("read_file");
    const call = await post(
      door,
      JSON.stringify({
        jsonrpc: "2.0",
        id: 3,
        method: "tools/call",
        params: { name: "read_file", arguments: { path: "a.txt" } },
      }),
      { "mcp-session-id": session },
    );
    expect(await call.text()).toContain("hello");
    expect(
      (
        await post(door, JSON.stringify({ jsonrpc: "2.0", id: 4, method: "ping" }), {
          "mcp-session-id": "no-such",
        })
      ).status,
    ).toBe(404);
    expect((await post(door, JSON.stringify({ jsonrpc: "2.0", id: 4, method: "ping" }))).status).toBe(400);
    const ended = await fetch(`${door.url}/mcp`, {
      method: "DELETE",
      headers: { "x-llmc-token": TOKEN, "mcp-session-id": session },
    });
    expect(ended.status).toBe(200);
    expect(
      (
        await post(door, JSON.stringify({ jsonrpc: "2.0", id: 5, method: "ping" }), {
          "mcp-session-id": session,
        })
      ).status,
    ).toBe(404);
  });

  test("REQ-H5: SIGTERM ends it cleanly, and SIGHUP reloads", async () => {
    await using door = await startHttpDoor();
    door.process.kill("SIGHUP");
    const exit = new Promise((done) => door.process.once("close", done));
    expect((await fetch(`${door.url}/health`)).status).toBe(200);
    door.process.kill("SIGTERM");
    expect(await exit).toBe(0);
    expect(door.logs()).toContain("stopping");
  });
});
