import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import { openTestApp, TEST_CALLER, tempWorkspace } from "../../test/app.ts";
import { ERROR_TABLE } from "../base/error-table.ts";

const MODULE = `
export const register = (kit) => {
  const { z } = kit;
  kit.tool({ name: "sleeper", description: "Sleeps.", effect: "read", input: z.strictObject({ ms: z.int() }),
    output: z.object({ stopped: z.boolean() }),
    run: ({ ms }, _ports, { signal }) => new Promise((resolve) => {
      const timer = setTimeout(() => resolve({ stopped: false }), ms);
      signal.addEventListener("abort", () => { clearTimeout(timer); globalThis.__stopped = (globalThis.__stopped ?? 0) + 1; });
    }),
    render: (output) => JSON.stringify(output) });
  kit.tool({ name: "thrower", description: "Throws.", effect: "read", input: z.strictObject({}),
    run: async () => { throw new Error("the marker of /root/private"); }, render: () => "" });
  kit.tool({ name: "hasty", description: "Does not wait.", effect: "read", input: z.strictObject({ fails: z.boolean() }),
    run: ({ fails }) => { if (fails) throw kit.fail("not today"); return "done"; }, render: (output) => output });
  kit.tool({ name: "liar", description: "Breaks its own schema.", effect: "read", input: z.strictObject({}),
    output: z.object({ n: z.number() }), run: async () => ({ n: "many" }), render: () => "" });
  kit.tool({ name: "writer", description: "Would write.", effect: "write", input: z.strictObject({}), run: async () => ({}), render: () => "wrote" });
  kit.tool({ name: "slow_writer", description: "Writes until it is told to end.", effect: "write", input: z.strictObject({}),
    run: () => new Promise((resolve) => { (globalThis.__writers ??= []).push(() => resolve({})); }), render: () => "wrote" });
  kit.tool({ name: "flood", description: "Says much.", effect: "read", input: z.strictObject({}), run: async () => ({}), render: () => "0123456789\\n".repeat(5000) });
  kit.tool({ name: "linux_refuser", description: "Refuses.", effect: "read", input: z.strictObject({ n: z.int().min(1) }), run: async () => ({}), render: () => "" });
};`;

const open = (overrides: Record<string, string> = {}) =>
  openTestApp({
    files: { "mods/tools.js": MODULE, "package.json": '{"type":"module"}' },
    overrides: { "mcp.mode": "classic", "mcp.tools.custom_modules": "mods", ...overrides },
  });

describe("the pipe", () => {
  test("REQ-D18: a call that passes its deadline is a retryable timeout, and its signal fires", async () => {
    const app = await open({ "mcp.request_timeout_seconds": "1" });
    const result = await app.ask("sleeper", { ms: 60_000 });
    expect(result).toMatchObject({
      kind: "error",
      body: { meta: { error_code: "timeout", retryable: true } },
    });
    expect((globalThis as { __stopped?: number }).__stopped).toBeGreaterThan(0);
  });

  test("FAIL-D5: cancelling ends the call at once", async () => {
    const app = await open();
    const stop = new AbortController();
    const startedAt = performance.now();
    const pending = app.ask("sleeper", { ms: 60_000 }, { signal: stop.signal });
    await sleep(20);
    stop.abort();
    expect(await pending).toMatchObject({ kind: "error", error: { code: "cancelled" } });
    expect(performance.now() - startedAt).toBeLessThan(1000);
  });

  test("FAIL-D8: an exception becomes an internal error with an id, and its message reaches neither client nor log", async () => {
    const app = await open();
    const result = await app.ask("thrower", {}, { correlationId: "11111111-2222-3333-4444-555555555555" });
    expect(result).toMatchObject({
      body: {
        meta: { error_code: "internal_error", correlation_id: "11111111-2222-3333-4444-555555555555" },
      },
    });
    expect(JSON.stringify(result.kind === "error" && result.body)).not.toContain("marker");
    const line = (await app.logs()).split("\n").find((candidate) => candidate.includes("call failed")) ?? "";
    expect(line).toContain("11111111-2222-3333-4444-555555555555");
    expect(line).toContain("frames");
    expect(await app.logs()).not.toContain("marker");
  });

  test("a module in plain JavaScript may answer or throw without waiting", async () => {
    const app = await open();
    expect(await app.ask("hasty", { fails: false })).toMatchObject({
      kind: "ok",
      content: [{ type: "text", text: "done" }],
    });
    expect(await app.ask("hasty", { fails: true })).toMatchObject({
      kind: "error",
      error: { code: "invalid_args", message: "not today" },
    });
  });

  test("output that breaks its own schema is our fault, not the caller's", async () => {
    expect(await (await open()).errorCode("liar")).toBe("internal_error");
  });

  test("a caller without the effect is refused by policy", async () => {
    const app = await open();
    const result = await app.ask(
      "writer",
      {},
      {
        caller: {
          agentId: "a",
          sessionId: "s",
          model: "m",
          transport: "cli",
          principal: "local",
          owner: "test",
          may: new Set(["read"]),
        },
      },
    );
    expect(result).toMatchObject({ body: { meta: { error_code: "forbidden" } } });
    expect(await app.text("writer")).toBe("wrote");
  });

  test("text past the bound is cut at a line and says so", async () => {
    const app = await open({ "mcp.limits.max_output_bytes": "2048" });
    const text = await app.text("flood");
    expect(Buffer.byteLength(text)).toBeLessThan(2200);
    expect(text).toMatch(/0123456789\n\[cut: \d+ of 55000 bytes; ask for a smaller part\]$/);
  });

  test("REQ-D2: linux tools publish their family's codes", async () => {
    expect(await (await open()).errorCode("linux_refuser", { n: 0 })).toBe("INVALID_ARGS");
  });

  test("REQ-D13: text_format json gives JSON everywhere", async () => {
    const app = await openTestApp({
      files: { "a.txt": "hi" },
      overrides: { "mcp.tools.text_format": "json" },
    });
    expect(JSON.parse(await app.text("read_file", { path: "a.txt" }))).toMatchObject({
      data: "hi",
      meta: { path: "a.txt" },
    });
  });

  test("FAIL-D11: past the bounds calls are refused as busy, and all are answered", async () => {
    const app = await open({ "mcp.max_concurrent_requests": "4", "mcp.limits.max_queued_requests": "10" });
    const results = await Promise.all(Array.from({ length: 200 }, () => app.ask("sleeper", { ms: 5 })));
    const codes = results.map((result) => (result.kind === "error" ? result.error.code : result.kind));
    expect(codes.filter((code) => code === "ok")).toHaveLength(14);
    expect(codes.filter((code) => code === "busy")).toHaveLength(186);
    expect(results.find((result) => result.kind === "error")).toMatchObject({
      body: { meta: { retryable: true } },
    });
    expect(await app.text("sleeper", { ms: 1 })).toContain("false");
  });

  test("REQ-I7: changes take half of the slots, and those that wait for one keep no read from starting", async () => {
    const app = await open({ "mcp.max_concurrent_requests": "4" });
    const started: (() => void)[] = [];
    Object.assign(globalThis, { __writers: started });
    const writes = Array.from({ length: 5 }, () => app.ask("slow_writer"));
    await vi.waitFor(() => expect(started).toHaveLength(2));
    expect(await app.text("sleeper", { ms: 1 })).toContain("false");
    expect(started).toHaveLength(2);
    let ended = 0;
    const all = Promise.all(writes);
    await vi.waitFor(() => {
      while (ended < started.length) started[ended++]?.();
      expect(ended).toBe(5);
    });
    expect((await all).map(({ kind }) => kind)).toEqual(Array(5).fill("ok"));
  });

  test("REQ-D25 FAIL-J9: principals take turns, and none of them fills the queue of another", async () => {
    const app = await open({ "mcp.max_concurrent_requests": "1", "mcp.limits.max_queued_requests": "2" });
    const order: string[] = [];
    const ask = async (principal: string): Promise<void> => {
      const { kind } = await app.ask("sleeper", { ms: 1 }, { caller: { ...TEST_CALLER, principal } });
      order.push(`${principal} ${kind}`);
    };
    await Promise.all([...["a", "a", "a", "a", "b"].map(ask)]);
    expect(order).toEqual(["a error", "a ok", "a ok", "b ok", "a ok"]);
  });

  test("FAIL-D3 FAIL-D10: a refusal names the field and never echoes the input", async () => {
    const app = await open();
    const huge = "x".repeat(2_000_000);
    const results = await Promise.all([
      app.ask("read_file", { path: "a", limit: huge }),
      app.ask("read_file", { path: "a", [huge]: 1 }),
      app.ask(huge),
      app.ask("read_file", huge),
    ]);
    for (const result of results) {
      const body = JSON.stringify(result.kind === "error" ? result.body : undefined);
      expect(body.length).toBeLessThan(1024);
    }
    expect(results[0]).toMatchObject({ body: { meta: { error_code: "invalid_args", field: "limit" } } });
  });
});

describe("custom modules", () => {
  test("REQ-T11: broken ones are reported and left out, the others load; clashes are refused", async () => {
    const app = await openTestApp({
      files: {
        "package.json": '{"type":"module"}',
        "mods/a-broken.js": "export const register = () => { throw new Error('no luck'); };",
        "mods/b-empty.js": "export const nothing = 1;",
        "mods/c-clash.js": `export const register = (kit) => kit.tool({ name: "stat", description: "x", effect: "read", input: kit.z.strictObject({}), run: async () => ({}), render: () => "" });`,
        "mods/d-syntax.js": "export const register = (",
        "mods/e-good.js": `export const register = (kit) => {
          kit.tool({ name: "echo", description: "Echo.", effect: "read", input: kit.jsonSchema({ type: "object", properties: { say: { type: "string" } }, required: ["say"] }), run: async ({ say }) => say, render: (said) => said });
          kit.tool({ name: "picky", description: "Refuses.", effect: "read", input: kit.z.strictObject({}), run: async () => { throw kit.fail("Not today.", { code: "unavailable", hint: "Come tomorrow." }); }, render: () => "" });
          kit.prompt({ name: "greet", arguments: [{ name: "who", required: true }], get: async ({ who }) => [{ role: "user", content: { type: "text", text: "Hello " + who } }] });
          kit.resource({ uri: "mem://x", name: "x", read: async () => ({ uri: "mem://x", text: "X" }) });
          kit.resourceTemplate({ uriTemplate: "mem://{id}/y", name: "y", read: async (uri, { id }) => ({ uri, text: id }) });
        };`,
      },
      overrides: { "mcp.mode": "classic", "mcp.tools.custom_modules": "mods" },
    });
    expect(await app.text("echo", { say: "hi" })).toBe("hi");
    expect(await app.errorCode("echo", { say: 1 })).toBe("invalid_args");
    expect(await app.ask("picky", {})).toMatchObject({
      body: { error: "Not today. Come tomorrow.", meta: { error_code: "unavailable" } },
    });
    const origin = {
      caller: {
        agentId: "a",
        sessionId: "s",
        model: "m",
        transport: "cli" as const,
        principal: "local",
        owner: "test",
        may: new Set(["read"]),
      },
      correlationId: "c",
    };
    expect(await app.core.getPrompt("greet", { who: "you" }, origin)).toMatchObject([
      { content: { text: "Hello you" } },
    ]);
    await expect(app.core.getPrompt("greet", {}, origin)).rejects.toMatchObject({ code: "invalid_args" });
    expect(await app.core.readResource("mem://x", origin)).toMatchObject({ text: "X" });
    expect(await app.core.readResource("mem://42/y", origin)).toMatchObject({ text: "42" });
    await expect(app.core.readResource("mem://nope", origin)).rejects.toMatchObject({
      code: "resource_not_found",
    });
    const left = (await app.logs()).split("\n").filter((line) => line.includes("custom module left out"));
    expect(left.map((line) => JSON.parse(line).file)).toEqual([
      "a-broken.js",
      "b-empty.js",
      "c-clash.js",
      "d-syntax.js",
    ]);
  });
});

describe("sidecars", () => {
  test("REQ-T10: configured documents that exist are resources; denylisted and outside ones are not served", async () => {
    const outside = tempWorkspace({ "secret.md": "outside" });
    const app = await openTestApp({
      files: { "DOCS/agents.core.min.md": "# Agents\n" },
      overrides: {
        "mcp.resources.sidecars": JSON.stringify([
          "DOCS/agents.core.min.md",
          "DOCS/missing.md",
          `${outside}/secret.md`,
        ]),
      },
    });
    expect((await app.core.resources(TEST_CALLER)).map(({ uri }) => uri)).toEqual([
      "llmc://docs/agents.core.min.md",
    ]);
    const origin = {
      caller: {
        agentId: "a",
        sessionId: "s",
        model: "m",
        transport: "cli" as const,
        principal: "local",
        owner: "test",
        may: new Set(["read"]),
      },
      correlationId: "c",
    };
    expect(await app.core.readResource("llmc://docs/agents.core.min.md", origin)).toMatchObject({
      text: "# Agents\n",
      mimeType: "text/markdown",
    });
    await expect(app.core.readResource("llmc://docs/secret.md", origin)).rejects.toMatchObject({
      code: "resource_not_found",
    });
  });
});

describe("REQ-D2: one spelling of codes per family of tools", () => {
  test("for every tool, and for names that no tool has", async () => {
    const app = await openTestApp({ overrides: { "mcp.mode": "classic" } });
    const names = [...app.core.listTools().map(({ name }) => name), "linux_no_such", "kb_no_such", "no_such"];
    for (const name of names) {
      const result = await app.ask(name, { "no such argument": 1 });
      const column = name.startsWith("linux_") ? "linux" : /^(?:kb|admin)_/.test(name) ? "kb" : undefined;
      const known = Object.entries(ERROR_TABLE).map(([code, row]) =>
        column === undefined ? code : row[column],
      );
      expect(known).toContain(result.kind === "error" ? result.body.meta.error_code : name);
    }
    expect(await app.errorCode("linux.no_such")).toBe(ERROR_TABLE.unknown_tool.linux);
  });
});
