import { describe, expect, it } from "vitest";
import { openTestApp, TEST_CALLER, type TestApp } from "../../test/app.ts";
import type { CallResult } from "../core/call.ts";

const CONFIG = '[mcp]\nmode = "classic"\n';
const canAsk = (): boolean => true;

/** Calls a tool whose user agrees. */
const askAgreed = async (app: TestApp, tool: string, args: unknown = {}): Promise<CallResult> => {
  const asked = await app.ask(tool, args, { canAsk });
  if (asked.kind !== "questions") return asked;
  return app.ask(tool, args, { canAsk, answers: { grant: { action: "accept" } }, state: asked.state });
};

describe.each(["admin_get_status", "admin_get_metrics"])("REQ-T7 REQ-I4: %s is denied by default", (tool) => {
  it("where nobody can be asked, with a way out", async () => {
    const app = await openTestApp({ config: CONFIG });
    expect(await app.ask(tool)).toMatchObject({
      kind: "error",
      error: { code: "forbidden", hint: expect.stringContaining("mcp.security.policy_files") },
    });
  });

  it("and asks the user in the words of the matrix where they can be asked", async () => {
    const app = await openTestApp({ config: CONFIG });
    const asked = await app.ask(tool, {}, { canAsk });
    expect(asked).toMatchObject({
      kind: "questions",
      questions: { grant: { message: expect.stringContaining("Allow admin access?") } },
    });
  });

  it("and is refused to a caller that may not even read", async () => {
    const app = await openTestApp({ config: CONFIG });
    const caller = { ...TEST_CALLER, may: new Set(["write"]) };
    expect((await app.ask(tool, {}, { canAsk, caller })).kind).toBe("error");
  });
});

describe("REQ-T7: admin_get_status", () => {
  it("gives status, version, uptime and the checks", async () => {
    const app = await openTestApp({ config: CONFIG });
    await app.ask("rag_stats");
    const result = await askAgreed(app, "admin_get_status");
    expect(result).toMatchObject({
      kind: "ok",
      structured: {
        status: "healthy",
        version: expect.stringMatching(/^llmc /),
        uptime: expect.any(Number),
        health_checks: expect.arrayContaining([
          { name: "state_database", status: "ok", detail: expect.any(String) },
          { name: "policies", status: "ok", detail: "defaults" },
          { name: "memory", status: "ok", detail: expect.stringMatching(/MiB$/) },
          { name: "index", status: "ok", detail: "" },
        ]),
      },
    });
  });
});

describe("REQ-O6: admin_get_metrics", () => {
  it("gives counters, histograms and gauges by prefix and range", async () => {
    const app = await openTestApp({ config: CONFIG, files: { "a.txt": "a" } });
    await app.text("read_file", { path: "a.txt" });
    await app.ask("read_file", { path: "nothing" });
    const result = await askAgreed(app, "admin_get_metrics", { scope: "llmc_calls", timerange: "15m" });
    expect(result).toMatchObject({
      kind: "ok",
      structured: {
        counters: {
          'llmc_calls_total{tool="read_file",code="ok"}': 1,
          'llmc_calls_total{tool="read_file",code="file_not_found"}': 1,
        },
        histograms: {},
      },
    });
    const all = await askAgreed(app, "admin_get_metrics", {});
    expect(all).toMatchObject({
      structured: {
        metrics: { llmc_memory_bytes: expect.any(Number), llmc_cpu_seconds: expect.any(Number) },
        histograms: { 'llmc_call_duration_seconds{tool="read_file"}': { count: 2 } },
      },
    });
  });

  it("names the metrics that there are where none begins like that", async () => {
    const app = await openTestApp({ config: CONFIG, files: { "a.txt": "a" } });
    await app.text("read_file", { path: "a.txt" });
    expect(await askAgreed(app, "admin_get_metrics", { scope: "calls" })).toMatchObject({
      kind: "error",
      error: {
        message: 'No metric of that time begins with "calls".',
        hint: expect.stringMatching(/^There are: .*llmc_memory_bytes, .*llmc_calls_total(?!\{)/),
      },
    });
  });

  it("refuses another range and a scope without end", async () => {
    const app = await openTestApp({ config: CONFIG });
    expect(await app.errorCode("admin_get_metrics", { timerange: "2h" })).toBe("VALIDATION_ERROR");
    expect(await app.errorCode("admin_get_metrics", { scope: "x".repeat(201) })).toBe("VALIDATION_ERROR");
  });
});
