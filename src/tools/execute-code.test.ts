import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { openTestApp, shareTestApp, TEST_CALLER, type TestApp } from "../../test/app.ts";
import { guestProcesses } from "../../test/escapes/guest-stand.ts";

interface Answer {
  readonly data: {
    readonly stdout: string;
    readonly result?: unknown;
    readonly error?: Readonly<Record<string, unknown>>;
  };
  readonly meta: {
    readonly tool_calls: readonly { readonly name: string; readonly ok: boolean }[];
    readonly files: readonly { readonly name: string; readonly handle: string }[];
    readonly truncated: boolean;
    readonly result_handle?: string;
    readonly session_kept?: boolean;
  };
}

const run = async (app: TestApp, args: object, origin = {}): Promise<Answer> => {
  const answer = await app.ask("execute_code", { language: "javascript", ...args }, origin);
  if (answer.kind !== "ok") throw new Error(JSON.stringify(answer));
  return answer.structured as Answer;
};

const FILES = { "a.txt": "one\ntwo\n", "sub/b.txt": "three\n" };

describe("execute_code", () => {
  const app = shareTestApp({ files: FILES });

  test("REQ-T5 REQ-E2: a program calls tools and gets their structured results; the last expression is its result", async () => {
    const code = `
const listed = await tools.list_dir({ path: "." });
const texts = await Promise.all(listed.data.filter((n) => n.endsWith(".txt")).map((path) => tools.read_file({ path })));
console.log("files", listed.data);
texts.map(({ data, meta }) => [meta.path, data.length]);`;
    const { data, meta } = await run(app(), { code });
    expect(data).toEqual({ stdout: 'files ["a.txt","sub"]\n', result: [["a.txt", 8]] });
    expect(meta.tool_calls).toEqual([
      expect.objectContaining({ name: "list_dir", ok: true }),
      expect.objectContaining({ name: "read_file", ok: true }),
    ]);
    expect(await app().text("execute_code", { language: "javascript", code })).toBe(
      'files ["a.txt","sub"]\n=> [["a.txt",8]]\n[calls: list_dir 1, read_file 1]',
    );
  });

  test("REQ-E4: TypeScript and Python run the same work", async () => {
    const typescript =
      "const r: { data: string } = await tools.read_file({ path: 'a.txt' });\nr.data.split('\\n').length as number";
    expect((await run(app(), { language: "typescript", code: typescript })).data.result).toBe(3);
    const python =
      "r = await tools.read_file(path='a.txt')\nprint(r['meta']['path'])\nlen(r['data'].split('\\n'))";
    expect((await run(app(), { language: "python", code: python })).data).toEqual({
      stdout: "a.txt\n",
      result: 3,
    });
  });

  test.each([
    ["javascript", "1;\n\n  throw new TypeError('x')", { name: "TypeError", line: 3 }],
    [
      "typescript",
      "interface A { a: 1 }\nconst b: number = 1;\n(b as any).c.d",
      { name: "TypeError", line: 3, column: 13 },
    ],
    ["typescript", "let a: number = ;", { name: "SyntaxError", line: 1, column: 17 }],
    ["typescript", "\nenum A { B }", { name: "SyntaxError", line: 2, column: 1 }],
    ["javascript", "let a = 1;\nlet = =", { name: "SyntaxError", line: 2 }],
    ["python", "a = 1\n\n1 / 0", { name: "ZeroDivisionError", line: 3, column: 1 }],
    ["python", "def f():\n  return x\nf()", { name: "NameError", line: 2, column: 10 }],
    ["python", "a = (", { name: "SyntaxError", line: 1 }],
  ])("REQ-T5: an error in %s is data, with its position as written", async (language, code, error) => {
    expect((await run(app(), { language, code })).data.error).toMatchObject(error);
  });

  test.each([
    [
      "javascript",
      "try { await tools.read_file({ path: 'none' }) } catch (e) { [e instanceof ToolError, e.code, e.retryable] }",
    ],
    [
      "python",
      "try:\n  await tools.read_file(path='none')\nexcept ToolError as e:\n  r = [isinstance(e, Exception), e.code, e.retryable]\nr",
    ],
  ])(
    "REQ-E2: a failed call in %s throws ToolError; uncaught, it names its position and code",
    async (language, code) => {
      expect((await run(app(), { language, code })).data.result).toEqual([true, "file_not_found", false]);
      const uncaught =
        language === "python" ? "1\nawait tools.stat(path='none')" : "1;\nawait tools.stat({ path: 'none' })";
      const { data, meta } = await run(app(), { language, code: uncaught });
      expect(data.error).toMatchObject({ name: "ToolError", code: "file_not_found", line: 2 });
      expect(meta.tool_calls).toEqual([expect.objectContaining({ name: "stat", ok: false })]);
    },
  );

  test("inputs are a global; nothing to show is said; an empty program is refused", async () => {
    expect((await run(app(), { code: "inputs.a.b + 1", inputs: { a: { b: 1 } } })).data.result).toBe(2);
    const python = await run(app(), { language: "python", code: "inputs['a'] + 1", inputs: { a: 1 } });
    expect(python.data.result).toBe(2);
    expect(await app().text("execute_code", { language: "javascript", code: "undefined" })).toBe(
      "[no output and no result]",
    );
    expect(await app().errorCode("execute_code", { language: "javascript", code: "" })).toBe("invalid_args");
    expect(await app().errorCode("execute_code", { language: "ruby", code: "1" })).toBe("invalid_args");
  });

  test("REQ-E5 REQ-E3: files of a program are ephemeral: handles, nothing on the disk", async () => {
    const { meta } = await run(app(), { code: "files.write('out/x.csv', 'a,b\\n1,2\\n'); files.list()" });
    expect(meta.files).toEqual([{ name: "out/x.csv", handle: expect.stringMatching(/^h_/), bytes: 8 }]);
    expect(await app().text("read_file", { path: `handle:${meta.files[0]?.handle}` })).toContain("a,b\n1,2");
    const python = await run(app(), { language: "python", code: "open('y.txt', 'w').write('hi')" });
    expect(python.meta.files).toEqual([{ name: "y.txt", handle: expect.any(String), bytes: 2 }]);
    for (const name of ["out", "y.txt", "work"]) expect(existsSync(join(app().root, name))).toBe(false);
    expect(app().core.instructions()).toContain("ephemeral");
  });

  test("a large result is behind a handle, and only its beginning is shown", async () => {
    const text = await app().text("execute_code", {
      language: "javascript",
      code: "Array.from({ length: 5000 }, (_, i) => i)",
    });
    expect(text.length).toBeLessThan(1200);
    const handle = /handle:(h_\w+)/.exec(text)?.[1];
    expect(await app().text("read_file", { path: `handle:${handle}`, pattern: "4999" })).toContain("4999");
  });

  test.each([
    [
      "javascript",
      "let n = (globalThis.n ?? 0) + 1; globalThis.n = n; function f() { return 7 }",
      "f() + globalThis.n",
    ],
    ["python", "n = 1\ndef f(): return 7", "f() + n"],
  ])("REQ-T5: a named session in %s keeps variables, by owner and name", async (language, first, second) => {
    expect((await run(app(), { language, code: first, session: "s" })).meta.session_kept).toBe(false);
    const again = await run(app(), { language, code: second, session: "s" });
    expect(again.meta.session_kept).toBe(true);
    expect(again.data.result).toBe(8);
    expect((await run(app(), { language, code: second, session: "t" })).data.error).toBeDefined();
    const caller = { ...TEST_CALLER, owner: "somebody else" };
    const other = await run(app(), { language, code: second, session: "s" }, { caller });
    expect(other.data.error).toBeDefined();
    expect((await run(app(), { language, code: second })).data.error).toBeDefined();
  });

  test("one session runs one program at a time", async () => {
    await run(app(), { code: "1", session: "busy" });
    const slow = run(app(), { code: "await new Promise((r) => setTimeout(r, 800)); 1", session: "busy" });
    await sleep(100);
    expect(
      await app().errorCode("execute_code", { language: "javascript", code: "2", session: "busy" }),
    ).toBe("busy");
    expect((await slow).data.result).toBe(1);
  });

  test("FAIL-D5: a cancelled program is gone within a second, and so is what it called", async () => {
    const controller = new AbortController();
    const code = "await tools.run_cmd({ command: 'tail -f a.txt', timeout: 60 })";
    const pending = app().ask(
      "execute_code",
      { language: "javascript", code },
      { signal: controller.signal },
    );
    await sleep(2500);
    const at = performance.now();
    controller.abort();
    expect(await pending).toMatchObject({ kind: "error", error: { code: "cancelled" } });
    expect(performance.now() - at).toBeLessThan(1500);
    expect((await run(app(), { code: "1" })).data.result).toBe(1);
  });

  test("REQ-E3: timeout_s bounds the program, not the interpreter's start", async () => {
    const { data } = await run(app(), { code: "console.log('begun'); for (;;);", timeout_s: 1 });
    expect(data).toMatchObject({ stdout: "begun\n", error: { ended: "timeout" } });
  });
});

const canAsk = (): boolean => true;

describe("programs and policy", () => {
  test("FAIL-G9 REQ-E2: a tool that the caller may not call is refused to its programs, too", async () => {
    const app = await openTestApp({ files: FILES });
    const caller = { ...TEST_CALLER, may: new Set(["read", "execute"]) };
    const code = "try { await tools.linux_fs_write({ path: 'x', content: 'y' }) } catch (e) { e.code }";
    expect((await run(app, { code }, { caller })).data.result).toBe("PERMISSION_DENIED");
    expect(existsSync(join(app.root, "x"))).toBe(false);
    const reader = { ...TEST_CALLER, may: new Set(["read"]) };
    expect(
      await app.ask("execute_code", { language: "javascript", code: "1" }, { caller: reader }),
    ).toMatchObject({
      kind: "error",
      error: { code: "forbidden" },
    });
  });

  test("a tool that the operator withholds does not exist for programs", async () => {
    const app = await openTestApp({ overrides: { "mcp.tools.enable_run_cmd": "false" } });
    const { data } = await run(app, { code: "await tools.run_cmd({ command: 'ls' })" });
    expect(data.error).toMatchObject({ code: "unknown_tool" });
  });

  test("REQ-E2 REQ-I5: where the user has to be asked, the program waits for the answer and goes on", async () => {
    const app = await openTestApp({ files: FILES });
    const args = {
      language: "javascript",
      code: "let n = 0; n++; const r = await tools.run_cmd({ command: 'date +%%' }); const s = await tools.run_cmd({ command: 'nproc --version' }); [n, r.data.exit_code, s.data.exit_code]",
    };
    const first = await app.ask("execute_code", args, { canAsk });
    if (first.kind !== "questions") throw new Error(JSON.stringify(first));
    expect(first.questions["grant"]).toMatchObject({
      message: expect.stringContaining('command: "date +%%"'),
    });
    const yes = { grant: { action: "accept", content: { grant: "once" } } };
    const foreign = await app.ask("execute_code", args, {
      canAsk,
      caller: { ...TEST_CALLER, owner: "other" },
      answers: yes,
      state: first.state,
    });
    expect(foreign).toMatchObject({ kind: "error", error: { code: "unavailable" } });
    const second = await app.ask("execute_code", args, { canAsk, answers: yes, state: first.state });
    if (second.kind !== "questions") throw new Error(JSON.stringify(second));
    expect(second.questions["grant"]).toMatchObject({ message: expect.stringContaining("nproc") });
    const last = await app.ask("execute_code", args, { canAsk, answers: yes, state: second.state });
    expect(last).toMatchObject({ kind: "ok", structured: { data: { result: [1, 0, 0] } } });
    expect(await app.ask("execute_code", args, { canAsk, answers: yes, state: second.state })).toMatchObject({
      kind: "error",
      error: { code: "unavailable" },
    });
  });

  test("REQ-I5: a declined question is a refusal that the program can handle", async () => {
    const app = await openTestApp();
    const args = {
      language: "javascript",
      code: "try { await tools.run_cmd({ command: 'date +%%' }) } catch (e) { e.message }",
    };
    const asked = await app.ask("execute_code", args, { canAsk });
    if (asked.kind !== "questions") throw new Error(JSON.stringify(asked));
    const answers = { grant: { action: "decline" } };
    const ended = await app.ask("execute_code", args, { canAsk, answers, state: asked.state });
    expect(JSON.stringify(ended)).toContain("did not agree");
  });

  test("REQ-D25: sessions and suspended programs of an owner can be ended; those of others stay", async () => {
    const app = await openTestApp();
    const other = { ...TEST_CALLER, owner: "other" };
    await run(app, { code: "globalThis.n = 1", session: "s" });
    await run(app, { code: "globalThis.n = 2", session: "s" }, { caller: other });
    const asking = { language: "javascript", code: "await tools.run_cmd({ command: 'date +%%' })" };
    const asked = await app.ask("execute_code", asking, { canAsk });
    if (asked.kind !== "questions") throw new Error(JSON.stringify(asked));
    await (await app.engines()).programs.endAll(TEST_CALLER.owner);
    expect((await run(app, { code: "typeof n", session: "s" })).data.result).toBe("undefined");
    expect((await run(app, { code: "n", session: "s" }, { caller: other })).data.result).toBe(2);
    const answers = { grant: { action: "accept" } };
    expect(await app.ask("execute_code", asking, { canAsk, answers, state: asked.state })).toMatchObject({
      kind: "error",
      error: { code: "unavailable" },
    });
  });

  test("REQ-E2: calls of programs are logged with their caller, and as calls of a program", async () => {
    const app = await openTestApp({ files: FILES });
    await run(app, { code: "await tools.stat({ path: 'a.txt' })" });
    const line = (await app.logs()).split("\n").find((each) => each.includes('"tool":"stat"'));
    expect(JSON.parse(line ?? "{}")).toMatchObject({
      route: "execute_code",
      agent_id: "test",
      path: "a.txt",
    });
  });

  test("REQ-D8: without a sandbox of ours nothing runs, unless the operator trusts the container", async () => {
    const { createPrograms } = await import("../sandbox/programs.ts");
    const settings = {
      maxPrograms: 1,
      maxSessions: 0,
      sessionMs: 1,
      timeoutSeconds: 1,
      maxTimeoutSeconds: 1,
      cpuSeconds: 1,
      maxOutputBytes: 1000,
      maxToolCalls: 1,
    };
    const started = async (trustsContainer: boolean, isContainer: boolean): Promise<unknown> => {
      const runner = {
        name: "test",
        languages: ["javascript"] as const,
        start: () => Promise.reject(new Error("ran")),
      };
      const programs = createPrograms({
        settings: () => ({ ...settings, trustsContainer }),
        runners: [runner],
        tier: async () => "plain",
        isContainer: () => isContainer,
        newId: () => "1",
      });
      const request = {
        language: "javascript",
        code: "1",
        inputs: "{}",
        timeoutSeconds: 1,
        session: undefined,
      } as const;
      return programs
        .start(request, TEST_CALLER, new AbortController().signal, () => {})
        .catch((error: unknown) => error);
    };
    for (const [trusts, is] of [
      [false, false],
      [false, true],
      [true, false],
    ] as const)
      expect(await started(trusts, is)).toMatchObject({
        code: "unavailable",
        hint: expect.stringContaining("bubblewrap"),
      });
    expect(String(await started(true, true))).toContain("ran");
  });

  test("REQ-E3: a hundred programs at once wait for their turn, and leave no process behind", async () => {
    const app = await openTestApp({ overrides: { "mcp.code_execution.max_programs": "2" } });
    let maxSeen = 0;
    const watch = setInterval(() => {
      maxSeen = Math.max(maxSeen, guestProcesses().length);
    }, 50);
    const before = guestProcesses().length;
    const results = await Promise.all(
      Array.from({ length: 100 }, (_, i) => run(app, { code: `${i}` })),
    ).finally(() => clearInterval(watch));
    expect(results.map(({ data }) => data.result)).toEqual(Array.from({ length: 100 }, (_, i) => i));
    expect(maxSeen).toBeGreaterThan(before);
    // Two programs and a spare; other tests have some of their own.
    expect(maxSeen).toBeLessThan(before + 20);
    await app.close();
    await expect.poll(() => guestProcesses().length).toBeLessThanOrEqual(before);
  }, 240_000);
});
