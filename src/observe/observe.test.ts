import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import { openTestApp } from "../../test/app.ts";
import { tokenCounter } from "../host/os/token-counter.ts";
import { subjectOf } from "./subject.ts";
import { AUDIT_HEADER } from "./token-audit.ts";

const MARKER = "zebra-marker-4711";
const lines = (logs: string): Record<string, unknown>[] =>
  logs
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
const TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

const TRANSLATE = `export const register = ({ tool, z }) => tool({
  name: "translate", description: "Translates.", effect: "read",
  input: z.strictObject(Object.fromEntries(["path", "source", "root", "cwd"].map((name) => [name, z.string().optional()]))),
  output: z.object({ out: z.string() }), run: async () => ({ out: "done" }), render: ({ out }) => out,
});`;

describe("logs", () => {
  test("REQ-O2: one JSON record per call, with correlation id, tool, latency and outcome", async () => {
    const app = await openTestApp({ files: { "a.txt": "x" } });
    await app.ask(
      "read_file",
      { path: "a.txt" },
      { correlationId: "aaaaaaaa-0000", traceparent: TRACEPARENT, route: "/tool" },
    );
    await app.ask("read_file", { path: "nope" }, { correlationId: "bbbbbbbb-0000" });
    const calls = lines(await app.logs()).filter(({ tool }) => tool === "read_file");
    expect(calls).toMatchObject([
      {
        level: "info",
        correlation_id: "aaaaaaaa-0000",
        trace_id: "0af7651916cd43dd8448eb211c80319c",
        msg: "call",
        route: "/tool",
        status: 200,
        path: "a.txt",
      },
      {
        level: "info",
        correlation_id: "bbbbbbbb-0000",
        error_code: "file_not_found",
        msg: "call refused",
        route: "cli",
        status: 404,
        args_digest: expect.stringMatching(/^[0-9a-f]{12}$/),
      },
    ]);
    expect(calls[1]).not.toHaveProperty("path");
    expect(calls[0]?.["duration_ms"]).toBeGreaterThan(0);
  });

  test("REQ-O2: every line has a correlation id, those of no call that of the run", async () => {
    const app = await openTestApp({ overrides: { "mcp.logging.level": "debug" } });
    await app.text("list_dir", {});
    const all = lines(await app.logs());
    expect(all.length).toBeGreaterThan(1);
    for (const line of all) expect(line["correlation_id"], JSON.stringify(line)).toMatch(/^[0-9a-f-]{36}$/);
    expect(new Set(all.map((line) => line["correlation_id"])).size).toBe(2);
  });

  test("REQ-O2: a path that leads out of the workspace, a handle and a question are told by a digest", () => {
    const about = (args: unknown, reached?: string) => subjectOf(args, reached, () => "as measured");
    expect(about({ path: "./src/../a.ts" }, "path")).toEqual({ path: "a.ts" });
    expect(about({ root: "src", pattern: "secret" }, "root")).toEqual({ path: "src" });
    for (const args of [
      { path: "../x" },
      { path: "/etc/passwd" },
      { path: "handle:h_abc" },
      { query: "q" },
      undefined,
    ])
      expect(about(args, "path")).toEqual({ args: "as measured" });
    expect(about({ path: "a.ts" })).not.toHaveProperty("path");
  });

  test("REQ-O2: an argument of a custom tool is told by a digest, whatever it is called", async () => {
    const app = await openTestApp({
      files: { "mods/translate.mjs": TRANSLATE },
      overrides: { "mcp.mode": "classic", "mcp.tools.custom_modules": "mods" },
    });
    for (const name of ["path", "source", "root", "cwd"]) await app.text("translate", { [name]: MARKER });
    const logs = await app.logs();
    expect(logs.match(/"tool":"translate"/g)?.length).toBeGreaterThanOrEqual(4);
    expect(logs).not.toContain(MARKER);
  });

  test("REQ-O2 REQ-L6: neither arguments nor content reach the log, at any level", async () => {
    const app = await openTestApp({
      files: { "a.txt": `${MARKER} in the file` },
      overrides: { "mcp.observability.log_level": "trace" },
    });
    await app.text("read_file", { path: "a.txt" });
    await app.errorCode("read_file", { path: `${MARKER}.txt` });
    await app.errorCode("read_file", { path: "a.txt", [MARKER]: 1 });
    await app.errorCode(MARKER);
    expect(await app.logs()).not.toContain(MARKER);
  });

  test("REQ-O2: text format, levels and the correlation id are configurable", async () => {
    const app = await openTestApp({
      overrides: {
        "mcp.logging.structured_output": "false",
        "mcp.observability.include_correlation_id": "false",
      },
    });
    await app.text("list_dir", {});
    expect(await app.logs()).toMatch(
      /^\S+ INFO call tool=list_dir route=cli status=200 args_digest=\S+ duration_ms=/m,
    );
    expect(await app.logs()).not.toContain("correlation_id=");
    const quiet = await openTestApp({ overrides: { "mcp.observability.log_level": "error" } });
    await quiet.text("list_dir", {});
    expect(await quiet.logs()).toBe("");
  });

  test("REQ-C3: the effective configuration is logged at start, at debug level only", async () => {
    const overrides = { "mcp.observability.otlp_endpoint": "", "mcp.server.port": "9123" };
    expect(await (await openTestApp({ overrides })).logs()).toBe("");
    const app = await openTestApp({ overrides: { ...overrides, "mcp.logging.level": "debug" } });
    expect(lines(await app.logs())[0]).toMatchObject({
      msg: "effective configuration",
      config: { values: { "mcp.server.port": 9123 } },
    });
  });
});

describe("metrics", () => {
  test("REQ-O1: histograms by tool, errors by code, in Prometheus format", async () => {
    const app = await openTestApp({ files: { "a.txt": "x" } });
    const scrape = await app.metrics.servePrometheus();
    await app.text("read_file", { path: "a.txt" });
    await app.errorCode("read_file", { path: "nope" });
    await app.errorCode("no_such_tool_at_all");
    const { contentType, body } = await scrape();
    expect(contentType).toContain("text/plain");
    expect(body).toContain('llmc_calls_total{tool="read_file",code="ok"} 1');
    expect(body).toContain('llmc_calls_total{tool="read_file",code="file_not_found"} 1');
    expect(body).toContain('llmc_calls_total{tool="unknown",code="unknown_tool"} 1');
    expect(body).toContain('llmc_call_duration_seconds_bucket{le="0.15",tool="read_file"} 2');
    expect(body).not.toContain("no_such_tool_at_all");
  });

  test("REQ-O1: the switches turn them off", async () => {
    for (const key of ["mcp.observability.metrics_enabled", "mcp.observability.enabled"]) {
      const app = await openTestApp({ overrides: { [key]: "false" } });
      const scrape = await app.metrics.servePrometheus();
      await app.text("list_dir", {});
      expect((await scrape()).body).not.toContain('llmc_calls_total{tool="list_dir"');
    }
  });
});

describe("the token audit", () => {
  const on = { "mcp.observability.csv_token_audit_enabled": "true" };

  test("REQ-O3: one line per call with exact counts, in the configured file", async () => {
    const app = await openTestApp({
      files: { "a.txt": "The quick brown fox <|endoftext|>\n" },
      overrides: on,
    });
    const scrape = await app.metrics.servePrometheus();
    const args = { path: "a.txt" };
    const answer = await app.text("read_file", args);
    await app.errorCode("read_file", { path: "nope" });
    await app.close();
    const [header, first, second] = readFileSync(join(app.root, "artifacts/token_audit.csv"), "utf8").split(
      "\n",
    );
    expect(header).toBe(AUDIT_HEADER);
    const count = await tokenCounter();
    const cells = first?.split(",") ?? [];
    expect(cells.slice(2, 8)).toEqual([
      "test",
      "test-session",
      "none",
      "read_file",
      String(count(JSON.stringify(args))),
      String(count(answer)),
    ]);
    expect(second?.endsWith(",file_not_found,")).toBe(true);
    expect((await scrape()).body).toContain(`llmc_call_tokens_total{direction="in"}`);
  });

  test("REQ-O3: names of clients cannot break the file or become formulas", async () => {
    const app = await openTestApp({ overrides: on });
    await app.ask(
      "list_dir",
      {},
      {
        caller: {
          agentId: '=cmd|"x",\n',
          sessionId: "s",
          model: "m",
          transport: "cli",
          principal: "local",
          owner: "test",
          may: new Set(["read"]),
        },
      },
    );
    await app.close();
    const body = readFileSync(join(app.root, "artifacts/token_audit.csv"), "utf8");
    expect(body).toContain(`"'=cmd|""x"",\n"`);
  });

  test("REQ-O3: lines past the retention go at start", async () => {
    const app = await openTestApp({
      files: {
        "artifacts/token_audit.csv": `${AUDIT_HEADER}\n2001-01-01T00:00:00.000Z,old\n${new Date().toISOString()},new\n`,
      },
      overrides: { ...on, "mcp.observability.retention_days": "30" },
    });
    await app.close();
    const body = readFileSync(join(app.root, "artifacts/token_audit.csv"), "utf8");
    expect(body).not.toContain("2001");
    expect(body).toContain(",new\n");
  });

  test("FAIL-D7: a place that cannot be written costs a warning, not the call", async () => {
    const app = await openTestApp({
      overrides: { ...on, "mcp.observability.csv_path": "blocked/audit.csv" },
    });
    writeFileSync(join(app.root, "blocked"), "a file where a folder should be");
    expect(await app.text("list_dir", {})).toBe("blocked");
    await app.close();
    expect(await app.logs()).toContain("the token audit could not be written");
  });
});

describe("traces", () => {
  test("REQ-O4: spans continue the caller's trace and are exported when configured", async () => {
    const bodies: string[] = [];
    const sink = createServer(async (request, response) => {
      bodies.push(await text(request));
      response.end("{}");
    });
    await new Promise<void>((resolve) => sink.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void sink.close());
    const { port } = sink.address() as AddressInfo;
    const app = await openTestApp({
      files: { "a.txt": MARKER },
      overrides: { "mcp.observability.otlp_endpoint": `http://127.0.0.1:${port}/v1/traces` },
    });
    await app.ask("read_file", { path: "a.txt" }, { traceparent: TRACEPARENT });
    await app.ask("read_file", { path: `${MARKER}-2` }, { traceparent: "not a traceparent" });
    await app.close();
    const sent = bodies.map((body) => JSON.parse(body));
    const spans = sent.flatMap(({ resourceSpans }) => resourceSpans[0].scopeSpans[0].spans);
    expect(spans).toMatchObject([
      {
        name: "call read_file",
        traceId: "0af7651916cd43dd8448eb211c80319c",
        parentSpanId: "b7ad6b7169203331",
      },
      { name: "call read_file", status: { code: 2 } },
    ]);
    expect(bodies.join("")).not.toContain(MARKER);
  });

  test("REQ-O4: propagation can be switched off", async () => {
    const app = await openTestApp({ overrides: { "mcp.logging.trace_propagation": "false" } });
    await app.ask("list_dir", {}, { traceparent: TRACEPARENT });
    expect(await app.logs()).not.toContain("0af7651916cd43dd8448eb211c80319c");
  });
});
