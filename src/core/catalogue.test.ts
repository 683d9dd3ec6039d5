import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { openTestApp } from "../../test/app.ts";
import { jsonSchema, matchTemplate } from "../mcp/kit.ts";
import { decideByDefault } from "../policy/cedar/default-decision.ts";
import { defineTool, type ToolEntry } from "../tools/tool.ts";
import { EFFECTS } from "./contract.ts";
import { type CoreSettings, createCore } from "./core.ts";
import type { Mode } from "./modes.ts";

const CALLER = {
  agentId: "test",
  sessionId: "test-session",
  principal: "local",
  owner: "test",
  model: "none",
  transport: "http",
  may: new Set<string>(EFFECTS),
} as const;

/** A tool that says how often it was loaded, and takes its time for it. */
const entryOf = (name: string, loads: string[], ready: Promise<void> = Promise.resolve()): ToolEntry => ({
  name,
  load: async () => {
    loads.push(name);
    await ready;
    if (name === "broken") throw new Error("the marker of a module");
    return defineTool({
      name,
      ...(name === "second" ? { aliases: ["other_second"] } : {}),
      description: `Is ${name}.`,
      effect: "read",
      input: z.strictObject({}),
      output: z.object({ data: z.string() }),
      run: async () => ({ data: name }),
      render: ({ data }) => data,
    });
  },
});

/** The real core over tools of our own. */
const openCore = async (entries: (loads: string[]) => readonly ToolEntry[], mode: Mode = "hybrid") => {
  const app = await openTestApp();
  const engines = await app.engines();
  const loads: string[] = [];
  const state = { mode };
  const core = await createCore({
    settings: (): CoreSettings => ({
      ...app.core.settings(),
      mode: state.mode,
      promotedTools: ["first"],
      includeExecuteCode: false,
    }),
    tools: entries(loads),
    ports: (server) => ({
      main: { ...engines, server },
      linux: { ...engines, server },
      outside: () => ({ ...engines, server }),
      realPathOf: async () => undefined,
    }),
    metrics: async () => ({}),
    metricsOver: () => ({ metrics: {}, histograms: {}, counters: {} }),
    probes: [],
    schemas: { get: (_key, make) => make(), clear: () => {} },
    countQuestion: () => {},
    hideSecrets: (text) => text,
    observer: app.observer,
    audit: app.audit,
    modules: { list: async () => [], load: async () => ({}) },
    executables: { list: async () => ({ found: [], leftOut: [] }), check: async () => {} },
    jsonSchema: async () => jsonSchema,
    matchTemplate: async (template, uri) => matchTemplate(template, uri),
    watchFile: () => () => {},
    program: "test",
    waiting: () => [],
    problems: () => [],
    now: () => performance.now(),
    policy: {
      decide: (request) => decideByDefault(request, false),
      promptOf: () => undefined,
      version: () => 0,
    },
    workspace: "test",
    newId: app.newId,
    digest: (text) => text,
  });
  const call = (tool: string, correlationId = app.newId()) =>
    core.callInAnyMode({ tool, args: {}, correlationId, caller: CALLER });
  return { app, core, state, loads, call };
};

const NAMES = ["first", "second", "third"];

describe("tools are loaded when they are listed or called", () => {
  test("a mode loads those that it lists, and a list that grows loads the rest", async () => {
    const { core, state, loads } = await openCore((log) => NAMES.map((name) => entryOf(name, log)));
    expect(loads).toEqual(["first"]);
    state.mode = "classic";
    await core.refresh();
    expect(core.listTools().map(({ name }) => name)).toEqual(NAMES);
  });

  test("what the mode hides is unknown, and is not loaded for a caller who names it", async () => {
    const { core, loads } = await openCore((log) => NAMES.map((name) => entryOf(name, log)));
    const result = await core.call({ tool: "second", args: {}, correlationId: "c", caller: CALLER });
    expect(result).toMatchObject({ kind: "error", error: { code: "unknown_tool" } });
    expect(loads).toEqual(["first"]);
  });

  test("REQ-D21: no way out is named that does not lead anywhere: a switched-off tool, and a mode with a list of its own", async () => {
    const off = await openTestApp({ overrides: { "mcp.rlm.enabled": "false", "mcp.mode": "classic" } });
    expect(await off.ask("rlm_query", { task: "x" })).toMatchObject({
      error: {
        code: "unknown_tool",
        message: "rlm_query is switched off.",
        hint: "The operator decides in mcp.rlm.enabled.",
      },
    });
    const programs = await openTestApp({ overrides: { "mcp.mode": "code_execution" } });
    expect(await programs.ask("stat", { path: "a" })).toMatchObject({
      error: { hint: "A program (execute_code) can call stat." },
    });
  });

  test("REQ-D21: a tool that hybrid mode does not list is named with the ways to it, never with another one", async () => {
    const app = await openTestApp();
    const refused = await app.ask("linux_fs_delete", { path: "a" });
    expect(refused).toMatchObject({
      kind: "error",
      error: {
        message: "linux_fs_delete exists, but is not listed in hybrid mode.",
        hint: "A program (execute_code) can call linux_fs_delete. The operator can offer linux_fs_delete: mcp.hybrid.promoted_tools.",
      },
    });
    const removing = await app.ask("run_cmd", { command: "rm a.txt" });
    expect(removing).toMatchObject({
      error: {
        hint: expect.stringMatching(/^A program \(execute_code\) can call linux_fs_delete\. The operator/),
      },
    });
    const loop = await app.ask("run_cmd", { command: "for f in *; do cat $f; done" });
    expect(loop).toMatchObject({ error: { hint: expect.stringContaining("as a program: execute_code.") } });
  });

  test("an endpoint calls a hidden tool by name, dotted name or alias, and only the named one is loaded", async () => {
    const { call, loads } = await openCore((log) =>
      ["first", "second", "linux_third"].map((name) => entryOf(name, log)),
    );
    expect(await call("second")).toMatchObject({ kind: "ok", structured: { data: "second" } });
    expect(await call("linux.third")).toMatchObject({ kind: "ok", structured: { data: "linux_third" } });
    expect(loads).toEqual(["first", "second", "linux_third"]);
    expect(await call("other_second")).toMatchObject({ kind: "ok", structured: { data: "second" } });
    expect(await call("thrid")).toMatchObject({
      kind: "error",
      error: { code: "unknown_tool", message: 'There is no tool "thrid".' },
    });
  });

  test("FAIL-D8: a module that cannot be loaded is an internal error with an id; its message stays inside", async () => {
    const { app, call } = await openCore((log) => ["first", "broken"].map((name) => entryOf(name, log)));
    const result = await call("broken", "11111111-2222-3333-4444-555555555555");
    expect(result).toMatchObject({
      kind: "error",
      body: {
        meta: { error_code: "internal_error", correlation_id: "11111111-2222-3333-4444-555555555555" },
      },
    });
    expect(JSON.stringify(result)).not.toContain("marker");
    expect(await app.logs()).toContain("11111111-2222-3333-4444-555555555555");
    expect(await call("first")).toMatchObject({ kind: "ok" });
  });

  test("REQ-M8: of two changes of the mode the later one stays, also where the earlier has more to load", async () => {
    const slow = Promise.withResolvers<void>();
    const { core, state, loads } = await openCore((log) => [
      entryOf("first", log),
      entryOf("second", log, slow.promise),
    ]);
    state.mode = "classic";
    const toClassic = core.refresh();
    await expect.poll(() => loads).toContain("second");
    state.mode = "hybrid";
    const back = core.refresh();
    // The later one has nothing to load: out of turn, it would be done long before this.
    await Promise.race([back, sleep(200)]);
    slow.resolve();
    await Promise.all([toClassic, back]);
    expect(core.health()).toMatchObject({ mode: "hybrid", tools: 1 });
  });
});
