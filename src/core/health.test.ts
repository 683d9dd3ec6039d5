import { describe, expect, it } from "vitest";
import { openTestApp } from "../../test/app.ts";
import { toolModule } from "../../test/workspace.ts";
import { createHealth, type HealthProbe } from "./health.ts";

const IDLE = { running: 0, waiting: 0, maxRunning: 10 };

const healthOf = (probes: readonly HealthProbe[], load = IDLE) =>
  createHealth({ probes, load: () => load, breakers: () => ({}), now: () => 0 })();

describe("REQ-I11: the health of the server", () => {
  it("does not wait for a check that hangs", async () => {
    const startedAt = performance.now();
    const { status, checks } = await healthOf([{ name: "disk", check: () => new Promise(() => {}) }]);
    expect(performance.now() - startedAt).toBeLessThan(500);
    expect(status).toBe("unhealthy");
    expect(checks[0]).toMatchObject({ name: "disk", status: "failed", detail: "No answer within 80 ms." });
  });

  it("names backends as it names everything else", async () => {
    const breakers = () => ({ "the search program": "open", "knowledge bases": "closed" }) as const;
    const { checks } = await createHealth({ probes: [], load: () => IDLE, breakers, now: () => 0 })();
    expect(checks.map(({ name }) => name)).toEqual(["limits", "search_program", "knowledge_bases"]);
  });

  it("is worse while calls wait", async () => {
    expect(await healthOf([])).toMatchObject({ status: "healthy" });
    expect(await healthOf([], { running: 10, waiting: 3, maxRunning: 10 })).toMatchObject({
      status: "degraded",
      checks: [{ name: "limits", detail: "10 of 10 calls running, 3 waiting" }],
    });
  });

  it("sees calls that really wait, and the gauges do", async () => {
    const app = await openTestApp({
      config: '[mcp]\nmode = "classic"\nmax_concurrent_requests = 1\n[mcp.tools]\ncustom_modules = "mods"\n',
      files: {
        "mods/m.mjs": toolModule('tool("slow", () => new Promise((done) => setTimeout(done, 1500)));'),
      },
    });
    const calls = [app.ask("slow"), app.ask("slow")];
    await expect.poll(() => app.core.load()).toMatchObject({ running: 1, waiting: 1 });
    expect(app.metrics.over(1, "llmc_calls_").metrics).toEqual({
      llmc_calls_running: 1,
      llmc_calls_waiting: 1,
    });
    await Promise.all(calls);
    expect(app.core.load()).toMatchObject({ running: 0, waiting: 0 });
  });
});
