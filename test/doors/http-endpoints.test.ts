import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { jsonSchema } from "../../src/mcp/kit.ts";
import { trustWorkspace } from "../app.ts";
import { toolModule } from "../workspace.ts";
import { type HttpDoor, openHttpDoor, TOKEN, UNLIMITED } from "./http-door.ts";

const sha = (text: string): string => createHash("sha256").update(text).digest("hex");
const READER = "the-reader's-own-secret";
const SCRAPER = "the-scraper's-own-secret";

const CONFIG = `[mcp]
mode = "classic"
[mcp.auth]
tokens = ["reader read env:READER_TOKEN", "scraper metrics sha256:${sha(SCRAPER)}"]
[mcp.tools]
custom_modules = "mods"
`;

const MODULE = toolModule(`
  tool("boom", () => { throw new Error("secret detail in /etc/hidden"); });
  tool("asks", (args, ports, call) => call.ask({ q: { kind: "roots" } }));
  tool("who", (args, ports, call) => ({ ...call.caller, may: [...call.caller.may], id: call.correlationId }));
  tool("slow", () => new Promise(() => {}));
`);

type Envelope = Readonly<Record<"code" | "message" | "hint" | "correlation_id", string>>;
const envelope = async (response: Response): Promise<Envelope> => (await response.json()) as Envelope;

describe("the endpoints of the HTTP door", () => {
  let door: HttpDoor;
  beforeAll(async () => {
    door = await openHttpDoor({
      args: [...UNLIMITED, "--set", "mcp.request_timeout_seconds=5"],
      env: { LLMC_MCP_TOKEN: TOKEN, READER_TOKEN: READER },
      files: {
        "llmc.toml": CONFIG,
        "a.txt": "hello\n",
        "docs/b.md": "# Title\n\nA zebra has stripes.\n",
        "AGENTS.md": "# Agents\n\nBe kind.\n",
        "mods/m.mjs": MODULE,
      },
    });
  });
  afterAll(() => door[Symbol.asyncDispose]());

  test("REQ-H1: /health is exactly the documented document; live and ready stand beside it", async () => {
    const response = await fetch(`${door.url}/health`);
    expect(await response.text()).toBe('{"ok":true,"version":"v0"}');
    expect(response.headers.get("content-type")).toBe("application/json; charset=utf-8");
    expect(await (await fetch(`${door.url}/health/live`)).json()).toEqual({ ok: true });
    expect(await (await fetch(`${door.url}/health/ready`)).json()).toEqual({ ready: true });
  });

  test("REQ-H1 REQ-D3: /tool answers each tool's own document", async () => {
    expect(await (await door.tool("read_file", { path: "a.txt" })).json()).toMatchObject({
      data: "hello\n",
      meta: { path: "a.txt", length: 6 },
    });
    expect(await (await door.tool("list_dir", { path: "docs" })).json()).toMatchObject({
      data: ["b.md"],
      meta: { path: "docs" },
    });
    expect(await (await door.tool("stat", { path: "a.txt" })).json()).toMatchObject({
      data: { size: 6, type: "file" },
    });
    expect(
      await (await door.tool("linux.fs_write", { path: "new.txt", mode: "rewrite", content: "x" })).json(),
    ).toMatchObject({ bytes_written: 1 });
    expect(readFileSync(join(door.root, "new.txt"), "utf8")).toBe("x");
  });

  test("REQ-H1: /tool runs a command", async () => {
    const response = await door.tool("run_cmd", { command: "cat a.txt" });
    expect(await response.json()).toMatchObject({ data: { stdout: "hello\n", exit_code: 0 } });
  });

  test.each([
    ["read_file", { path: "missing.txt" }, 404, "NOT_FOUND"],
    ["read_file", { path: "/etc/passwd" }, 403, "FORBIDDEN"],
    ["read_file", { path: "../x" }, 403, "FORBIDDEN"],
    ["linux_fs_read", { path: "/etc/passwd" }, 403, "FORBIDDEN"],
    ["read_file", { path: 5 }, 422, "BAD_ARGS"],
    ["read_file", { path: "a.txt", extra: 1 }, 422, "BAD_ARGS"],
    ["no_such_tool", {}, 404, "NOT_FOUND"],
    ["boom", {}, 500, "INTERNAL"],
    ["asks", {}, 503, "BUSY"],
    ["slow", {}, 504, "TIMEOUT"],
  ] as const)("REQ-D2: %s %j is %d %s in the envelope", async (name, args, status, code) => {
    const response = await door.tool(name, args, { "x-correlation-id": "my-own-id-7" });
    expect(response.status).toBe(status);
    expect(response.headers.get("x-correlation-id")).toBe("my-own-id-7");
    const body = await envelope(response);
    expect(body).toMatchObject({ code, message: expect.any(String), correlation_id: "my-own-id-7" });
    expect(
      Object.keys(body).filter((key) => !["code", "message", "hint", "correlation_id"].includes(key)),
    ).toEqual([]);
  });

  test("FAIL-D8: an internal failure shows no detail; the log has its frames under the correlation id", async () => {
    const { correlation_id: id, message } = await envelope(await door.tool("boom"));
    expect(message).not.toContain("hidden");
    await expect.poll(() => door.logs().includes(id)).toBe(true);
    expect(door.logs()).not.toContain("secret detail");
  });

  test.each([
    [{}, "session_id"],
    [{ session_id: "s" }, "name"],
    [{ session_id: "", name: "stat", args: {} }, "session_id"],
    [{ session_id: "s", name: "stat", args: [] }, "args"],
    [{ session_id: "s", name: "stat", args: {}, more: 1 }, "more"],
    [[], ""],
    ["null", ""],
  ])("REQ-H1 FAIL-D3: the /tool body %j is refused and the field named", async (body, field) => {
    const response = await door.post("/tool", body);
    expect(response.status).toBe(422);
    expect((await envelope(response)).message).toContain(field);
  });

  test("REQ-H1: args may be left out", async () => {
    const response = await door.post("/tool", { session_id: "s", name: "health" });
    expect(response.status).toBe(200);
  });

  test.each([
    "{",
    '{"a":1,"a":2}',
    `${"[".repeat(40)}${"]".repeat(40)}`,
    "",
    '{"__proto__":{}}',
    '"\\ud800"',
  ])("FAIL-D2: the body %j is refused, and the next request works", async (body) => {
    const response = await door.post("/tool", body);
    expect(response.status).toBe(422);
    expect(await envelope(response)).toMatchObject({ code: "BAD_ARGS" });
    expect((await door.tool("health")).status).toBe(200);
  });

  test("REQ-H3: a body of another type or encoding is refused before it is read", async () => {
    const typed = await door.post("/tool", "a=b", { "content-type": "text/plain" });
    expect(typed.status).toBe(415);
    expect(await envelope(typed)).toMatchObject({ code: "BAD_ARGS" });
    expect((await door.post("/tool", "{}", { "content-encoding": "gzip" })).status).toBe(415);
    const stranger = { "content-encoding": "gzip", "x-llmc-token": "wrong" };
    expect((await door.post("/tool", "{}", stranger)).status).toBe(401);
  });

  test("REQ-X6: session, agent, model and correlation id are those that the request names, made printable", async () => {
    const ask = async (body: object, headers: Record<string, string>) =>
      (await (await door.post("/tool", { name: "who", args: {}, ...body }, headers)).json()) as {
        data: string;
      };
    const named = JSON.parse(
      (
        await ask(
          { session_id: "se\u0000ss\u001b" },
          { "x-llmc-agent": "otto", "x-llmc-model": "m-1", "x-request-id": "from-a-proxy-1" },
        )
      ).data,
    );
    expect(named).toMatchObject({
      sessionId: "se?ss?",
      agentId: "otto",
      model: "m-1",
      transport: "http",
      id: "from-a-proxy-1",
    });
    const plain = JSON.parse((await ask({ session_id: "s" }, { "x-correlation-id": "no good; id" })).data);
    expect(plain).toMatchObject({ agentId: "unknown", model: "unknown" });
    expect(plain.id).toMatch(/^[0-9a-f-]{36}$/);
    const reader = JSON.parse((await ask({ session_id: "s" }, { "x-llmc-token": READER })).data);
    expect(reader).toMatchObject({ agentId: "reader", may: ["read"] });
  });

  test("REQ-H1: /invoke_agent acknowledges, and knows its roles", async () => {
    const body = { session_id: "s", role: "Otto", user_msg: "hi", inject_context: "" };
    expect(await (await door.post("/invoke_agent", body)).json()).toEqual({
      text: "[MCP v0] received; use /rag/search for pre-call context",
    });
    const unknown = await door.post("/invoke_agent", { ...body, role: "Nobody" });
    expect(unknown.status).toBe(422);
    expect((await envelope(unknown)).message).toContain("role");
    await expect.poll(() => door.logs().includes('"tool":"invoke_agent"')).toBe(true);
  });

  test("REQ-H1 REQ-R4 REQ-R9: /rag/search and /rag/bootload answer their documents", async () => {
    const body = { q: "zebra stripes", scope: "docs", k: 3, budget_tokens: 600 };
    // On a busy machine, the first answer may come before anything is indexed.
    const count = async (): Promise<number> => {
      const answer = (await (await door.post("/rag/search", body)).json()) as { snippets?: unknown[] };
      return answer.snippets?.length ?? 0;
    };
    await expect.poll(count).toBeGreaterThan(0);
    const search = await door.post("/rag/search", body);
    expect(search.status).toBe(200);
    const found = (await search.json()) as { snippets: { text: string; src: string; score: number }[] };
    expect(found).toEqual({ snippets: expect.any(Array), provenance: true });
    expect(found.snippets[0]).toEqual({
      text: expect.stringContaining("zebra"),
      src: expect.stringMatching(/^docs\/b\.md#L\d+-L\d+$/),
      score: expect.any(Number),
    });
    for (const bad of [{}, { q: "" }, { q: "x", scope: "all" }, { q: "x", k: 0 }, { q: "x", extra: 1 }]) {
      expect((await door.post("/rag/search", bad)).status).toBe(422);
    }
    const bootload = await door.post("/rag/bootload", { session_id: "s", task_id: "paint the zebra" });
    expect(bootload.status).toBe(200);
    expect(await bootload.json()).toEqual({
      plan: expect.any(String),
      scope: expect.stringMatching(/^(repo|docs|both)$/),
      notes: expect.stringContaining("Be kind."),
    });
    expect((await door.post("/rag/bootload", { session_id: "s" })).status).toBe(422);
  });

  test("REQ-H1: the OpenAPI description names every endpoint and tool; its schemas are sound and its references lead somewhere", async () => {
    const api = (await (await door.get("/openapi.json")).json()) as {
      openapi: string;
      paths: Record<string, unknown>;
      components: { schemas: Record<string, { oneOf: { title: string }[] }> };
    };
    expect(api.openapi).toBe("3.1.0");
    expect(Object.keys(api.paths)).toEqual(
      expect.arrayContaining([
        "/health",
        "/invoke_agent",
        "/tool",
        "/rag/search",
        "/rag/bootload",
        "/metrics",
        "/mcp",
      ]),
    );
    const refs = [...JSON.stringify(api).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path = ""]) => path);
    expect(refs.length).toBeGreaterThan(10);
    for (const path of refs) {
      const found = path
        .split("/")
        .reduce<unknown>((node, part) => (node as Record<string, unknown>)[part], api);
      expect(found, path).toBeDefined();
    }
    const { ToolRequest, ...others } = api.components.schemas;
    const accepts = async (schema: object, value: unknown): Promise<boolean> =>
      (await jsonSchema(schema as never)["~standard"].validate(value)).issues === undefined;
    for (const schema of Object.values(others)) expect(await accepts(schema, "no object")).toBe(false);
    expect(ToolRequest?.oneOf.map(({ title }) => title)).toEqual(
      expect.arrayContaining(["read_file", "who"]),
    );
    const request = (args: object) => ({ session_id: "s", name: "read_file", args });
    expect(await accepts(ToolRequest as object, request({ path: "a.txt" }))).toBe(true);
    expect(await accepts(ToolRequest as object, request({}))).toBe(false);
    expect((await fetch(`${door.url}/openapi.json`)).status).toBe(401);
  });

  test("REQ-H1: the page to try it is one document that loads nothing and allows only its own script", async () => {
    const response = await fetch(door.url);
    expect(response.url).toBe(`${door.url}/docs`);
    const page = await response.text();
    const policy = response.headers.get("content-security-policy") ?? "";
    for (const [kind, tag] of [
      ["script-src", "script"],
      ["style-src", "style"],
    ] as const) {
      const inline = new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`).exec(page)?.[1] ?? "";
      const digest = createHash("sha256").update(inline).digest("base64");
      expect(policy).toContain(`${kind} 'sha256-${digest}'`);
    }
    expect(policy).toContain("default-src 'none'");
    expect(page).not.toMatch(/https?:|src=|@import|url\(/);
    expect(page).not.toContain("innerHTML");
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
  });

  test("REQ-H1: unknown addresses are 404, wrong methods 405, and CORS is off", async () => {
    expect(await envelope(await door.get("/nowhere"))).toMatchObject({ code: "NOT_FOUND" });
    const wrong = await door.get("/tool");
    expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "POST"]);
    expect(await envelope(wrong)).toMatchObject({ code: "BAD_ARGS" });
    expect((await fetch(`${door.url}/nowhere`)).status).toBe(401);
    const preflight = await fetch(`${door.url}/tool`, {
      method: "OPTIONS",
      headers: {
        origin: "http://localhost:1",
        "access-control-request-method": "POST",
        "x-llmc-token": TOKEN,
      },
    });
    expect(preflight.status).toBe(405);
    expect([...preflight.headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([]);
  });

  test("REQ-H2: a token's scopes bound what its calls may do, at /tool and at /mcp", async () => {
    const as = { "x-llmc-token": READER };
    expect((await door.tool("read_file", { path: "a.txt" }, as)).status).toBe(200);
    for (const [name, args] of [
      ["linux_fs_write", { path: "no.txt", mode: "rewrite", content: "x" }],
      ["run_cmd", { command: "ls" }],
    ] as const) {
      const refused = await door.tool(name, args, as);
      expect(refused.status).toBe(403);
      expect(await envelope(refused)).toMatchObject({ code: "FORBIDDEN" });
    }
    const call = await door.post(
      "/mcp",
      {
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: {
          name: "run_cmd",
          arguments: { command: "ls" },
          _meta: {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { name: "t", version: "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
          },
        },
      },
      {
        ...as,
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "run_cmd",
      },
    );
    expect(await call.text()).toContain("forbidden");
    expect((await door.get("/metrics", as)).status).toBe(403);
    expect((await door.get("/metrics", { "x-llmc-token": SCRAPER })).status).toBe(200);
    const scraper = { "x-llmc-token": SCRAPER };
    expect((await door.tool("read_file", { path: "a.txt" }, scraper)).status).toBe(403);
    expect((await door.post("/rag/search", { q: "x" }, scraper)).status).toBe(403);
    expect((await door.post("/rag/bootload", { session_id: "s", task_id: "t" }, scraper)).status).toBe(403);
    expect(
      (await door.post("/invoke_agent", { session_id: "s", role: "Rem", user_msg: "x" }, scraper)).status,
    ).toBe(403);
  });

  test("REQ-H2: a session belongs to the token that opened it", async () => {
    const accept = { accept: "application/json, text/event-stream" };
    const initialize = {
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } },
    };
    const opened = await door.post("/mcp", initialize, accept);
    await opened.text();
    const session = { ...accept, "mcp-session-id": opened.headers.get("mcp-session-id") ?? "" };
    const ping = { jsonrpc: "2.0", id: 2, method: "ping" };
    const other = await door.post("/mcp", ping, { ...session, "x-llmc-token": READER });
    expect(other.status).toBe(404);
    const own = await door.post("/mcp", ping, session);
    expect(own.status).toBe(200);
    await own.text();
  });

  test("REQ-C5 REQ-H2: tokens come and go with the file; a bad edit takes nobody's away", async () => {
    const file = join(door.root, "llmc.toml");
    const late = "a-token-that-came-later";
    const status = async () => (await door.tool("health", {}, { "x-llmc-token": late })).status;
    expect(await status()).toBe(401);
    writeFileSync(
      file,
      CONFIG.replace('"]', `", "late read sha256:${sha(late)}", "lost read env:NOT_THERE"]`),
    );
    await trustWorkspace(door.root);
    await expect.poll(status, { timeout: 10_000 }).toBe(200);
    await expect.poll(() => door.logs().includes("NOT_THERE is not set")).toBe(true);
    expect((await door.tool("health", {}, { "x-llmc-token": READER })).status).toBe(200);
    writeFileSync(file, CONFIG);
    await expect.poll(status, { timeout: 10_000 }).toBe(401);
  });

  test("REQ-O1: requests, latencies and refusals are counted by route", async () => {
    const metrics = await (await door.get("/metrics")).text();
    expect(metrics).toMatch(/llmc_http_requests_total\{route="\/tool",status="200"\} \d+/);
    expect(metrics).toMatch(/llmc_http_request_duration_seconds_bucket\{le="0.15",route="\/tool"\} \d+/);
    expect(metrics).toMatch(/llmc_auth_failures_total [1-9]/);
    expect(metrics).not.toContain("/nowhere");
  });
});

describe("REQ-M1: the mode", () => {
  test("governs /tool and not the other endpoints", async () => {
    await using door = await openHttpDoor({ args: [...UNLIMITED, "--mode", "hybrid"] });
    expect((await door.tool("stat", { path: "a.txt" })).status).toBe(404);
    expect((await door.tool("rag_query", { query: "x" })).status).toBe(404);
    expect((await door.post("/rag/search", { q: "hello" })).status).toBe(200);
    expect((await door.post("/invoke_agent", { session_id: "s", role: "Rem", user_msg: "x" })).status).toBe(
      200,
    );
  });
});
