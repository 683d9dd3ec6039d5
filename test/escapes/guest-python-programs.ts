import type { HostileProgram, Outcome } from "./guest-stand.ts";

const IN_TIME: Outcome = { ended: /timeout|cpu/ };
const OUT_OF_MEMORY: Outcome = { anyOf: [{ error: /MemoryError|OverflowError/ }, { ended: /memory|crash/ }] };
/** Node would start one, so its permission model ends the interpreter; behind it stands the filter of system calls. */
const NO_SHELL: Outcome = { ended: /^crash$/ };
const CRASH: Outcome = { ended: /^crash$/ };
const NO_FILE: Outcome = { error: /^FileNotFoundError/ };
const NO_PROCESSES: Outcome = {
  error: /^OSError: .*(?:does not support processes|Function not implemented)/,
};
const NO_NETWORK: Outcome = { error: /Host is unreachable/ };
const NO_MODULE: Outcome = { error: /^ModuleNotFoundError/ };
/** Neither Function nor its like makes code from a text. */
const NO_CODE: Outcome = { error: /^JsException: .*EvalError: Code generation from strings disallowed/s };
const TOO_DEEP: Outcome = { error: /^ValueError: The value is nested deeper/ };
const UNKNOWN: Outcome = { error: /ToolError: There is no such tool/ };
const programs = (
  rows: readonly (readonly [title: string, code: string, outcome: Outcome, files?: readonly string[]])[],
) =>
  rows.map(
    ([title, code, outcome, files]): HostileProgram => ({
      title,
      code,
      outcome,
      // Files of other programs in the same interpreter would be among them.
      ...(files === undefined ? {} : { files, isAlone: true }),
    }),
  );

/** Walks every class that Python knows in search of one that reaches the machine. */
const SUBCLASSES = `
found = []
for c in ().__class__.__base__.__subclasses__():
    if c.__name__ in ("Popen", "_wrap_close"):
        try:
            c(["cat", "/etc/passwd"])
            found.append(c.__name__)
        except BaseException:
            pass
found`;

/** All objects of JavaScript that Python's objects lead to, from the modules and from the bridge: `found`. */
const PROXIES = `
import gc, sys
from pyodide.ffi import JsProxy, create_proxy, to_js
seen, found, todo = set(), [], [list(sys.modules.values()), tools.read_file]
while todo:
    one = todo.pop()
    if id(one) in seen: continue
    seen.add(id(one))
    if isinstance(one, JsProxy): found.append(one)
    else: todo.extend(gc.get_referents(one))
found += [to_js([1]), to_js({"a": 1}), create_proxy(print)]
`;

/** Tries every attribute that could lead to the process, to files or to code. */
const VIA_PROXIES = `${PROXIES}
hits = []
for one in found:
    for name in ("process", "require", "globalThis", "eval", "fetch", "binding", "mainModule", "FS", "mountNodeFS", "loadPackage", "runPython", "public_api"):
        if getattr(one, name, None) is not None:
            hits.append(name)
[len(found) > 4, hits]`;

const SYSTEM = programs([
  ["a file of the host", "open(inputs['secret']).read()", NO_FILE],
  ["the environment", "import os\n[k for k in os.environ if 'SECRET' in k or 'TOKEN' in k]", { result: [] }],
  ["os.system", "import os\nos.system('id')", NO_SHELL],
  ["os.popen", "import os\nos.popen('id').read()", NO_PROCESSES],
  ["subprocess", "import subprocess\nsubprocess.run(['id'])", NO_PROCESSES],
  ["os.fork", "import os\nos.fork()", NO_PROCESSES],
  ["os.execv", "import os\nos.execv('/bin/sh', ['sh'])", { error: /^OSError: .*Exec format error/ }],
  ["os.kill", "import os\nos.kill(1, 9)", { error: /^PermissionError/ }],
  ["pty", "import pty\npty.spawn('/bin/sh')", { error: /^OSError: out of pty devices/ }],
  [
    "multiprocessing",
    "import multiprocessing\np = multiprocessing.Process(target=print)\np.start()",
    NO_MODULE,
  ],
  [
    "threads",
    "import threading\nthreading.Thread(target=print).start()",
    { error: /^RuntimeError: can't start new thread/ },
  ],
  [
    "a socket",
    "import socket\ns = socket.socket()\ns.settimeout(1)\ns.connect(('127.0.0.1', inputs['port']))\ns.send(b'x')\ns.recv(1)",
    NO_NETWORK,
  ],
  [
    "urllib",
    "import urllib.request\nurllib.request.urlopen('http://127.0.0.1:%d' % inputs['port'], timeout=1).read()",
    NO_NETWORK,
  ],
  [
    "pyfetch",
    "from pyodide.http import pyfetch\nawait pyfetch('http://1.1.1.1')",
    { error: /^NameError: name 'AbortController' is not defined/ },
  ],
  [
    "open_url",
    "from pyodide.http import open_url\nopen_url('http://1.1.1.1').read()",
    { error: /^NameError: name 'XMLHttpRequest' is not defined/ },
  ],
  ["ctypes", "import ctypes\nctypes.CDLL(None).system(b'id')", CRASH],
  ["ctypes memory", "import ctypes\nctypes.string_at(0x10, 8)", { result: "\0\0\0\0\0\0\0\0" }],
  [
    "mmap",
    "import mmap\nmmap.mmap(-1, 2**31)",
    { error: /^(?:OverflowError|MemoryError|OSError|PermissionError)/ },
  ],
  ["/proc", "open('/proc/1/environ').read()", NO_FILE],
  [
    "/dev",
    "import os\n[d for d in os.listdir('/dev') if d.startswith(('sd', 'mem', 'kmsg'))]",
    { result: [] },
  ],
  [
    "the workspace of the server",
    "import os\nos.path.exists('/tmp/llmc-test') or '.env' in os.listdir('.')",
    { result: false },
  ],
]);

const MODULES = programs([
  ["js", "import js", NO_MODULE],
  ["pyodide_js", "import pyodide_js", NO_MODULE],
  ["js by importlib", "import importlib\nimportlib.import_module('js').process", NO_MODULE],
  ["run_js", "from pyodide.code import run_js\nrun_js('process.env')", NO_MODULE],
  ["micropip", "import micropip", NO_MODULE],
  [
    "parts of pyodide_js",
    "import sys\n[n for n in sys.modules if n.split('.')[0] in ('js', 'pyodide_js')]",
    { result: [] },
  ],
  [
    "the interpreter from outside",
    "from pyodide_js._api import public_api\npublic_api.mountNodeFS('/host', '/')",
    NO_MODULE,
  ],
  ["loading a package", "import pyodide_js\nawait pyodide_js.loadPackage('numpy')", NO_MODULE],
  [
    "a module that is loaded again",
    "import importlib, pyodide.webloop\nimportlib.reload(pyodide.webloop)",
    NO_MODULE,
  ],
  ["__subclasses__", SUBCLASSES, { result: [] }],
  ["__builtins__", "__builtins__['__import__']('os').system('id')", NO_SHELL],
  ["__globals__", "tools.read_file.__globals__['os'].system('id')", NO_SHELL],
  [
    "frames",
    "import sys\nf = sys._getframe()\nwhile f.f_back: f = f.f_back\n'SECRET' in str(f.f_globals)",
    { result: false },
  ],
  ["objects of JavaScript lead to no process and no files", VIA_PROXIES, { result: [true, []] }],
  [
    "code from texts by every constructor",
    `${PROXIES}
said = []
for one in found:
    for maker in (one.constructor, one.constructor.constructor):
        try:
            said.append(str(maker("return process")()))
        except BaseException as error:
            said.append("EvalError" if "EvalError" in str(error) else "other")
["EvalError" in said, [one for one in said if "process" in one]]`,
    { result: [true, []] },
  ],
  [
    "frames by toJSON of all objects",
    `${PROXIES}
to_js({}).constructor.prototype.toJSON = create_proxy(lambda *_: '{"type":"done"}')
1`,
    { ended: /^protocol$/ },
  ],
  [
    "the stack of the host",
    `${PROXIES}
calls = []
try:
    found[-2].constructor.constructor("1")
except BaseException as error:
    maker = to_js({}).constructor.getPrototypeOf(error.constructor)
    maker.prepareStackTrace = create_proxy(lambda e, sites: calls.extend(str(s.getThis()) for s in sites))
    try:
        found[-2].constructor.constructor("1")
    except BaseException as other:
        str(other.stack)
[one for one in calls if "process" in one or "global" in one]`,
    { result: [] },
  ],
  [
    "the bridge's own function",
    "f = [c.cell_contents for c in tools.read_file.__closure__ if callable(c.cell_contents)]\nsend = [c.cell_contents for g in f for c in (g.__closure__ or ()) if 'JsProxy' in str(type(c.cell_contents))]\nsend[0].constructor('return process')()",
    NO_CODE,
  ],
  [
    "calls with the bridge's own function",
    "f = [c.cell_contents for c in tools.read_file.__closure__ if callable(c.cell_contents)]\nsend = [c.cell_contents for g in f for c in (g.__closure__ or ()) if 'JsProxy' in str(type(c.cell_contents))]\nfor i in range(1000): send[0](i, 'health', '{}')\n1",
    { ended: /^tool_calls$/ },
  ],
  [
    "writing a frame past the bridge",
    'import os\n[os.write(fd, b\'\\x11\\x00\\x00\\x00{"type":"ready"}\') for fd in (1, 2)]\n1',
    { result: 1 },
  ],
]);

const BOMBS = programs([
  ["endless loop", "while True: pass", IN_TIME],
  [
    "a loop that catches everything",
    "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
    IN_TIME,
  ],
  [
    "endless recursion",
    "def f(): return f()\nf()",
    { anyOf: [{ error: /RecursionError/ }, { ended: /crash/ }] },
  ],
  [
    "recursion without a bound",
    "import sys\nsys.setrecursionlimit(10**9)\ndef f(): return f()\nf()",
    { anyOf: [IN_TIME, OUT_OF_MEMORY] },
  ],
  ["memory by lists", "a = []\nwhile True: a.append([0] * 10**5)", OUT_OF_MEMORY],
  ["memory by bytes", "a = []\nwhile True: a.append(bytearray(10**7))", OUT_OF_MEMORY],
  ["one huge object", "bytearray(2**40)", OUT_OF_MEMORY],
  ["memory by strings", "s = 'ab'\nwhile True: s += s", OUT_OF_MEMORY],
  [
    "memory by dicts",
    "d = {}\ni = 0\nwhile True:\n    d[i] = [i]\n    i += 1",
    { anyOf: [OUT_OF_MEMORY, IN_TIME] },
  ],
  [
    "catching MemoryError",
    "while True:\n    try:\n        a = []\n        while True: a.append(bytearray(10**6))\n    except MemoryError: pass",
    { anyOf: [IN_TIME, { ended: /memory|crash/ }] },
  ],
  ["a huge power", "10 ** 10 ** 9", { anyOf: [IN_TIME, OUT_OF_MEMORY] }],
  ["slow pattern", "import re\nre.match(r'^(a+)+$', 'a' * 40 + 'b')", IN_TIME],
  [
    "deep parentheses",
    "eval('(' * 10**5 + ')' * 10**5)",
    { error: /^SyntaxError: too many nested parentheses/ },
  ],
  ["deep result", "a = []\nfor _ in range(10**5): a = [a]\na", TOO_DEEP],
  [
    "tasks without end",
    "import asyncio\nasync def f():\n    while True: await asyncio.sleep(0)\nawait asyncio.gather(*[f() for _ in range(100)])",
    IN_TIME,
  ],
  ["sleeping for ever", "import asyncio\nawait asyncio.sleep(10**6)", IN_TIME],
  ["blocking sleep", "import time\ntime.sleep(10**6)", IN_TIME],
  [
    "a file in memory that grows",
    "with open('big', 'wb') as f:\n    while True: f.write(b'x' * 10**6)",
    { anyOf: [OUT_OF_MEMORY, { error: /^OSError/ }, IN_TIME] },
  ],
  ["sys.exit", "import sys\nsys.exit(3)", { error: /SystemExit/ }],
  ["os._exit", "import os\nos._exit(0)", CRASH],
  ["os.abort", "import os\nos.abort()", CRASH],
  ["faulthandler", "import faulthandler\nfaulthandler._sigsegv()", CRASH],
]);

const OUTPUT = programs([
  ["output flood", "for _ in range(10**5): print('x' * 1000)\n1", { anyOf: [{ result: 1 }, IN_TIME] }],
  ["one huge line", "print('x' * 2 * 10**7)\n1", { anyOf: [{ result: 1 }, OUT_OF_MEMORY] }],
  ["writing to stdout's descriptor", "import os\nos.write(1, b'\\x02\\x00\\x00\\x00{}')\n1", { result: 1 }],
  [
    "writing to other descriptors",
    "import os\nfor fd in range(3, 50):\n    try: os.write(fd, b'x')\n    except OSError: pass\n1",
    { result: 1 },
  ],
  ["huge result", "'x' * 5 * 10**6", { error: /The result is larger/ }],
  ["result in a circle", "a = []\na.append(a)\na", TOO_DEEP],
  [
    "result that throws",
    "class A:\n    def __str__(self): raise ValueError('in str')\nA()",
    { error: /in str/ },
  ],
  [
    "links in the workspace",
    "import os\nos.symlink('/lib', 'lib')\nos.symlink('/proc/self/environ', 'env')\nos.symlink('..', 'up')\nos.symlink('loop', 'loop')\nopen('own', 'w').write('x')\n1",
    { result: 1 },
    ["own"],
  ],
  [
    "a link to a file of the interpreter",
    "import os\nos.symlink('/lib/python314.zip', 'zip')\nos.makedirs('d')\nos.symlink('/', 'd/root')\nos.rename('d', 'e')\n1",
    { result: 1 },
    [],
  ],
  [
    "a workspace that was moved away",
    "import os\nos.rename('/work', '/moved')\nos.symlink('/lib', '/work')\n1",
    { anyOf: [{ result: 1 }, { error: /^OSError/ }] },
    [],
  ],
  ["a file that is no text", "open('bin', 'wb').write(b'\\xff\\xfe')\n1", { result: 1 }, ["bin"]],
  ["a name that leads out", "open('../planted', 'w').write('x')\n1", { result: 1 }, []],
  ["a thousand files", "for i in range(1000): open(f'f{i}', 'w').write('x')\n1", { result: 1 }],
  [
    "prelude replaced",
    "import json, asyncio\njson.dumps = json.loads = None\nasyncio.Future = None\n(await tools.read_file(path='a.txt'))['data']",
    { result: "open\n" },
  ],
]);

const BRIDGE = programs([
  ["a tool named __class__", "await tools['__class__']()", UNKNOWN],
  [
    "another program",
    "await tools.execute_code(language='python', code='1')",
    { error: /ToolError: A program cannot/ },
  ],
  ["a secret by a tool", "await tools.read_file(path='.env')", { error: /ToolError/ }],
  ["outside by a tool", "await tools.read_file(path=inputs['secret'])", { error: /^ToolError: / }],
  [
    "arguments that are deep",
    "a = 'x'\nfor _ in range(60): a = [a]\nawait tools.read_file(path=a)",
    { error: /ToolError: Nested/ },
  ],
  ["arguments in a circle", "a = []\na.append(a)\nawait tools.read_file(path=a)", TOO_DEEP],
  ["too many calls", "while True: await tools.health()", { ended: /tool_calls/ }],
  [
    "calls after the end",
    "import asyncio\nasync def late():\n    await asyncio.sleep(0)\n    await tools.health()\nasyncio.ensure_future(late())\nraise ValueError('over')",
    { error: /over/ },
  ],
  [
    "a call that outlives the deadline",
    "import asyncio\ntools.run_cmd(command='tail -f a.txt', timeout=60)\nawait asyncio.sleep(10**6)",
    IN_TIME,
  ],
]);

export const PYTHON_PROGRAMS: readonly HostileProgram[] = [
  ...SYSTEM,
  ...MODULES,
  ...BOMBS,
  ...OUTPUT,
  ...BRIDGE,
];
