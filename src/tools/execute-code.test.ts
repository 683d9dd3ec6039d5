import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { openTestApp, shareTestApp, TEST_CALLER, type TestApp } from "../../test/app.ts";
import { processesLike } from "../../test/escapes/guest-stand.ts";

interface Answer {
  readonly data: {
    readonly stdout: string;
    readonly result?: unknown;
    readonly error?: Readonly<Record<string, unknown>>;
  };
  readonly meta: {
    readonly tool_calls: readonly {
      readonly name: string;
      readonly ok: boolean;
      readonly cut_off?: true;
      readonly truncated?: true;
    }[];
    readonly files: readonly { readonly name: string; readonly handle: string; readonly bytes: number }[];
    readonly truncated: boolean;
    readonly dropped?: readonly string[];
    readonly result_handle?: string;
    readonly output_handle?: string;
    readonly session_kept?: boolean;
  };
}

const run = async (app: TestApp, args: object, origin = {}): Promise<Answer> => {
  const answer = await app.ask("execute_code", { language: "javascript", ...args }, origin);
  if (answer.kind !== "ok") throw new Error(JSON.stringify(answer));
  return answer.structured as Answer;
};

const FILES = { "a.txt": "one\ntwo\n", "sub/b.txt": "three\n", "sub/cancelled.txt": "", "sub/late.txt": "" };

/** Processes of `tail` that read this file. */
const tails = (file: string) => () => processesLike(new RegExp(`(?:^|/)tail -f ${file}`));

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

  test("REQ-T5: a program that computes on first pages is told so", async () => {
    const code = `
const pages = await Promise.all([0, 1].map(() => tools.read_file({ path: "a.txt", limit: 1 })));
const whole = await tools.read_file({ path: "a.txt" });
const found = await tools.linux_search_content({ pattern: "o", max_results: 1 });
pages.length + whole.data.length + found.hits.length;`;
    const { meta } = await run(app(), { code });
    expect(meta.tool_calls.map(({ name, truncated }) => [name, truncated === true]).toSorted()).toEqual([
      ["linux_search_content", true],
      ["read_file", false],
      ["read_file", true],
      ["read_file", true],
    ]);
    const shown = await app().text("execute_code", { language: "javascript", code });
    expect(shown.split("\n").slice(-2)).toEqual([
      "[read_file: 2 results were cut (truncated is true); pass a larger limit, or read on by offset or handle]",
      "[linux_search_content: 1 result was cut (truncated is true); pass a larger limit, or read on by offset or handle]",
    ]);
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
    ["javascript", "1;\n\n  throw new TypeError('x')", { name: "TypeError", line: 3, column: 22 }],
    ["javascript", "1;\n  null.x", { name: "TypeError", line: 2, column: 7 }],
    ["javascript", "1;\n  await import('node:fs')", { name: "ReferenceError", line: 2, column: 9 }],
    ["javascript", "1;\n  let undefined = 1", { name: "SyntaxError", line: 2, column: 3 }],
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
    ["javascript", "for (let i = 0; i < 20_000; i++) console.log('line', i)"],
    ["python", "for i in range(20_000): print('line', i)"],
  ])(
    "REQ-T5: long output of %s is shown with its end and its size, and a handle has all",
    async (language, code) => {
      const text = await app().text("execute_code", { language, code });
      expect(text.length).toBeLessThan(4500);
      const lines = text.split("\n");
      expect([lines[0], lines.at(-1)]).toEqual(["line 0", "line 19999"]);
      const [, whole, handle] = /whole output \((.*?)\): handle:(h_\w+)/.exec(text) ?? [];
      expect(whole).toBe("20000 lines, 208889 characters");
      const page = await app().text("read_file", { path: `handle:${handle}`, pattern: "^line 1[05]000$" });
      expect(page).toContain("line 10000");
      expect(page).toContain("line 15000");
      const { data, meta } = await run(app(), { language, code });
      expect(data.stdout.length).toBeLessThanOrEqual(30_000);
      expect(data.stdout).toMatch(/^line 0\n.*\n$/s);
      expect(meta).toMatchObject({ truncated: true, output_handle: expect.stringMatching(/^h_/) });
      expect(meta.dropped).toBeUndefined();
    },
  );

  test("REQ-T5: a long line of output is cut between characters", async () => {
    const text = await app().text("execute_code", {
      language: "javascript",
      code: "console.log('a' + '😀'.repeat(10_000))",
    });
    expect(text.isWellFormed()).toBe(true);
    expect(text).toContain("the whole output (1 line, 20001 characters)");
  });

  test("REQ-I6: nothing that a program names, returns or throws reaches a terminal as a control character", async () => {
    const code = `
files.write("a\\x1b[2Jb\\nFAKE", "x");
await tools["bad\\x1b]0;x\\x07\\nname"]({}).catch(() => {});
inputs.throws ? (() => { throw Object.assign(new Error("m\\x1b[2J\\x9b5n"), { name: "E\\nFAKE" }) })() : "\\x9b5n\\u202e"`;
    for (const throws of [true, false]) {
      const text = await app().text("execute_code", { language: "javascript", code, inputs: { throws } });
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these must not be there.
      expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
      expect(text).not.toMatch(/^(FAKE|name)/m);
      expect(text).toContain("[file a\u241b[2Jb\u240aFAKE: 1 bytes, handle:");
    }
  });

  test("REQ-E3: a result of too many values is an error in every language, and its session stays", async () => {
    for (const [language, keeps, many, reads] of [
      ["javascript", "const kept = 7; 1", "Array(250_000).fill(0)", "kept"],
      ["python", "kept = 7", "list(range(250_000))", "kept"],
    ] as const) {
      const session = `many ${language}`;
      await run(app(), { language, session, code: keeps });
      const { data } = await run(app(), { language, session, code: many });
      expect(data.error?.["message"]).toContain("more than 200000 values");
      expect((await run(app(), { language, session, code: reads })).data.result).toBe(7);
    }
  });

  test("REQ-E3 FAIL-G2: a failed program of line ends alone does not hold the server up", async () => {
    const { cpuUsage } = process;
    const before = cpuUsage();
    const code = `${"\n".repeat(200_000)}throw new Error("x")`;
    const { data } = await run(app(), { language: "javascript", code });
    expect(data.error?.["message"]).toBe("x");
    const { user } = cpuUsage(before);
    expect(user / 1e6).toBeLessThan(5);
  });

  test.each([
    ["import fs from 'fs'; fs", true],
    ["const a = 1;\n  import { b } from 'x'", true],
    ["await import('fs')", true],
    ["const { readFileSync } = require('fs')", true],
    ["const text = 'import(x)'; text.no()", false],
    ["import('x').then(() => 0, () => { throw new Error('other') })", false],
  ])("REQ-E1: where a program misses a module, the error says what brings it: %s", async (code, isHint) => {
    const { data } = await run(app(), { language: "javascript", code });
    const message = String(data.error?.["message"]);
    expect(message.includes("mcp.code_execution.native_languages")).toBe(isHint);
  });

  test("REQ-E3: a large result is kept without growing; arguments and depth are bounded, and the program is told", async () => {
    const deep = "let a = Array(3e4).fill(0); for (let i = 0; i < 150; i++) a = [a]; a";
    const { meta } = await run(app(), { code: deep });
    const kept = await app().text("read_file", { path: `handle:${meta.result_handle}` });
    expect(kept).toContain(`${"[".repeat(150)}0,0,0`);
    const deeper = await run(app(), { code: deep.replace("150", "250") });
    expect(deeper.data.error?.["message"]).toContain("nested deeper");
    const inPython = async (depth: number) =>
      (await run(app(), { language: "python", code: `a = []\nfor _ in range(${depth - 1}): a = [a]\na` }))
        .data;
    expect((await inPython(200)).error).toBeUndefined();
    expect((await inPython(201)).error?.["message"]).toContain("nested deeper than 200");
    const large = "try { await tools.stat({ path: 'x'.repeat(3e5) }) } catch (e) { [e.code, e.message] }";
    expect((await run(app(), { code: large })).data.result).toEqual([
      "invalid_args",
      expect.stringContaining("larger than 262144 bytes"),
    ]);
    const name = "await tools['y'.repeat(1e6)]({}).catch((e) => e.code)";
    const called = await run(app(), { code: name });
    expect(called.data.result).toBe("unknown_tool");
    expect(called.meta.tool_calls[0]?.name.length).toBe(200);
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

  test.each(["javascript", "typescript"])(
    "REQ-T5: a session in %s takes declarations again",
    async (language) => {
      const code = "const k = inputs.n;\nclass A { get k() { return k } }\nnew A().k";
      for (const n of [1, 2]) {
        const { data } = await run(app(), { language, code, inputs: { n }, session: `declares ${language}` });
        expect(data).toMatchObject({ result: n });
      }
      // Texts stay as they are, and a syntax error at run time does not run the program again.
      const odd =
        "const text = `\u0024{[1].map((n) => `const \u0024{n}'`)}\nlet x = 1`; console.log(text); JSON.parse('{')";
      const { data } = await run(app(), { language, code: odd, session: `declares ${language}` });
      expect(data).toMatchObject({
        stdout: "const 1'\nlet x = 1\n",
        error: { name: "SyntaxError", line: 2 },
      });
    },
  );

  test("REQ-T5: a session returns files that are new or changed; bytes that are no text are behind a handle, too", async () => {
    const python = (code: string) => run(app(), { language: "python", code, session: "files" });
    const png = await python("open('a.png', 'wb').write(b'\\x89PNG\\r\\n\\x1a\\n' + bytes(200))");
    expect(png.meta).toMatchObject({
      files: [{ name: "a.png", bytes: 208, encoding: "base64" }],
      truncated: false,
    });
    const kept = await app().ask("read_file", { path: `handle:${png.meta.files[0]?.handle}` });
    if (kept.kind !== "ok") throw new Error(JSON.stringify(kept));
    const { data } = kept.structured as { readonly data: string };
    const bytes = Buffer.from(data, "base64");
    expect([bytes.length, bytes.subarray(0, 8).toString("latin1")]).toEqual([208, "\x89PNG\r\n\x1a\n"]);
    expect((await python("1")).meta.files).toEqual([]);
    expect((await python("open('b.txt', 'w').write('b')")).meta.files).toMatchObject([{ name: "b.txt" }]);
    const cut = await run(app(), { code: "for (let i = 0; i < 101; i++) files.write('f' + i, 'x')" });
    expect(cut.meta).toMatchObject({ files: { length: 100 }, truncated: true, dropped: ["files"] });
    const text = await app().text("execute_code", {
      language: "javascript",
      code: "console.log('x'.repeat(2e6))",
    });
    expect(text).toContain("[dropped, over the limit: output]");
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
    const code = "await tools.run_cmd({ command: 'tail -f sub/cancelled.txt', timeout: 60 })";
    const pending = app().ask(
      "execute_code",
      { language: "javascript", code },
      { signal: controller.signal },
    );
    await expect.poll(tails("sub/cancelled.txt"), { timeout: 20_000 }).not.toEqual([]);
    const at = performance.now();
    controller.abort();
    expect(await pending).toMatchObject({ kind: "error", error: { code: "cancelled" } });
    expect(performance.now() - at).toBeLessThan(1500);
    await expect.poll(tails("sub/cancelled.txt")).toEqual([]);
    expect((await run(app(), { code: "1" })).data.result).toBe(1);
  });

  test("FAIL-D5 REQ-T5: a deadline ends what the program called, and the list of calls says so", async () => {
    const code = `const calls = [tools.stat({ path: "a.txt" }), tools.run_cmd({ command: "tail -f sub/late.txt", timeout: 60 })];
await Promise.all(calls)`;
    const pending = run(app(), { code, timeout_s: 4 });
    await expect.poll(tails("sub/late.txt"), { timeout: 20_000, interval: 20 }).not.toEqual([]);
    const { data, meta } = await pending;
    expect(data.error).toMatchObject({ ended: "timeout" });
    expect(meta.tool_calls).toMatchObject([
      { name: "stat", ok: true },
      { name: "run_cmd", ok: false, cut_off: true },
    ]);
    await expect.poll(tails("sub/late.txt")).toEqual([]);
  });

  test("errors of programs name the way out: no modules, the tool that was meant, more time, what is missing", async () => {
    const failed = async (args: Parameters<typeof run>[1]) =>
      (await run(app(), args)).data.error?.["message"];
    expect(await failed({ code: 'import fs from "node:fs";\nfs.readFileSync("x")' })).toMatch(
      /native_packages.*`tools`/,
    );
    expect(await failed({ code: 'require("fs")' })).toContain("native_packages");
    expect(await failed({ code: 'important("fs")' })).not.toContain("native_packages");
    expect(await failed({ code: "await tools.raed_file({ path: 'x' })" })).toBe(
      "There is no such tool. Did you mean read_file?",
    );
    expect(await failed({ code: "await tools.zzzzzzzz({})" })).toContain("index.md lists all tools.");
    expect(await failed({ code: "for (;;);", timeout_s: 1 })).toContain("timeout_s asks for more");
    expect(await app().ask("execute_code", { code: "1" })).toMatchObject({
      error: { message: expect.stringContaining('language: required: one of "javascript"') },
    });
  });

  test.each([
    ["python", "r = tools.read_file(path='a.txt')\nr['data']", "has to be awaited"],
    ["python", "r = tools.read_file(path='a.txt')\nr.data", "has to be awaited"],
    ["python", "import json\njson.dumps(tools.stat(path='a.txt'))", "has to be awaited"],
    ["python", "(await tools.linux_search_content(pattern='one'))['data']", "have no `data`"],
    ["javascript", "const r = tools.read_file({ path: 'a.txt' }); r.data.length", "Is the tool call awaited"],
    ["javascript", "(await tools.linux_search_content({ pattern: 'one' })).data.length", "have no `data`"],
    ["javascript", "return 5", "Leave return out"],
    ["typescript", "const x: number = 5;\nreturn x", "Leave return out"],
    ["python", "x = 5\nreturn x", "Leave return out"],
    ["javascript", "await tools.stat({ path: 'a.txt' }); null.x", undefined],
    ["javascript", "const r = {}; r.data.length", undefined],
  ])("REQ-T5: in %s, what is no result is told: %s", async (language, code, hint = "\0") => {
    const { data } = await run(app(), { language, code });
    expect(String(data.error?.["message"]).includes(hint)).toBe(hint !== "\0");
  });

  test("REQ-T5: why a call failed is told where the program does not say it", async () => {
    const code =
      "await tools.read_file({ path: 'none' }).catch(() => {}); await tools.stat({ path: 'a.txt' }); 1";
    const { meta } = await run(app(), { code });
    expect(meta.tool_calls).toMatchObject([{ ok: false, error_code: "file_not_found" }, { ok: true }]);
    expect(await app().text("execute_code", { language: "javascript", code })).toBe(
      "=> 1\n[calls: read_file 1 (1 failed: file_not_found), stat 1]",
    );
  });

  test("REQ-E3: timeout_s bounds the program, not the interpreter's start", async () => {
    const { data } = await run(app(), { code: "console.log('begun'); for (;;);", timeout_s: 1 });
    expect(data).toMatchObject({ stdout: "begun\n", error: { ended: "timeout" } });
    const { meta } = await run(app(), { code: "1", timeout_s: 301 });
    expect(meta).toMatchObject({ timeout_s: 300 });
    const shown = await app().text("execute_code", { language: "javascript", code: "1", timeout_s: 301 });
    expect(shown).toContain("[timeout_s was cut to 300");
  });

  test("REQ-E4: QuickJS has the small functions that models expect; too many timers are an error", async () => {
    const code = `
const o = { d: new Date(0), m: new Map([[1, new Set([2])]]), b: new Uint8Array([1, 2]), "é": [undefined] };
o.self = o;
const c = structuredClone(o);
let ticks = 0;
await new Promise((done) => { const id = setInterval(() => { if (++ticks === 3) { clearInterval(id); done() } }, 1) });
[c !== o && c.self === c && c.d.getTime() === 0 && c.m.get(1).has(2) && c.b[1] === 2 && c.b !== o.b, ticks,
 btoa("\\xff\\0a"), atob("/wBh") === "\\xff\\0a", new TextDecoder().decode(new TextEncoder().encode("a€😀")),
 new TextDecoder().decode(new Uint8Array([65, 255, 66])), [..."=", "!"].map((s) => { try { return atob(s) } catch (e) { return e.name } })]`;
    expect((await run(app(), { code })).data).toMatchObject({
      result: [true, 3, "/wBh", true, "a€😀", "A\ufffdB", ["TypeError", "TypeError"]],
    });
    const timers = "for (let i = 0; i < 1001; i++) setTimeout(() => {}, 1)";
    expect((await run(app(), { code: timers })).data.error).toMatchObject({
      message: expect.stringContaining("1000 at most"),
      line: 1,
    });
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
      message: expect.stringContaining('"command": "date +%%"'),
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

  test("REQ-I5 REQ-E2: where the user was asked about execute_code itself, its calls can ask, too", async () => {
    const policy =
      'forbid (principal, action == Action::"execute_code", resource) unless { context.granted };';
    const app = await openTestApp({
      config: '[mcp.security]\npolicy_files = ["p.cedar"]\n',
      files: { "p.cedar": policy },
    });
    const args = {
      language: "javascript",
      code: "let n = 0; n++; const r = await tools.run_cmd({ command: 'date +%%' }); const s = await tools.run_cmd({ command: 'nproc --version' }); [n, r.data.exit_code, s.data.exit_code]",
    };
    const yes = { grant: { action: "accept", content: { grant: "once" } } };
    const asked: string[] = [];
    let answer = await app.ask("execute_code", args, { canAsk });
    while (answer.kind === "questions" && asked.length < 10) {
      const { state, questions } = answer;
      asked.push(JSON.stringify(questions));
      const foreign = { ...TEST_CALLER, owner: "other" };
      const other = await app.ask("execute_code", args, { canAsk, answers: yes, state, caller: foreign });
      expect(other.kind).toBe("questions");
      answer = await app.ask("execute_code", args, { canAsk, answers: yes, state });
    }
    expect(answer).toMatchObject({ kind: "ok", structured: { data: { result: [1, 0, 0] } } });
    expect(asked).toHaveLength(3);
    expect(asked.map((one) => /date|nproc/.exec(one.split("run_cmd")[1] ?? "")?.[0])).toEqual(
      expect.arrayContaining(["date", "nproc"]),
    );
    // Once is once: the next call is asked about again.
    expect((await app.ask("execute_code", args, { canAsk })).kind).toBe("questions");
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

  test("REQ-T5 REQ-D22: real interpreters run where the operator wants them, and not because a workspace does", async () => {
    const isNative = { javascript: "typeof process", python: "import sys\nsys.platform" } as const;
    const wanted = '[mcp.code_execution]\nnative_languages = ["javascript", "python"]\n';
    const shown = async (trusted: boolean): Promise<readonly unknown[]> => {
      const app = await openTestApp({ config: wanted, trusted });
      const results: unknown[] = [];
      for (const [language, code] of Object.entries(isNative))
        results.push((await run(app, { language, code })).data.result);
      return results;
    };
    expect(await shown(false)).toEqual(["undefined", "emscripten"]);
    expect(await shown(true)).toEqual(["object", "linux"]);
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
});
