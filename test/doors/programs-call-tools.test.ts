import { chmodSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isRecord } from "../../src/base/is-record.ts";
import type { CallResult } from "../../src/core/call.ts";
import type { Language } from "../../src/sandbox/contract.ts";
import { allTools } from "../../src/tools/all.ts";
import { type TestApp, tempWorkspace } from "../app.ts";
import { runLlmc } from "../command-line.ts";
import { js, openRlmStand } from "../rlm-stand.ts";
import { TOOL_ARGUMENTS, TOOL_FILES } from "../tool-arguments.ts";

/** Names of fields whose values differ between any two calls: times, measurements, identifiers. */
const CHANGES =
  /^(?:mtime|mtime_iso|handle|pid|proc_id|session_id|budget_remaining|duration_ms|latency_ms|timings)$/;

/** What a value is made of: names of fields and kinds of values, and of a list the different kinds of items. */
const shapeOf = (value: unknown): unknown => {
  if (Array.isArray(value)) {
    const shapes = new Set(value.map((item) => JSON.stringify(shapeOf(item))));
    return [...shapes].toSorted();
  }
  if (!isRecord(value)) return typeof value;
  return Object.fromEntries(
    Object.keys(value)
      .toSorted()
      .map((key) => [key, shapeOf(value[key])]),
  );
};

/** The value itself, and only the shape of what changes from call to call. */
const comparable = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(comparable);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, CHANGES.test(key) ? shapeOf(item) : comparable(item)]),
  );
};

/** Tools whose whole answer is about this very moment. */
const OF_THE_MOMENT = new Set([
  "linux_proc_list",
  "linux_sys_snapshot",
  "get_metrics",
  "admin_get_metrics",
  "admin_get_status",
  "health",
]);

const comparableOf = (name: string, value: unknown): unknown =>
  OF_THE_MOMENT.has(name) ? shapeOf(value) : comparable(value);

const TOOLS = allTools.map(({ name }) => name).filter((name) => name !== "execute_code");

const PROGRAMS: Readonly<Record<Exclude<Language, "typescript">, (name: string) => string>> = {
  javascript: (name) =>
    `try { ({ value: await tools[${JSON.stringify(name)}](inputs) }) } catch (e) { ({ code: e.code, message: e.message }) }`,
  python: (name) =>
    `try:\n    r = {"value": await tools[${JSON.stringify(name)}](**inputs)}\nexcept ToolError as e:\n    r = {"code": e.code, "message": e.message}\nr`,
};

/** The workspace as it was at first, for the next call. */
const reset = (root: string): void => {
  for (const name of readdirSync(root))
    if (![".llmc", "llmc.toml"].includes(name)) rmSync(join(root, name), { recursive: true, force: true });
  for (const [path, text] of Object.entries(TOOL_FILES)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
};

/** As a client whose user agrees to whatever they are asked. */
const askAgreeing = async (app: TestApp, tool: string, args: object): Promise<CallResult> => {
  const canAsk = (): boolean => true;
  let answer = await app.ask(tool, args, { canAsk });
  while (answer.kind === "questions") {
    const answers = Object.fromEntries(
      Object.keys(answer.questions).map((key) => [key, { action: "accept" }]),
    );
    answer = await app.ask(tool, args, { canAsk, state: answer.state, answers });
  }
  return answer;
};

const structuredOf = async (app: TestApp, tool: string, args: object): Promise<unknown> => {
  const answer = await askAgreeing(app, tool, args);
  if (answer.kind !== "ok") throw new Error(JSON.stringify(answer));
  return answer.structured;
};

const hitsOf = async (app: TestApp) =>
  (await structuredOf(app, "kb_hybrid_search", TOOL_ARGUMENTS["kb_hybrid_search"] ?? {})) as {
    readonly hits: readonly { readonly chunk_id: string; readonly meta: { readonly doc_id: string } }[];
  };

/** What the names in angle brackets stand for; a process of its own for each call, since some of them end it. */
const IDENTIFIERS: Readonly<Record<string, (app: TestApp) => Promise<string | undefined>>> = {
  "<handle>": async (app) => {
    const code = "Array.from({ length: 5000 }, (_, n) => n)";
    const made = await structuredOf(app, "execute_code", { language: "javascript", code });
    return (made as { readonly meta: { readonly result_handle?: string } }).meta.result_handle;
  },
  "<process>": async (app) =>
    ((await structuredOf(app, "linux_proc_start", { command: "cat" })) as { readonly proc_id: string })
      .proc_id,
  "<document>": async (app) => (await hitsOf(app)).hits[0]?.meta.doc_id,
  "<passage>": async (app) => (await hitsOf(app)).hits[0]?.chunk_id,
};

const argumentsOf = async (app: TestApp, name: string): Promise<object> => {
  let text = JSON.stringify(TOOL_ARGUMENTS[name]);
  for (const [placeholder, find] of Object.entries(IDENTIFIERS))
    if (text.includes(placeholder)) text = text.replace(placeholder, (await find(app)) ?? "none");
  return JSON.parse(text) as object;
};

const callDirectly = async (app: TestApp, name: string): Promise<unknown> => {
  reset(app.root);
  const answer = await askAgreeing(app, name, await argumentsOf(app, name));
  if (answer.kind === "error") return { code: answer.body.meta.error_code, message: answer.body.error };
  if (answer.kind !== "ok") throw new Error(JSON.stringify(answer));
  return { value: answer.structured };
};

const callFromProgram = async (
  app: TestApp,
  name: string,
  language: keyof typeof PROGRAMS,
): Promise<unknown> => {
  reset(app.root);
  const code = PROGRAMS[language](name);
  // One interpreter for all tools: a start of each would take most of the time.
  const program = {
    language,
    code,
    inputs: await argumentsOf(app, name),
    timeout_s: 120,
    session: "all tools",
  };
  const answer = await askAgreeing(app, "execute_code", program);
  if (answer.kind !== "ok") throw new Error(JSON.stringify(answer));
  return (answer.structured as { readonly data: { readonly result: unknown } }).data.result;
};

/** What a run of two tests prints; the real program is not on every machine. */
const PYTEST = `#!/bin/sh
cat <<'END'
FAILED test_x.py::test_y - assert 1 == 2
1 failed, 1 passed in 0.12s
END
exit 1
`;

/** With a flow, a knowledge base, a model that writes a program, and a runner of tests: every tool has its answer. */
const openStand = async (atEnd: (work: () => Promise<void> | void) => void): Promise<TestApp> => {
  const venv = tempWorkspace({ "bin/pytest": PYTEST }, atEnd);
  chmodSync(join(venv, "bin/pytest"), 0o755);
  const app = await openRlmStand(
    { root: () => js("finish(context.split(' ').join(', '))") },
    {
      files: TOOL_FILES,
      config: `[mcp.kb]\nflows = "flows"\n[mcp.tools]\nrun_cmd_allowlist = ["cat", "${venv}/bin/pytest"]\nallowed_roots = [".", "${venv}"]\n`,
    },
    atEnd,
  );
  const env = Object.fromEntries(
    Object.entries(process.env).filter((pair): pair is [string, string] => pair[0].startsWith("XDG_")),
  );
  for (const args of [
    ["create", "hand"],
    ["add", "hand", "docs"],
    ["promote", "hand"],
  ]) {
    const ended = await runLlmc(app.root, ["kb", ...args], { env });
    if (ended.code !== 0) throw new Error(ended.err + ended.out);
  }
  return app;
};

describe("REQ-E2 REQ-E4: every tool answers a program as it answers a client", () => {
  const ends: (() => Promise<void> | void)[] = [];
  let app: TestApp;

  beforeAll(async () => {
    app = await openStand((work) => ends.unshift(work));
  }, 120_000);
  afterAll(async () => {
    for (const work of ends) await work();
  });

  test("the table names every tool", () => {
    expect(Object.keys(TOOL_ARGUMENTS).toSorted()).toEqual(TOOLS.toSorted());
  });

  test.each(TOOLS)("%s", { timeout: 180_000 }, async (name) => {
    // Metrics name what was called before.
    if (OF_THE_MOMENT.has(name)) await callDirectly(app, name);
    const direct = comparableOf(name, await callDirectly(app, name));
    expect(direct).toMatchObject({ value: {} });
    for (const language of ["javascript", "python"] as const)
      expect(comparableOf(name, await callFromProgram(app, name, language)), language).toEqual(direct);
  });
});
