import { execFileSync } from "node:child_process";
import {
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { tempWorkspace } from "../../test/app.ts";
import { USER_STATE } from "../../test/user-state.ts";
import { createCacheFile } from "../host/own-files/cache-file.ts";
import { createReach } from "../host/reach/reach.ts";
import { createReadProfiler } from "../host/run/read-profiler.ts";
import { createCommandGroups } from "../host/run/tree/cgroup.ts";
import type { CallTool, Guest, Language, Program, ProgramResult, Runner } from "./contract.ts";
import { createNativeSandbox } from "./native-process.ts";
import { createNodeRunner, createSystemPythonRunner } from "./native-runner.ts";
import { createPythonRunner, findPyodide, snapshotVersion } from "./python-runner.ts";
import { createQuickJsRunner } from "./quickjs-runner.ts";
import { createGuestStarter } from "./start-guest.ts";

const MIB = 1024 * 1024;

const LIMITS = {
  timeoutMs: 20_000,
  cpuMs: 60_000,
  maxOutputBytes: 1000,
  maxResultBytes: 10_000,
  maxFileBytes: 1000,
  maxToolCalls: 20,
  maxCallBytes: 10_000,
};

const atEnd: (() => Promise<void> | void)[] = [];
afterAll(async () => {
  for (const work of atEnd) await work();
});

const memoryBytes = (): number => 64 * MIB;
const startGuest = createGuestStarter({ isIsolated: () => false });
const pyodide = findPyodide();
/** The one that all tests of a run share. */
const snapshots = createCacheFile(USER_STATE, "pyodide", snapshotVersion(pyodide?.version ?? ""));
/** As the wiring makes it, for folders of packages and no other roots. */
const nativeSandbox = (
  folders: readonly string[] = [],
  options: Pick<Parameters<typeof createNativeSandbox>[0], "tiers" | "closed"> = {},
  secrets: readonly string[] = [],
) => {
  const packages = (): readonly string[] => folders;
  const reach = createReach({ workspace: USER_STATE, roots: packages, denylist: () => ["**/.env", "*.pem"] });
  const profileOf = createReadProfiler({ reach, secretsElsewhere: async () => secrets });
  const made = createNativeSandbox({ packages, profileOf, ...options });
  atEnd.unshift(() => made.close());
  return made;
};
const sandbox = nativeSandbox();

/** The same work in each language. */
interface Texts {
  readonly result: string;
  readonly failing: string;
  readonly broken: string;
  /** Errors that fail themselves when they are shown; in Python, without the streams that were there before. */
  readonly unshown: readonly string[];
  readonly calling: string;
  readonly catching: string;
  readonly uncaught: string;
  readonly parallel: string;
  readonly printing: string;
  readonly endless: string;
  readonly remember: string;
  readonly recall: string;
  readonly file: string;
  readonly declare: string;
  readonly binary: string;
  readonly files: string;
  readonly change: string;
  readonly open: string;
  readonly largeResult: string;
  readonly bomb: string;
}

const JAVASCRIPT: Texts = {
  result: "const a = inputs.n; await null; [a + 1, 'x', null]",
  failing: "1;\n\n  throw new TypeError('no')",
  broken: "let a = 1;\nlet = =",
  unshown: ["throw Object.defineProperty(new Error('x'), 'message', { get() { throw this } })"],
  calling: "(await tools.echo({ a: [1, 'é'] })).a",
  catching:
    "try { await tools.fail({}) } catch (e) { [e instanceof ToolError, e.code, e.message, e.retryable] }",
  uncaught: "1;\nawait tools.fail({})",
  parallel: "(await Promise.all(Array.from({ length: 12 }, (_, n) => tools.echo({ n })))).map(({ n }) => n)",
  printing: "console.log('a', 1); for (let i = 0; i < 300; i++) console.log('0123456789')",
  endless: "console.log('begun'); for (;;);",
  remember: "globalThis.kept = 1; function f() { return 7 }",
  recall: "f() + kept",
  file: "files.write('out.txt', 'text')",
  declare: "const k = inputs.n; class A { m() { return k } }\nlet { l } = { l: 1 };\nnew A().m() + l",
  binary: "files.write('a.bin', new Uint8Array([137, 80, 0, 255])); files.read('a.bin')[3]",
  files: "for (let i = 0; i < 150; i++) files.write('many/' + i, 'x')",
  change: "files.write('out.txt', 'more'); files.write('new.txt', 'new')",
  open: "tools.slow({}); await tools.echo({}); throw new Error('over')",
  largeResult: "'x'.repeat(20000)",
  bomb: "const all = []; for (;;) all.push(new Array(100000).fill(all.length));",
};

const PYTHON: Texts = {
  result: "a = inputs['n']\n[a + 1, 'x', None]",
  failing: "1\n\nraise TypeError('no')",
  broken: "a = 1\nlet = =",
  unshown: [
    "import sys\nsys.stdout = sys.stderr = None\nclass E(Exception):\n  def __str__(self): raise self\nraise E()",
    "import sys\nclass S:\n  def flush(self): raise SystemExit\nsys.stdout = S()\nclass M(type):\n  @property\n  def __name__(self): raise self\nclass E(Exception, metaclass=M): pass\nraise E()",
    "class T:\n  def __str__(self): raise ValueError\ne = SyntaxError('x')\ne.filename, e.msg = '<program>', T()\nraise e",
  ],
  calling: "(await tools.echo(a=[1, 'é']))['a']",
  catching:
    "try:\n  await tools.fail()\nexcept ToolError as e:\n  r = [isinstance(e, Exception), e.code, e.message, e.retryable]\nr",
  uncaught: "1\nawait tools.fail()",
  parallel:
    "import asyncio\n[one['n'] for one in await asyncio.gather(*[tools.echo(n=n) for n in range(12)])]",
  printing: "print('a', 1)\nfor i in range(300): print('0123456789')",
  endless: "print('begun')\nwhile True: pass",
  remember: "kept = 1\ndef f(): return 7",
  recall: "f() + kept",
  file: "open('out.txt', 'w').write('text') and None",
  declare: "k = inputs['n']\nclass A:\n  def m(self): return k\nl = 1\nA().m() + l",
  binary: "open('a.bin', 'wb').write(bytes([137, 80, 0, 255]))\nopen('a.bin', 'rb').read()[3]",
  files: "import os\nos.makedirs('many')\nfor i in range(150): open(f'many/{i}', 'w').write('x')",
  change: "open('out.txt', 'w').write('more')\nopen('new.txt', 'w').write('new')",
  open: "tools.slow()\nawait tools.echo()\nraise ValueError('over')",
  largeResult: "'x' * 20000",
  bomb: "all = []\nwhile True: all.append([len(all)] * 100000)",
};

const answers: CallTool = async (name, args, signal) => {
  await sleep(name === "slow" ? 60_000 : 5, undefined, { signal });
  return name === "echo" ? { value: args } : { failure: { code: "busy", message: "later", retryable: true } };
};

const never = new AbortController().signal;

const RUNNERS: readonly (readonly [string, Runner, Language, Texts])[] = [
  ["QuickJS", createQuickJsRunner({ startGuest, memoryBytes }), "javascript", JAVASCRIPT],
  ...(pyodide === undefined
    ? []
    : ([
        [
          "Pyodide",
          createPythonRunner({ startGuest, memoryBytes, snapshots, pyodideFolder: pyodide.folder }),
          "python",
          PYTHON,
        ],
      ] as const)),
  ["Node", createNodeRunner({ sandbox, memoryBytes }), "typescript", JAVASCRIPT],
  ["system Python", createSystemPythonRunner({ sandbox, memoryBytes }), "python", PYTHON],
];

describe.each(RUNNERS)("REQ-E4 REQ-T5 the contract of runners: %s", (_name, runner, language, texts) => {
  /** One interpreter for all programs that leave it alive. */
  let shared: Promise<Guest> | undefined;
  const sharedGuest = (): Promise<Guest> => {
    shared ??= runner.start().then((guest) => {
      atEnd.unshift(() => guest.kill());
      return guest;
    });
    return shared;
  };
  const programOf = (code: string, limits: Partial<Program["limits"]> = {}): Program => ({
    language,
    code,
    inputs: '{"n": 1}',
    limits: { ...LIMITS, ...limits },
  });
  const run = async (
    code: string,
    limits: Partial<Program["limits"]> = {},
    guest: Promise<Guest> = sharedGuest(),
  ): Promise<ProgramResult> => (await guest).run(programOf(code, limits), answers, never);
  const inNew = async (code: string, limits: Partial<Program["limits"]>): Promise<ProgramResult> => {
    const guest = runner.start();
    onTestFinished(async () => (await guest).kill());
    const result = await run(code, limits, guest);
    expect((await guest).isAlive()).toBe(false);
    return result;
  };

  test("results, inputs and errors with their positions", async () => {
    expect(await run(texts.result)).toMatchObject({
      result: '[2,"x",null]'.replaceAll(",", language === "python" ? ", " : ","),
      error: undefined,
    });
    expect((await run(texts.failing)).error).toMatchObject({ name: "TypeError", message: "no", line: 3 });
    expect((await run(texts.broken)).error).toMatchObject({ name: "SyntaxError", line: 2 });
  });

  test("tools: values, failures, calls in parallel, and what the result lists of them", async () => {
    const calling = await run(texts.calling);
    expect(JSON.parse(calling.result ?? "")).toEqual([1, "é"]);
    expect(calling.calls).toEqual([{ name: "echo", ok: true, durationMs: expect.any(Number) }]);
    expect(JSON.parse((await run(texts.catching)).result ?? "")).toEqual([true, "busy", "later", true]);
    expect((await run(texts.uncaught)).error).toMatchObject({ name: "ToolError", code: "busy", line: 2 });
    expect(JSON.parse((await run(texts.parallel)).result ?? "")).toEqual(
      Array.from({ length: 12 }, (_, n) => n),
    );
  });

  test("variables stay from one program to the next; output, results and files are bounded", async () => {
    await run(texts.remember);
    expect((await run(texts.recall)).result).toBe("8");
    const printed = await run(texts.printing);
    expect(printed).toMatchObject({ outputCut: true, output: expect.stringMatching(/^a 1\n0123456789\n/) });
    expect(printed.output.length).toBeLessThanOrEqual(LIMITS.maxOutputBytes);
    expect((await run(texts.largeResult)).error?.message).toContain("larger than");
    expect((await run(texts.file)).files).toEqual([
      { name: "out.txt", content: "text", encoding: "utf8", bytes: 4 },
    ]);
  });

  test("FAIL-G2 an error that cannot be shown is one of the program, and its interpreter goes on", async () => {
    const guest = runner.start();
    onTestFinished(async () => (await guest).kill());
    await run(texts.remember, {}, guest);
    for (const text of texts.unshown) {
      const { error } = await run(text, { timeoutMs: 5000 }, guest);
      expect(error).toMatchObject({ message: "an error that cannot be shown" });
    }
    expect((await run(texts.recall, {}, guest)).result).toBe("8");
  });

  test("REQ-T5 names may be declared again, as in a REPL", async () => {
    const guest = runner.start();
    onTestFinished(async () => (await guest).kill());
    for (let n = 0; n < 3; n++) {
      const program = { ...programOf(texts.declare), inputs: `{"n": ${n}}`, sharesVariables: true };
      expect(await (await guest).run(program, answers, never)).toMatchObject({
        result: String(n + 1),
        error: undefined,
      });
    }
  });

  test("REQ-T5 files are bytes; a program leaves those that it made or changed, as many as fit", async () => {
    const guest = runner.start();
    onTestFinished(async () => (await guest).kill());
    const left = async (code: string) => (await run(code, { maxFileBytes: 2000 }, guest)).files;
    const binary = { name: "a.bin", content: "iVAA/w==", encoding: "base64", bytes: 4 };
    expect(await run(texts.binary, {}, guest)).toMatchObject({ result: "255", files: [binary] });
    expect(await left(texts.file)).toMatchObject([{ name: "out.txt", content: "text" }]);
    expect(await left("1")).toEqual([]);
    const changed = await left(texts.change);
    expect(changed.map(({ name }) => name).toSorted()).toEqual(["new.txt", "out.txt"]);
    expect(await run(texts.files, { maxFileBytes: 2000 }, guest)).toMatchObject({
      files: { length: 100 },
      filesCut: true,
      error: undefined,
    });
    // What did not fit is sent later.
    expect(await run("1", { maxFileBytes: 2000 }, guest)).toMatchObject({
      files: { length: 50 },
      filesCut: false,
    });
    expect(await run(texts.binary.replaceAll("a.bin", "b.bin"), { maxFileBytes: 3 }, guest)).toMatchObject({
      files: [],
      filesCut: true,
    });
  });

  test("FAIL-D5 calls under way when a program ends are in the list, as cut off", async () => {
    const { calls } = await run(texts.open);
    expect(calls).toMatchObject([
      { name: "echo", ok: true },
      { name: "slow", ok: false, isCutOff: true },
    ]);
  });

  test("FAIL-G2 a program that runs too long, too much or calls too often is ended with its process", async () => {
    const ended = await Promise.all([
      inNew(texts.endless, { timeoutMs: 500 }),
      inNew(texts.endless, { cpuMs: 300 }),
      inNew(texts.parallel, { maxToolCalls: 5 }),
    ]);
    expect(ended.map(({ error }) => error?.ended)).toEqual(["timeout", "cpu", "tool_calls"]);
    expect(ended[0]?.output).toBe("begun\n");
  });

  test("FAIL-G2 REQ-E3 memory is bounded", async () => {
    const guest = runner.start();
    onTestFinished(async () => (await guest).kill());
    const { error } = await run(texts.bomb, {}, guest);
    expect(error?.ended ?? error?.name).toMatch(/^(memory|crash|MemoryError|InternalError|RangeError)$/);
  });

  test("FAIL-D5 a cancelled program is gone when its call ends", async () => {
    const guest = await runner.start();
    const controller = new AbortController();
    const running = guest.run(programOf(texts.endless), answers, controller.signal);
    await sleep(200);
    controller.abort(new Error("cancelled"));
    await expect(running).rejects.toThrow("cancelled");
    expect(guest.isAlive()).toBe(false);
  });
});

test("FAIL-G2: memory that jobs of promises use up is reported as such, not as a promise that nothing settles", async () => {
  const guest = await createQuickJsRunner({ startGuest, memoryBytes }).start();
  onTestFinished(() => guest.kill());
  const endWith = async (code: string): Promise<string | undefined> => {
    const limits = { ...LIMITS, cpuMs: 60_000, timeoutMs: 60_000 };
    const { error } = await guest.run({ language: "javascript", code, inputs: "{}", limits }, answers, never);
    return error?.message;
  };
  expect(await endWith("const spin = () => Promise.resolve().then(spin); await spin()")).toBe(
    "out of memory",
  );
  expect(await endWith("await new Promise(() => {})")).toContain("nothing will settle");
});

test.runIf(pyodide !== undefined)(
  "REQ-D9: the first Python on a machine says that it makes a snapshot",
  async () => {
    const own = createCacheFile(tempWorkspace(), "pyodide", "test");
    const parts = { startGuest, memoryBytes, snapshots: own, pyodideFolder: pyodide?.folder ?? "" };
    const waits: string[] = [];
    for (const expected of [1, 1]) {
      const guest = await createPythonRunner(parts).start((what) => void waits.push(what));
      await guest.kill();
      expect(waits).toHaveLength(expected);
    }
    expect(waits[0]).toContain("snapshot");
  },
);

test.runIf(pyodide !== undefined)(
  "FAIL-D8 REQ-T5: a snapshot that is gone or damaged while a server runs is made again",
  async () => {
    const own = createCacheFile(tempWorkspace(), "pyodide", "test");
    const runner = createPythonRunner({
      startGuest,
      memoryBytes,
      snapshots: own,
      pyodideFolder: pyodide?.folder ?? "",
    });
    const sum = async (): Promise<string | undefined> => {
      const guest = await runner.start();
      onTestFinished(() => guest.kill());
      const ended = await guest.run(
        { language: "python", code: "1 + 2", inputs: "{}", limits: LIMITS },
        answers,
        never,
      );
      return ended.result;
    };
    expect(await sum()).toBe("3");
    const file = (await own.find()) ?? "";
    const bytes = readFileSync(file);
    rmSync(dirname(file), { recursive: true });
    expect(await Promise.all([sum(), sum()])).toEqual(["3", "3"]);
    expect(readFileSync(file).length).toBe(bytes.length);
    truncateSync(file, 5_000_000);
    expect(await sum()).toBe("3");
    const flipped = Buffer.from(bytes);
    flipped[bytes.length >> 1] = 255 - (bytes[bytes.length >> 1] ?? 0);
    writeFileSync(file, flipped);
    expect(await sum()).toBe("3");
    expect(readFileSync(file).equals(flipped)).toBe(false);
  },
  180_000,
);

describe.each(["bubblewrap", "landlock"] as const)("real interpreters in %s", (tier) => {
  const runnersWith = (folders: readonly string[], secrets: readonly string[] = []) => {
    const parts = { sandbox: nativeSandbox(folders, { tiers: [tier] }, secrets), memoryBytes };
    return [createNodeRunner(parts), createSystemPythonRunner(parts)] as const;
  };
  const runIn = async (
    runner: Runner,
    language: Language,
    code: string,
    limits = LIMITS,
  ): Promise<ProgramResult> => {
    const guest = await runner.start();
    onTestFinished(() => guest.kill());
    return guest.run({ language, code, inputs: "{}", limits }, answers, never);
  };

  test("FAIL-D5 a file that a program has made unreadable is left out, and the program ends", async () => {
    const [node] = runnersWith([]);
    const code = `const fs = require("fs");
      for (const name of ["a", "b"]) fs.writeFileSync(name, name);
      try { fs.chmodSync("b", 0); fs.readFileSync("b"); true } catch ({ syscall }) { syscall === "chmod" }`;
    const { result, files, filesCut, error } = await runIn(node, "javascript", code);
    expect(error).toBeUndefined();
    // A sandbox may refuse the change.
    const isReadable = result === "true";
    expect(files.map(({ name }) => name)).toEqual(isReadable ? ["a", "b"] : ["a"]);
    expect(filesCut).toBe(!isReadable);
  });

  test("FAIL-G2 REQ-E3 they reach no files, no network and no process", async () => {
    const secret = join(tempWorkspace({ "secret.txt": "the-secret" }), "secret.txt");
    let connections = 0;
    const server = createServer(() => connections++).listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as { readonly port: number };
    const [node, python] = runnersWith([]);
    const javascript = `
const fs = require("node:fs"), cp = require("node:child_process"), net = require("node:net");
const attempt = async (work) => { try { return (await work()) ?? "done" } catch { return "refused" } };
const reach = () => new Promise((resolve, reject) => net.connect(${port}, "127.0.0.1").once("connect", resolve).once("error", reject));
[await attempt(() => fs.readFileSync(${JSON.stringify(secret)}, "utf8")),
 await attempt(() => fs.readdirSync("/root").join() || undefined), await attempt(() => fs.writeFileSync("/usr/planted", "")),
 await attempt(() => cp.execFileSync("/bin/sh", ["-c", "echo ran"], { encoding: "utf8" })),
 await attempt(reach), await attempt(() => process.kill(${process.pid}, 0))]`;
    const refused = Array.from({ length: 6 }, () => "refused");
    const inNode = await runIn(node, "javascript", javascript);
    expect([inNode.error, JSON.parse(inNode.result ?? "null")]).toEqual([undefined, refused]);
    const inPython = await runIn(
      python,
      "python",
      `
import os, socket, subprocess
def attempt(work):
  try:
    return work() or "done"
  except BaseException:
    return "refused"
[attempt(lambda: open(${JSON.stringify(secret)}).read()), attempt(lambda: os.listdir("/root")),
 attempt(lambda: open("/usr/planted", "w")), attempt(lambda: subprocess.run(["/bin/sh", "-c", "echo ran"])),
 attempt(lambda: socket.create_connection(("127.0.0.1", ${port}))), attempt(lambda: os.kill(${process.pid}, 0))]`,
    );
    expect([inPython.error, JSON.parse(inPython.result ?? "null")]).toEqual([undefined, refused]);
    expect(connections).toBe(0);
  });

  test("FAIL-G2 REQ-E3 links are not followed, no secret is in the environment, frames that they forge are their own", async () => {
    process.env["LLMC_NATIVE_SECRET"] = "the-secret";
    onTestFinished(() => {
      delete process.env["LLMC_NATIVE_SECRET"];
    });
    const [node, python] = runnersWith([]);
    const javascript = `
const fs = require("node:fs");
for (const [to, at] of [["/usr/bin/env", "link"], ["/usr", "folder"], ["/proc/self/environ", "env"]]) fs.symlinkSync(to, at);
fs.writeFileSync("own", "x");
let own = JSON.stringify(process.env);
try { own += fs.readFileSync("/proc/self/environ", "utf8") } catch {}
[own.includes("the-secret"), /SECRET/.test(own)]`;
    const inNode = await runIn(node, "javascript", javascript);
    expect(inNode).toMatchObject({ error: undefined, result: "[false,false]", files: [{ name: "own" }] });
    const inPython = await runIn(
      python,
      "python",
      `
import os
for to, at in (("/usr/bin/env", "link"), ("/usr", "folder"), ("/proc/self/environ", "env")): os.symlink(to, at)
open("own", "w").write("x")
own = str(dict(os.environ))
try: own += open("/proc/self/environ").read()
except OSError: pass
["the-secret" in own, "SECRET" in own]`,
    );
    expect(inPython).toMatchObject({ error: undefined, result: "[false, false]", files: [{ name: "own" }] });
    const forged = `const text = '{"type":"ready"}'; const frame = Buffer.alloc(4 + text.length);
frame.writeUInt32LE(text.length); frame.write(text, 4); require("node:fs").writeSync(1, frame); 1`;
    expect(await runIn(node, "javascript", forged)).toMatchObject({ error: { ended: "protocol" } });
  });

  test("FAIL-G2 REQ-E3 roots and closed folders inside the system's own are not seen, packages in a root are", async () => {
    const fileIn = (folder: string): string =>
      readdirSync(folder, { withFileTypes: true, recursive: true })
        .filter((one) => one.isFile())
        .map((one) => join(one.parentPath, one.name))[0] ?? "";
    const [shown = "", other = ""] = readdirSync("/usr/share", { withFileTypes: true })
      .filter((one) => one.isDirectory())
      .map(({ name }) => join("/usr/share", name))
      .filter((path) => fileIn(path) !== "");
    const closed = () => ({ roots: ["/usr/share"], folders: ["/usr/include", join(shown, "closed")] });
    const inRoot = nativeSandbox([shown], { tiers: [tier], closed });
    const runner = createSystemPythonRunner({ sandbox: inRoot, memoryBytes });
    const { error, result } = await runIn(
      runner,
      "python",
      `
import os
def opens(path):
  try:
    return len(open(path, "rb").read(1)) >= 0
  except OSError:
    return False
[opens(path) for path in ${JSON.stringify([fileIn(other), fileIn("/usr/include"), fileIn(shown), "/usr/bin/env"])}]`,
    );
    expect([error, result]).toEqual([undefined, "[false, false, true, true]"]);
  });

  test("FAIL-G2 REQ-E3 what they write is bounded together, and gone when they have ended", async () => {
    vi.stubEnv("TMPDIR", tempWorkspace());
    onTestFinished(() => void vi.unstubAllEnvs());
    const [node, python] = runnersWith([]);
    const patient = { ...LIMITS, timeoutMs: 150_000, cpuMs: 150_000 };
    const inNode = await runIn(
      node,
      "javascript",
      `const fs = require("node:fs"), bytes = Buffer.alloc(8 << 20, 1);
for (let n = 0; ; n++) fs.writeFileSync("f" + n, bytes);`,
      patient,
    );
    const small = 'n = 0\nwhile True:\n  n += 1\n  with open(f"f{n}", "wb") as f: f.write(bytes(16384))';
    const inPython = await runIn(python, "python", small, patient);
    const isFull = tier === "bubblewrap";
    const ended = isFull ? { message: expect.stringMatching(/ENOSPC|No space/) } : { ended: "memory" };
    for (const { error } of [inNode, inPython]) expect(error).toMatchObject(ended);
    if (isFull) return;
    const nameless = 'import os\nkept = []\nfor n in range(100):\n  f = open("f", "w+b")\n';
    const write = '  f.write(bytes(8 << 20))\n  f.flush()\n  os.unlink("f")\n';
    const map = `  assert libc.mmap(None, 4096, 1, 1, f.fileno(), 0) != ctypes.c_void_p(-1).value\n  f.close()\n`;
    const libc = "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.mmap.restype = ctypes.c_void_p\n";
    const wait = "import time\ntime.sleep(140)";
    for (const code of [
      `${nameless}${write}  kept.append(f)\n${wait}`,
      `${libc}${nameless}${write}${map}${wait}`,
    ])
      expect((await runIn(python, "python", code, patient)).error).toMatchObject({ ended: "memory" });
    const hide =
      'import array, socket\na, b = socket.socketpair()\na.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [1]))])';
    expect((await runIn(python, "python", hide)).error).toMatchObject({ name: "PermissionError" });
    expect(execFileSync("du", ["-sk", tmpdir()], { encoding: "utf8" })).toMatch(/^\d{1,3}\t/);
  }, 300_000);

  test.skipIf(!createCommandGroups().works)(
    "FAIL-G2 REQ-E3 memory that belongs to none of their processes is bounded, too",
    async () => {
      const [, python] = runnersWith([]);
      const take = [
        'import os\nkept = []\nfor n in range(16):\n  kept.append(os.memfd_create("x"))\n  os.write(kept[-1], bytes(32 << 20))',
        `import mmap, os\nkept = []\nfor n in range(16):\n  kept.append(mmap.mmap(-1, 32 << 20))\n  for at in range(0, 32 << 20, 4096): kept[-1][at] = 1\n  kept[-1].madvise(mmap.MADV_DONTNEED)`,
      ];
      for (const code of take)
        expect((await runIn(python, "python", `${code}\n"all of it"`)).error).toMatchObject({
          ended: "memory",
        });
    },
    60_000,
  );

  test("FAIL-G2 REQ-E3 of packages they see what a command would: no secrets under any name, no state", async () => {
    const root = tempWorkspace({
      ".env": "KEY=the-secret",
      "site-packages/app/.env": "the-secret",
      "site-packages/app/key.pem": "the-secret",
      "site-packages/app/data.txt": "public",
      "site-packages/.llmc/state.db": "the-secret",
    });
    const folder = join(root, "site-packages");
    linkSync(join(root, ".env"), join(folder, "app/hard.txt"));
    linkSync(join(folder, "app/key.pem"), join(folder, "app/other.txt"));
    const [, python] = runnersWith([folder], [join(root, ".env")]);
    const { error, result } = await runIn(
      python,
      "python",
      `
def text(path):
  try:
    return open(${JSON.stringify(folder)} + "/" + path).read()
  except OSError:
    return ""
[text(path) for path in ("app/.env", "app/key.pem", "app/hard.txt", "app/other.txt", ".llmc/state.db", "app/data.txt")]`,
    );
    expect([error, JSON.parse(result ?? "null")]).toEqual([undefined, ["", "", "", "", "", "public"]]);
  });

  test("REQ-T5 they load packages of the folders that the operator named, which are no links", async () => {
    const root = tempWorkspace({
      "node_modules/adds/package.json": '{"type":"module","exports":"./index.js"}',
      "node_modules/adds/index.js": "export const add = (a, b) => a + b;",
      "site-packages/adds.py": "def add(a, b): return a + b",
    });
    const [node] = runnersWith([join(root, "node_modules")]);
    const [, python] = runnersWith([join(root, "site-packages")]);
    expect(await runIn(node, "javascript", "require('adds').add(1, 2)")).toMatchObject({ result: "3" });
    expect(await runIn(python, "python", "import adds\nadds.add(1, 2)")).toMatchObject({ result: "3" });
    mkdirSync(join(root, "b"));
    writeFileSync(join(root, "secret.txt"), "");
    symlinkSync(root, join(root, "b/node_modules"));
    const [linked] = runnersWith([join(root, "b/node_modules")]);
    await expect(linked.start()).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("link"),
    });
  });
});

test("REQ-D8: real interpreters do not start without a sandbox, whatever the configuration says", async () => {
  const parts = { sandbox: nativeSandbox([], { tiers: ["plain"] }), memoryBytes };
  await expect(createNodeRunner(parts).start()).rejects.toMatchObject({ code: "unavailable" });
});
