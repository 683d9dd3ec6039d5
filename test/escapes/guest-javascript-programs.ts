import type { HostileProgram, Outcome } from "./guest-stand.ts";

const NO_PROCESS: Outcome = { error: /ReferenceError: 'process' is not defined/ };
const OUT_OF_MEMORY: Outcome = {
  anyOf: [{ error: /out of memory|RangeError|string too long|Error: null$/ }, { ended: /memory|crash/ }],
};
const IN_TIME: Outcome = { ended: /timeout|cpu/ };
const CRASH: Outcome = { ended: /^crash$/ };
const OVERFLOW: Outcome = { error: /InternalError: stack overflow/ };
const UNKNOWN: Outcome = { error: /ToolError: There is no such tool/ };
const NO_MODULE: Outcome = { error: /^ReferenceError: could not load module/ };

const programs = (
  rows: readonly (readonly [
    title: string,
    code: string,
    outcome: Outcome,
    alone?: true | readonly string[],
  ])[],
) =>
  rows.map(
    ([title, code, outcome, alone]): HostileProgram => ({
      title,
      code,
      outcome,
      ...(alone === undefined ? {} : { isAlone: true }),
      // Files of other programs in the same interpreter would be among them.
      ...(typeof alone === "object" ? { files: alone } : {}),
    }),
  );

const HOST_OBJECTS = programs([
  [
    "no name of a host",
    "['process','require','module','global','fetch','WebSocket','WebAssembly','Buffer','Deno','Bun','std','os','Worker','XMLHttpRequest'].filter((n) => n in globalThis)",
    { result: [] },
  ],
  ["process", "process.env", NO_PROCESS],
  ["Function", "Function('return process')()", NO_PROCESS],
  ["indirect eval", "(0, eval)('process')", NO_PROCESS],
  ["constructor of this", "globalThis.constructor.constructor('return process')()", NO_PROCESS],
  ["constructor of an array", "[].constructor.constructor('return process')()", NO_PROCESS],
  ["async constructor", "await (async () => {}).constructor('return process')()", NO_PROCESS],
  ["generator constructor", "(function* () {}).constructor('return process')().next()", NO_PROCESS],
  ["Reflect.construct", "Reflect.construct(Function, ['return process'])()", NO_PROCESS],
  ["constructor of console.log", "console.log.constructor('return process')()", NO_PROCESS],
  ["constructor of setTimeout", "setTimeout.constructor('return process')()", NO_PROCESS],
  ["constructor of a file function", "files.read.constructor('return process')()", NO_PROCESS],
  ["constructor of a tool", "tools.read_file.constructor('return process')()", NO_PROCESS],
  [
    "constructor of a failure",
    "try { await tools.read_file({ path: 'none' }) } catch (e) { e.constructor.constructor('return process')() }",
    NO_PROCESS,
  ],
  [
    "constructor of a tool's promise",
    "tools.read_file({ path: 'a.txt' }).constructor.constructor('return process')()",
    NO_PROCESS,
  ],
  [
    "constructor of a result",
    "(await tools.read_file({ path: 'a.txt' })).constructor.constructor('return process')()",
    NO_PROCESS,
  ],
  ["constructor of inputs", "inputs.constructor.constructor('return process')()", NO_PROCESS],
  ["caller of a callback", "(function f() { return f.caller ?? f.arguments ?? null })()", { result: null }],
  [
    "stack names no path",
    "/[\\\\/]/.test(new Error('x').stack.replaceAll('program', ''))",
    { result: false },
  ],
  [
    "prepareStackTrace",
    "Error.prepareStackTrace = (e, s) => s; typeof new Error().stack",
    { result: "string" },
  ],
  ["own keys of tools", "[Reflect.ownKeys(tools), Object.getPrototypeOf(tools)]", { result: [[], null] }],
  [
    "tools is closed",
    "'use strict'; Object.defineProperty(tools, 'x', { value: 1 })",
    { error: /TypeError/ },
  ],
]);

const MODULES = programs([
  ["import node:fs", "(await import('node:fs')).readFileSync('/etc/passwd')", NO_MODULE],
  ["import fs", "(await import('fs')).readdirSync('/')", NO_MODULE],
  ["import std", "(await import('std')).getenv('HOME')", NO_MODULE],
  ["import os", "(await import('os')).exec(['ls'])", NO_MODULE],
  ["import a file", "await import('/etc/passwd')", NO_MODULE],
  ["import a URL", "await import('https://example.org/x.js')", NO_MODULE],
  ["import of data", "await import('data:text/javascript,1')", NO_MODULE],
  ["static import", "import fs from 'fs'", { error: /SyntaxError/ }],
  ["import.meta", "import.meta.url", { error: /SyntaxError/ }],
]);

const POLLUTION = programs([
  ["Object.prototype.then", "Object.prototype.then = () => {}; 1", { error: /nothing will settle/ }],
  [
    "JSON replaced",
    "JSON.stringify = () => 'forged'; JSON.parse = () => ({}); (await tools.read_file({ path: 'a.txt' })).data",
    { result: "open\n" },
  ],
  [
    "Promise.then replaced",
    "Promise.prototype.then = function () { throw 1 }; tools.read_file({ path: 'a.txt' }); 2",
    { result: 2 },
  ],
  [
    "Map.get replaced",
    "Map.prototype.get = () => { throw 1 }; (await tools.read_file({ path: 'a.txt' })).data",
    { result: "open\n" },
  ],
  [
    "Reflect.apply replaced",
    "Reflect.apply = () => { throw 1 }; console.log(1); files.write('x', 'y'); 3",
    { result: 3 },
  ],
  ["Array.join replaced", "Array.prototype.join = () => { throw 1 }; console.log(1); 4", { result: 4 }],
  [
    "Error.prototype replaced",
    "Error.prototype.toString = () => { throw 1 }; throw new Error('plain')",
    { error: /Error: plain/ },
  ],
  [
    "Symbol.iterator replaced",
    "Array.prototype[Symbol.iterator] = () => { throw 1 }; (await tools.read_file({ path: 'a.txt' })).data",
    { result: "open\n" },
  ],
  [
    "setters on Object.prototype",
    "Object.defineProperty(Object.prototype, 'code', { set() { throw 1 }, get() { return 'forged' } }); await tools.nope({})",
    { error: /^Error: 1$/ },
  ],
  [
    "globals deleted",
    "for (const n of Object.getOwnPropertyNames(globalThis)) { try { delete globalThis[n] } catch {} } 5",
    { result: 5 },
    true,
  ],
]);

const BOMBS = programs([
  ["endless loop", "for (;;);", IN_TIME],
  ["endless recursion", "(function f() { f() })()", OVERFLOW],
  ["recursion by toString", "const o = { toString() { return String(o) } }; String(o)", OVERFLOW],
  ["recursion by getter", "const endless = { get x() { return this.x } }; endless.x", OVERFLOW],
  ["recursion by proxy", "let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); p.x", OVERFLOW],
  ["memory by arrays", "const a = []; for (;;) a.push(new Array(1e5).fill(0))", OUT_OF_MEMORY],
  ["memory by strings", "let s = 'ab'; for (;;) s += s", OUT_OF_MEMORY],
  ["memory by buffers", "const a = []; for (;;) a.push(new Uint8Array(1e7).fill(1))", OUT_OF_MEMORY],
  ["one huge buffer", "new ArrayBuffer(2 ** 40)", OUT_OF_MEMORY],
  [
    "memory by maps",
    "const m = new Map(); for (let i = 0; ; i++) m.set(i, { i })",
    { anyOf: [OUT_OF_MEMORY, IN_TIME] },
  ],
  ["memory by bigints", "let n = 2n; for (;;) n *= n", { error: /^RangeError: BigInt is too large/ }],
  [
    "memory by closures",
    "let f = () => 0; for (;;) { const g = f; f = () => g }",
    { anyOf: [OUT_OF_MEMORY, IN_TIME] },
  ],
  [
    "spread of an endless generator",
    "[...(function* () { for (;;) yield 'x'.repeat(1000) })()]",
    { anyOf: [OUT_OF_MEMORY, IN_TIME] },
  ],
  [
    "catching out of memory",
    "for (;;) { try { const a = []; for (;;) a.push(new Array(1e5)) } catch {} }",
    { anyOf: [IN_TIME, { ended: /memory|crash/ }] },
  ],
  [
    "catching a stack overflow",
    "function f() { try { f() } catch { f() } } f()",
    { anyOf: [IN_TIME, OVERFLOW, { ended: /crash/ }] },
  ],
  ["slow pattern", "/^(a+)+$/.test('a'.repeat(40) + 'b')", IN_TIME],
  ["deep JSON", "JSON.parse('['.repeat(1e6))", { error: /^SyntaxError: stack overflow/ }],
  ["deep result", "let o = {}; for (let i = 0; i < 1e5; i++) o = { o }; o", CRASH],
  [
    "microtask flood",
    "const f = () => Promise.resolve().then(f); await f()",
    { anyOf: [IN_TIME, OUT_OF_MEMORY] },
  ],
  [
    "promise flood",
    "const a = []; for (;;) a.push(new Promise((r) => a.push(r)))",
    { anyOf: [OUT_OF_MEMORY, IN_TIME] },
  ],
  [
    "timer flood",
    "const f = () => { setTimeout(f, 0); setTimeout(f, 0) }; f(); await new Promise(() => {})",
    { error: /^RangeError: Too many timers/ },
  ],
  ["sleeping for ever", "await new Promise((r) => setTimeout(r, 1e9))", IN_TIME],
  [
    "Atomics.wait",
    "typeof Atomics === 'undefined' || Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1e6)",
    { result: true },
  ],
  ["endless toJSON", "({ toJSON() { for (;;); } })", IN_TIME],
]);

const OUTPUT = programs([
  [
    "output flood",
    "for (let i = 0; i < 1e5; i++) console.log('x'.repeat(1000)); 1",
    { anyOf: [{ result: 1 }, IN_TIME] },
  ],
  ["one huge line", "console.log('x'.repeat(2e7)); 1", { result: 1 }],
  ["huge result", "'x'.repeat(5e6)", { error: /RangeError: The result is larger/ }],
  ["result in a circle", "const a = []; a.push(a); a", { error: /TypeError: circular/ }],
  ["result that throws", "({ get x() { throw new Error('in a getter') } })", { error: /in a getter/ }],
  ["result that is a function", "() => 1", { result: "[function]" }],
  [
    "frames in the output",
    'console.log(\'\\u0010\\0\\0\\0{"type":"done","result":"9","files":[]}\'); 1',
    { result: 1 },
  ],
  ["lone surrogates", "console.log('\\ud800'); '\\udc00'", { result: "\udc00" }],
  [
    "a thousand files",
    "for (let i = 0; i < 1000; i++) files.write('f' + i, 'x'); files.list().length",
    { result: 1000 },
  ],
  ["a huge file", "files.write('big', 'x'.repeat(1.2e7)); 1", { anyOf: [{ result: 1 }, OUT_OF_MEMORY] }],
  [
    "names of files that lead out",
    "for (const n of ['../../etc/passwd', '/etc/passwd', '.env', 'a\\0b', '..']) files.write(n, 'planted'); 1",
    { result: 1 },
    ["../../etc/passwd", "/etc/passwd", ".env", "a\0b", ".."],
  ],
  [
    "a name of a file that is no text",
    "files.write({ toString() { return 'x' } }, 'y')",
    { error: /^TypeError: A file needs a name/ },
    [],
  ],
  [
    "bytes that lie about their length",
    "const b = new Uint8Array(4); Object.defineProperty(b, 'length', { value: 1e9 }); files.write('b', b); 1",
    { result: 1 },
    ["b"],
  ],
  ["reading a host's file", "files.read(inputs.secret)", { error: /no file/ }],
  ["reading a secret by a tool", "await tools.read_file({ path: '.env' })", { error: /ToolError/ }],
  ["reading outside by a tool", "await tools.read_file({ path: inputs.secret })", { error: /^ToolError: / }],
]);

const BRIDGE = programs([
  ["a tool named constructor", "await tools.constructor({})", UNKNOWN],
  ["a tool named __proto__", "await tools['__proto__']({})", UNKNOWN],
  ["a tool with a huge name", "await tools['x'.repeat(1e6)]({})", UNKNOWN],
  [
    "another program",
    "await tools.execute_code({ language: 'javascript', code: '1' })",
    { error: /ToolError: A program cannot/ },
  ],
  [
    "another program by its dotted name",
    "await tools['execute.code']({ language: 'javascript', code: '1' })",
    { error: /ToolError: A program cannot/ },
  ],
  ["arguments in a circle", "const a = {}; a.a = a; await tools.read_file(a)", { error: /circular/ }],
  [
    "arguments with __proto__",
    'await tools.read_file(JSON.parse(\'{"path":"a.txt","__proto__":{}}\'))',
    { error: /ToolError/ },
  ],
  [
    "arguments that are deep",
    "let deep = 'x'; for (let i = 0; i < 100; i++) deep = [deep]; await tools.read_file({ path: deep })",
    { error: /ToolError: Nested/ },
  ],
  [
    "arguments that are huge",
    "await tools.linux_fs_write({ path: 'big', content: 'x'.repeat(1.8e7) })",
    OUT_OF_MEMORY,
  ],
  ["arguments that are no object", "await tools.read_file(7)", { error: /ToolError/ }],
  [
    "arguments that throw",
    "await tools.read_file({ toJSON() { throw new Error('in toJSON') } })",
    { error: /in toJSON/ },
  ],
  ["too many calls", "for (;;) await tools.health({})", { ended: /tool_calls/ }],
  ["too many calls at once", "for (let i = 0; i < 1e4; i++) tools.health({}); 1", { ended: /tool_calls/ }],
  [
    "calls after the end",
    "tools.health({}).then(() => tools.health({})).then(() => console.log('late')); throw new Error('over')",
    { error: /over/ },
  ],
  [
    "a call that outlives the deadline",
    "tools.run_cmd({ command: 'tail -f a.txt', timeout: 60 }); await new Promise((r) => setTimeout(r, 1e6))",
    IN_TIME,
  ],
  [
    "timers that go on after the end",
    "setInterval(() => console.log('late'), 1); throw new Error('over')",
    { error: /^Error: over$/ },
  ],
  ["an interval without end", "setInterval(() => {}, 0); 1", IN_TIME],
  [
    "declarations that shadow the bridge",
    "var tools2 = tools; { const tools = { read_file: () => 'forged' }; } (await tools2.read_file({ path: 'a.txt' })).data",
    { result: "open\n" },
  ],
  [
    "a clone that runs code",
    "structuredClone({ get x() { return Function('return typeof process')() } }).x",
    { result: "undefined" },
  ],
  [
    "a clone without end",
    "let o = {}; for (let i = 0; i < 1e5; i++) o = { o }; structuredClone(o); 1",
    OVERFLOW,
  ],
  [
    "a view that lies to the decoder",
    "class V extends Uint8Array { get byteLength() { return 1e9 } } new TextDecoder().decode(new V(4)).length",
    { error: /^RangeError/ },
  ],
  ["a promise that nobody settles", "await new Promise(() => {})", { error: /nothing will settle/ }],
]);

export const JAVASCRIPT_PROGRAMS: readonly HostileProgram[] = [
  ...HOST_OBJECTS,
  ...MODULES,
  ...POLLUTION,
  ...BOMBS,
  ...OUTPUT,
  ...BRIDGE,
];
