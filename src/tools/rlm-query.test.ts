import { readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TEST_CALLER } from "../../test/app.ts";
import { guestsOf } from "../../test/descendants.ts";
import { openaiAnswer } from "../../test/model-server.ts";
import { js, openRlmStand, type RlmStand } from "../../test/rlm-stand.ts";
import { ERROR_TABLE, type ErrorCode } from "../base/error-table.ts";
import { rlmQuery } from "./rlm-query.ts";

const bodyOf = (result: Awaited<ReturnType<RlmStand["query"]>>) => {
  if (result.kind !== "error") throw new Error(`expected a failure: ${JSON.stringify(result).slice(0, 500)}`);
  return result.body;
};

interface Output {
  readonly data: {
    readonly answer: string;
    readonly session_id: string;
    readonly budget_summary: Record<string, unknown>;
    readonly evidence?: readonly Record<string, unknown>[];
  };
  readonly meta: Record<string, unknown>;
}

const outputOf = (result: Awaited<ReturnType<RlmStand["query"]>>): Output => {
  if (result.kind !== "ok") throw new Error(`expected success: ${JSON.stringify(result).slice(0, 1000)}`);
  return result.structured as Output;
};

const LINES = Array.from({ length: 2000 }, (_, at) => `entry ${at}: ${at % 7 === 0 ? "red" : "blue"}`);
const TEXT = `${LINES.slice(0, 1500).join("\n")}\nthe needle is 4711\n${LINES.slice(1500).join("\n")}\n`;

describe("rlm_query", () => {
  let stand: RlmStand;
  const cleanups: (() => Promise<void> | void)[] = [];
  beforeAll(async () => {
    stand = await openRlmStand(
      { root: () => 500 },
      {
        llm: 'prices = ["openai/root=1/2", "openai/sub=1/2"]',
        rlm: "max_budget_usd = 5\nmax_bytes_limit = 2000000",
        files: {
          "log.txt": TEXT,
          "big.txt": "x".repeat(300_000),
          "empty.txt": "",
          ".env": "KEY=1",
          "db-credential.txt": "p",
          "code.py": "class A:\n    def f(self):\n        return 1\n",
        },
      },
      (work) => void cleanups.push(work),
    );
    symlinkSync("/etc/hostname", join(stand.root, "link.txt"));
  });
  afterAll(async () => {
    for (const work of cleanups.toReversed()) await work();
  });

  test("REQ-T6 REQ-L1 REQ-L3 REQ-D9: answers in the document's shape, with sub-calls, a child, evidence and its spending", async () => {
    const before = stand.server.requests.length;
    stand.play({
      root: (turn, shown, task) => {
        if (task === "how long") return js("finish(String(context.length))");
        if (turn === 1)
          return js("const found = await grep('needle is (\\\\d+)'); print(found.hits[0].text)");
        expect(shown).toContain("the needle is 4711");
        return js(`const parts = await llmBatch(["one", "two", "one"]);
const found = await rlm("how long", {start: 0, end: 123});
finish(parts.join(" ") + " " + found, {evidence: ["the needle is 4711", {start: 0, end: 7}]})`);
      },
      sub: (prompt) => prompt.toUpperCase(),
    });
    const progress: unknown[] = [];
    const result = await stand.query(
      { task: "where is it?", path: "log.txt" },
      { progress: async (...one) => void progress.push(one) },
    );
    const output = outputOf(result);
    expect(output).toEqual({
      data: {
        answer: "ONE TWO ONE 123",
        session_id: expect.stringMatching(/\S/),
        budget_summary: {
          total_cost_usd: expect.closeTo((5 * (11 + 7 * 2)) / 1e6, 12),
          budget_usd: 1,
          calls: 5,
          failed_calls: 0,
          input_tokens: 55,
          output_tokens: 35,
          cache_read_tokens: 0,
          cache_saved_usd: 0,
          cached_calls: 0,
          unpriced_calls: 0,
          turns: 3,
          by_depth: [
            expect.objectContaining({ depth: 0, calls: 2 }),
            expect.objectContaining({ depth: 1, calls: 3 }),
          ],
        },
        evidence: [
          {
            start: TEXT.indexOf("the needle"),
            end: TEXT.indexOf("the needle") + 18,
            line: 1501,
            text: "the needle is 4711",
          },
          { start: 0, end: 7, line: 1, text: "entry 0" },
        ],
      },
      meta: {
        source: { type: "path", path: "log.txt", bytes_read: Buffer.byteLength(TEXT), truncated: false },
        model_used: "openai/root",
        trace_included: false,
      },
    });
    // The text block is the same document, and a success has no top-level error.
    expect(result.kind === "ok" && result.content).toEqual([{ type: "text", text: JSON.stringify(output) }]);
    expect(stand.server.requests.length - before).toBe(5);
    // The model was never sent the context: only its head, and what its programs printed.
    const [first] = stand.rootRequests();
    expect(first?.text).toContain("entry 3: blue");
    expect(first?.text).not.toContain("entry 1200");
    expect(first?.text.length).toBeLessThan(8000);
    expect(progress.at(-1)).toEqual([
      expect.any(Number),
      5,
      expect.stringMatching(/^turn 2 of 5 \| 5 calls \| \$0\.0001 of \$1\.00 \| 0 end ok$/),
    ]);
    const done = progress.map((one) => Number((one as unknown[])[0]));
    expect(done).toEqual(done.toSorted((a, b) => a - b));
  });

  test("REQ-L3: the helpers of the interpreter, variables that stay, and names that are declared again", async () => {
    stand.play({
      root: (turn, shown) => {
        if (turn === 1)
          return js(`const a = lines(1, 2); let b = chunks(1000, 100).length; class C {}
print(a, b, lineChunks(500)[1].slice(0, 5), typeof process, typeof require);
print((await rank("needle", {k: 1}))[0].line, (await outline()).length, await budget())`);
        if (turn === 2) {
          expect(shown).toContain("entry 0: red\nentry 1: blue");
          expect(shown).toContain("undefined undefined");
          expect(shown).toMatch(/"usd_left":0\.99/);
          return js(
            "const a = [context.length, b]; const error = await symbol('nothing').catch((e) => e.code); print(a, error)",
          );
        }
        expect(shown).toContain("text_not_found");
        return js(
          "const a = context.split('\\n').filter((line) => line.endsWith('red')).length; finish(String(a))",
        );
      },
    });
    const { data } = outputOf(await stand.query({ task: "how many are red?", context: TEXT }));
    expect(data.answer).toBe(String(LINES.filter((line) => line.endsWith("red")).length));
  });

  test("REQ-L3: code has an outline, by the file's name or the hint", async () => {
    const root = (turn: number, shown: string) => {
      if (turn === 1) expect(shown).toContain("A.f (line 2)");
      return js("const it = await symbol('A.f'); finish(it.text.trim())");
    };
    stand.play({ root });
    expect(outputOf(await stand.query({ task: "f?", path: "code.py" })).data.answer).toBe(
      "def f(self):\n        return 1",
    );
    const hinted = {
      task: "f?",
      context: "class A:\n    def f(self):\n        return 1\n",
      language: "python",
    };
    expect(outputOf(await stand.query(hinted)).meta["source"]).toMatchObject({ type: "context" });
  });

  test("REQ-L3: code without a hint is recognised, children inherit its language, and long code says that it has no outline", async () => {
    const code =
      "import os\nfrom sys import argv\n\nclass A:\n    def f(self):\n        return 1\n\ndef g():\n    pass\n";
    stand.play({
      root: (_, shown, task) => {
        if (task === "child") return js("finish((await outline()).map((one) => one.name).join())");
        expect(shown).toContain("The context: python,");
        return js(`const names = (await outline()).map((one) => one.name).join();
const bySpan = await rlm("child", {start: context.indexOf("class A"), end: context.length});
const byText = await rlm("child", context.slice(context.indexOf("def g")));
finish(names + " / " + bySpan + " / " + byText)`);
      },
    });
    const { data } = outputOf(await stand.query({ task: "t", context: code }));
    expect(data.answer).toBe("A,A.f,g / A,A.f,g / g");
    stand.play({
      root: (_, shown) => {
        expect(shown).toContain("too long for an outline");
        return js("finish(await outline().catch((error) => error.message))");
      },
    });
    const long = outputOf(await stand.query({ task: "t", context: code.repeat(6000) }));
    expect(long.data.answer).toContain("more than 500000 characters");
    const wrong = bodyOf(await stand.query({ task: "t", context: code, language: "pyton" }));
    expect(wrong.error).toContain('Did you mean "python"');
  });

  test("REQ-L1 REQ-T6: the published schema is the document's, with the operator's defaults", async () => {
    const own = await openRlmStand(
      { root: () => 500 },
      { rlm: "default_max_bytes = 1000000\ndefault_timeout_s = 60" },
    );
    const schemaOf = (app: RlmStand) =>
      app.core.listTools().find(({ name }) => name === "rlm_query")?.inputSchema["properties"];
    expect(schemaOf(stand)).toEqual({
      task: expect.objectContaining({ type: "string", maxLength: 5000 }),
      path: { type: "string" },
      context: expect.objectContaining({ type: "string" }),
      budget_usd: { type: "number", minimum: 0.01, default: 1 },
      model: { type: "string" },
      max_bytes: { type: "integer", minimum: 1, default: 262_144 },
      timeout_s: { type: "integer", minimum: 1, default: 300 },
      max_turns: { type: "integer", minimum: 1, maximum: 10, default: 5 },
      language: { type: "string" },
    });
    expect(schemaOf(own)).toMatchObject({ max_bytes: { default: 1_000_000 }, timeout_s: { default: 60 } });
  });

  test("REQ-L3 FAIL-G3: odd turns are counted and answered, and never become an answer", async () => {
    const seen: string[] = [];
    const replies = [
      "The answer is 42.",
      `${js("finish(1)")}\n${js("finish(2)")}`,
      "```python\nfinish(3)\n```",
      js("finish("),
      js("finish()"),
      js("finish('   ')"),
      js("finish('x'); throw new Error('after the answer')"),
      js("finish('x', {evidence: ['not in the text']})"),
      js("finish('x', {evidence: [{start: 5, end: 99999999}]})"),
      `prose ${"y".repeat(1_000_000)}`,
    ];
    stand.play({
      root: (turn, shown) => {
        seen.push(shown);
        return replies[turn - 1] ?? "";
      },
    });
    const body = bodyOf(await stand.query({ task: "odd", context: TEXT, max_turns: 10 }));
    expect(body.meta).toMatchObject({
      error_code: "budget_exceeded",
      limit: "max_turns",
      retryable: false,
      turns: 10,
    });
    expect(body).not.toHaveProperty("data");
    for (const [at, part] of [
      "no program",
      "more than one program",
      "not in the language",
      "SyntaxError",
      "without an answer",
      "without an answer",
      "after the answer",
      "Evidence 1 is not in the context",
      "Evidence 1 is not in the context",
    ].entries())
      expect(seen[at + 1], `turn ${at + 1}`).toContain(part);
    expect(seen[9]).toContain("This is your last turn");
  });

  test("REQ-L3: an answer is a string; any other value is one where a schema asks for it, and the model is told", async () => {
    const seen: string[] = [];
    const replies = [
      js("finish(42)"),
      js("finish({found: true})"),
      js("finish(['a'])"),
      js(`const value = await rlm("value", "x", {schema: {type: "integer"}});
finish(typeof value + " " + value + " " + await rlm("text", "x"))`),
    ];
    stand.play({
      root: (turn, shown, task) => {
        if (task === "value") return js("finish(7)");
        if (task === "text") return js(turn === 1 ? "finish(8)" : "finish('eight')");
        seen.push(shown);
        return replies[turn - 1] ?? "";
      },
    });
    const { data } = outputOf(await stand.query({ task: "t", context: TEXT }));
    expect(data.answer).toBe("number 7 eight");
    for (const [at, what] of ["of the type number", "of the type object", "an array"].entries()) {
      expect(seen[at + 1]).toContain(what);
      expect(seen[at + 1]).toContain("give a string");
      expect(seen[at + 1]).toContain("was not taken");
    }
  });

  test("REQ-L3 FAIL-G3: repeated programs, floods, withheld and cut replies", async () => {
    const seen: string[] = [];
    const replies = [
      js("print('same')"),
      js("print('same')"),
      js("for (let i = 0; i < 1e5; i++) print('flood ' + i)"),
      "```js\nprint(1)",
    ];
    stand.play({
      root: (turn, shown) => {
        seen.push(shown);
        return replies[turn - 1] ?? "";
      },
    });
    const body = bodyOf(await stand.query({ task: "odd", context: TEXT, max_turns: 10 }));
    expect(body.meta).toMatchObject({ error_code: "provider_error", retryable: false, turns: 6 });
    expect(body.error).toContain("withheld its reply 2 times");
    expect(seen[2]).toContain("the same result");
    expect(seen[3]).toContain("flood 0\n");
    expect(seen[3]).toContain("characters left out");
    expect(seen[3]?.length).toBeLessThan(10_000);
    expect(seen[4]).toContain("cut off before its program ended");
    expect(seen[5]).toContain("empty or was withheld");
  });

  test("REQ-L3 FAIL-G3: a model that thinks until its tokens are used up is told so, and the error names the limit", async () => {
    const seen: string[] = [];
    stand.play({
      root: (_, shown) => {
        seen.push(shown);
        return openaiAnswer("", "length");
      },
    });
    const body = bodyOf(await stand.query({ task: "t", context: TEXT }));
    expect(body.meta).toMatchObject({ error_code: "provider_error", retryable: false, turns: 2 });
    expect(body.error).toContain("mcp.llm.max_output_tokens");
    expect(body.error).not.toContain("withheld");
    expect(seen[1]).toContain("mcp.llm.max_output_tokens");
    stand.play({
      root: () => js("finish((await llmBatch(['p']))[0].error.message)"),
      sub: () => openaiAnswer("", "length"),
    });
    const answered = await stand.query({ task: "t", context: TEXT });
    expect(JSON.stringify(answered)).toContain("the operator's limit is mcp.llm.max_output_tokens");
  });

  test("REQ-L4: calls that nobody waited for are in the spending, as their worst case", async () => {
    let isAsked = () => {};
    const asked = new Promise<void>((resolve) => {
      isAsked = resolve;
    });
    stand.play({
      root: (turn) =>
        js(turn === 1 ? "llm('nobody waits for it'); await llm('a call'); fail()" : "finish('done')"),
      sub: async (prompt) => {
        if (prompt === "a call") return asked.then(() => "ok");
        isAsked();
        return new Promise<string>(() => {});
      },
    });
    const { budget_summary: summary } = outputOf(await stand.query({ task: "t", context: TEXT })).data;
    expect(summary).toMatchObject({ calls: 4, failed_calls: 1 });
    // The prompt in bytes and the whole output limit, besides what three calls took.
    expect(summary["output_tokens"]).toBe(3 * 7 + 2048);
    const folder = join(stand.root, ".llmc/audit");
    const records = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .flatMap(({ parentPath, name }) => readFileSync(join(parentPath, name), "utf8").trim().split("\n"))
      .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
    expect(records.findLast(({ kind }) => kind === "analysis")).toMatchObject({
      calls: 4,
      cost_usd: summary["total_cost_usd"],
    });
    const calls = records.filter(({ kind }) => kind === "model_call").slice(-4);
    expect(calls.map(({ outcome }) => outcome)).toEqual(["ok", "ok", "cancelled", "ok"]);
  });

  test("REQ-L7 FAIL-G4: a prompt that is refused unsent is in no trace as a whole; one that was paid for is", async () => {
    const traced = await openRlmStand(
      {
        root: () =>
          js(
            "const codes = []; for (let n = 0; n < 5; n++) codes.push(await llm(n + 'x'.repeat(3_000_000)).catch((e) => e.code)); finish(codes.join(' ') + ' ' + (await llm('a question')))",
          ),
        sub: () => "an answer",
      },
      { rlm: 'trace_enabled = true\ntrace_content = true\ntrace_dir = "traces"' },
    );
    const { data, meta } = outputOf(await traced.query({ task: "t", context: "x" }));
    expect(data.answer).toBe(`${"budget_exceeded ".repeat(5)}an answer`);
    const file = readFileSync(join(traced.root, "traces", String(meta["trace_file"])), "utf8");
    expect(file.length).toBeLessThan(100_000);
    const [node] = JSON.parse(file).nodes;
    expect(node.calls.map(({ prompt }: { prompt: { text?: string } }) => prompt.text)).toEqual([
      ...Array(5).fill(undefined),
      "a question",
    ]);
    expect(node.calls[0].prompt.chars).toBe(3_000_001);
  });

  test("REQ-L7: of the traces of a folder the newest are kept, as many as the operator wants", async () => {
    const few = await openRlmStand(
      { root: () => js("finish('1')") },
      { rlm: 'trace_enabled = true\ntrace_dir = "traces"\ntrace_max_files = 2\nmax_budget_usd = 0.25' },
    );
    const names: unknown[] = [];
    for (let at = 0; at < 3; at++)
      names.push(outputOf(await few.query({ task: "t", context: "x", budget_usd: 0.25 })).meta["trace_file"]);
    expect(readdirSync(join(few.root, "traces")).sort()).toEqual(names.slice(1).sort());
    // The operator's limit may be a part of a dollar.
    const { meta } = bodyOf(await few.query({ task: "t", context: "x", budget_usd: 0.26 }));
    expect(meta).toMatchObject({ error_code: "invalid_args", field: "budget_usd" });
  });

  test("REQ-L4: with a cache of responses the same questions are answered again at no cost, each owner apart", async () => {
    const cached = await openRlmStand(
      { root: () => js("finish(await llm('a question'))"), sub: () => "an answer" },
      { llm: 'prices = ["openai/root=1/2", "openai/sub=1/2"]\nresponse_cache_minutes = 60' },
    );
    const ask = async (principal: string) => {
      const { data } = outputOf(
        await cached.query({ task: "t", context: TEXT }, { caller: { ...TEST_CALLER, principal } }),
      );
      return { answer: data.answer, ...data.budget_summary };
    };
    expect(await ask("ann")).toMatchObject({ answer: "an answer", calls: 2, cached_calls: 0 });
    expect(cached.server.requests).toHaveLength(2);
    expect(await ask("ann")).toMatchObject({
      answer: "an answer",
      calls: 2,
      cached_calls: 2,
      total_cost_usd: 0,
      input_tokens: 0,
    });
    expect(cached.server.requests).toHaveLength(2);
    expect(await ask("bob")).toMatchObject({ cached_calls: 0 });
    expect(cached.server.requests).toHaveLength(4);
    // Off unless asked for.
    stand.play({ root: () => js("finish('1')") });
    const before = stand.server.requests.length;
    for (let at = 0; at < 2; at++) await stand.query({ task: "the same", context: TEXT });
    expect(stand.server.requests.length - before).toBe(2);
  });

  test.each<[string, object, string]>([
    ["no task", { context: "x" }, "task"],
    ["an empty task", { task: "", context: "x" }, "task"],
    ["a long task", { task: "x".repeat(5001), context: "x" }, "task"],
    ["both sources", { task: "t", path: "log.txt", context: "x" }, "path"],
    ["no source", { task: "t" }, "path"],
    ["an empty context", { task: "t", context: "" }, "context"],
    ["an empty file", { task: "t", path: "empty.txt" }, "path"],
    ["an unknown field", { task: "t", context: "x", file_path: "x" }, ""],
    ["no budget", { task: "t", context: "x", budget_usd: 0 }, "budget_usd"],
    ["a negative budget", { task: "t", context: "x", budget_usd: -1 }, "budget_usd"],
    ["a budget over the operator's", { task: "t", context: "x", budget_usd: 1e9 }, "budget_usd"],
    ["a budget that is no number", { task: "t", context: "x", budget_usd: "1" }, "budget_usd"],
    ["no turns", { task: "t", context: "x", max_turns: 0 }, "max_turns"],
    ["eleven turns", { task: "t", context: "x", max_turns: 11 }, "max_turns"],
    ["half a turn", { task: "t", context: "x", max_turns: 1.5 }, "max_turns"],
    ["no time", { task: "t", context: "x", timeout_s: 0 }, "timeout_s"],
    ["more than a day", { task: "t", context: "x", timeout_s: 86_401 }, "timeout_s"],
    ["a path that no file can have", { task: "t", path: "x".repeat(4097) }, "path"],
    ["no bytes", { task: "t", path: "log.txt", max_bytes: 0 }, "max_bytes"],
    ["an unknown language", { task: "t", context: "x", language: "pyton" }, "language"],
    ["too many bytes", { task: "t", path: "log.txt", max_bytes: 2_000_001 }, "max_bytes"],
  ])("REQ-L1 REQ-L5 FAIL-D3: %s is invalid_args, by its field", async (_, args, field) => {
    const before = stand.server.connections();
    const { meta } = bodyOf(await stand.query(args));
    expect(meta).toMatchObject({ error_code: "invalid_args", retryable: false });
    if (field !== "") expect(meta).toMatchObject({ field });
    expect(stand.server.connections()).toBe(before);
  });

  test.each<[string, object, string]>([
    ["a file outside", { path: "../../etc/passwd" }, "path_denied"],
    ["an absolute path", { path: "/etc/passwd" }, "path_denied"],
    ["a link that leads outside", { path: "link.txt" }, "path_denied"],
    ["a secret by name", { path: ".env" }, "path_denied"],
    ["a secret by the list of analyses", { path: "db-credential.txt" }, "path_denied"],
    ["a folder", { path: "." }, "path_denied"],
    ["a device", { path: "/dev/zero" }, "path_denied"],
    ["nothing", { path: "missing.txt" }, "file_not_found"],
    ["a file over the default limit", { path: "big.txt" }, "file_too_large"],
    ["a file over the limit of the call", { path: "log.txt", max_bytes: 10 }, "file_too_large"],
    ["a model of the caller's", { context: "x", model: "openai/gpt-4o" }, "egress_denied"],
    ["a budget for less than one call", { context: "x", budget_usd: 0.01, max_turns: 1 }, "budget_exceeded"],
  ])("REQ-L5 REQ-L2: %s is refused before anything is sent", async (_, args, code) => {
    const before = stand.server.connections();
    // At these prices only a long task costs more than a cent in the worst case.
    const dear = code === "budget_exceeded" ? { task: "t".repeat(5000) } : { task: "t" };
    const body = bodyOf(await stand.query({ ...dear, ...args }));
    expect(body.meta).toMatchObject({ error_code: code, retryable: false });
    expect(stand.server.connections()).toBe(before);
  });

  test("REQ-L5 FAIL-G2: internal_error, where no interpreter stays alive, without a word of the text", async () => {
    stand.play({ root: () => js("finish(String(context.length))") });
    // One that works, so that what follows is not a machine on which nothing can run.
    outputOf(await stand.query({ task: "t", context: "x" }));
    const timer = setInterval(() => {
      for (const guest of guestsOf(process.pid)) process.kill(guest, "SIGKILL");
    }, 5);
    try {
      const body = bodyOf(await stand.query({ task: "t", context: "secret ".repeat(200_000) }));
      expect(body.meta).toMatchObject({ error_code: "internal_error", retryable: false });
      expect(JSON.stringify(body)).not.toContain("secret");
    } finally {
      clearInterval(timer);
    }
    outputOf(await stand.query({ task: "t", context: "x" }));
  });

  test("REQ-O5 REQ-L2: the record of a refused analysis names the model that was asked for, if it is a name", async () => {
    const model = "anthropic/claude-sonnet-4-5";
    await stand.query({ task: "t", context: "x", model });
    await stand.query({ task: "t", context: "x", model: "openai/a secret in the place of a name" });
    const trail = join(stand.root, ".llmc/audit");
    const refusals = readdirSync(trail)
      .flatMap((name) => readFileSync(join(trail, name), "utf8").trim().split("\n"))
      .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
      .filter(({ kind, outcome }) => kind === "analysis" && outcome === "egress_denied");
    expect(refusals.slice(-2).map(({ asked_model }) => asked_model)).toEqual([model, "openai/root"]);
  });

  test("REQ-L5: whatever fails, wherever, the code is one of the document's nine, or cancelled", async () => {
    const nine = new Set(
      "invalid_args path_denied file_not_found file_too_large egress_denied budget_exceeded timeout provider_error internal_error".split(
        " ",
      ),
    );
    for (const code of Object.keys(ERROR_TABLE) as ErrorCode[]) {
      const reported = rlmQuery.reportedCode?.(code) ?? code;
      if (code === "cancelled") expect(reported).toBe("cancelled");
      else expect(nine, code).toContain(reported);
      if (nine.has(code)) expect(reported).toBe(code);
    }
    // What policy, the pipe and the configuration refuse never reaches the analysis.
    const caller = { ...TEST_CALLER, may: new Set(["read", "write", "execute"]) };
    const denied = bodyOf(await stand.query({ task: "t", context: "x" }, { caller }));
    expect(denied.meta).toMatchObject({ error_code: "egress_denied", retryable: false });
    expect(denied.error).toContain('the scope "egress"');
    const unset = await openRlmStand({ root: () => 500 }, { rlm: 'cassette = "replay"' });
    expect(bodyOf(await unset.query({ task: "t", context: "x" })).meta.error_code).toBe("internal_error");
    // The provider's refusal is its own word on whether another try is worth it.
    stand.play({ root: () => 429 });
    expect(bodyOf(await stand.query({ task: "t", context: "x" })).meta).toMatchObject({
      error_code: "provider_error",
      retryable: true,
    });
  });

  test("REQ-L5: provider_error and timeout, with what was spent", async () => {
    stand.play({ root: () => 400 });
    expect(bodyOf(await stand.query({ task: "t", context: "x" })).meta).toMatchObject({
      error_code: "provider_error",
      retryable: false,
      total_cost_usd: 0,
    });
    stand.play({ root: () => new Promise<string>(() => {}) });
    const startedAt = performance.now();
    const late = bodyOf(await stand.query({ task: "t", context: "x", timeout_s: 1 }));
    expect(late.meta).toMatchObject({ error_code: "timeout", retryable: true, turns: 1 });
    expect(Number(Reflect.get(late.meta, "total_cost_usd"))).toBeGreaterThan(0);
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });

  test("REQ-L11 FAIL-D5: cancelling stops the whole tree within a second", async () => {
    let asked = () => {};
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    stand.play({
      root: (_turn, _shown, task) =>
        js(
          task === "child"
            ? "await llmBatch(['a','b','c'])"
            : "await Promise.all([rlm('child', 'x'), llm('d')])",
        ),
      sub: (prompt) => {
        if (prompt === "c") asked();
        return new Promise<string>(() => {});
      },
    });
    const controller = new AbortController();
    const running = stand.query({ task: "t", context: TEXT }, { signal: controller.signal });
    await isAsked;
    const cancelledAt = performance.now();
    controller.abort();
    expect(bodyOf(await running).meta.error_code).toBe("cancelled");
    expect(performance.now() - cancelledAt).toBeLessThan(1000);
    await stand.server.hungUp;
  });
});
