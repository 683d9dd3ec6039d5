import type { HostileProgram, Outcome } from "./guest-stand.ts";

const IN_TIME: Outcome = { ended: /timeout|cpu/ };
const OUT_OF_MEMORY: Outcome = { anyOf: [{ error: /MemoryError|OverflowError/ }, { ended: /memory|crash/ }] };
/** On a busy machine the import of a large module may take all the time that there is. */
const FAILS: Outcome = { anyOf: [{ error: /./ }, IN_TIME] };
/** Node would start one, so its permission model ends the interpreter; behind it stands the filter of system calls. */
const NO_SHELL: Outcome = { anyOf: [FAILS, { result: -1 }, { ended: /crash/ }] };
const UNKNOWN: Outcome = { error: /ToolError: There is no such tool/ };
const CONTAINED: Outcome = {
  anyOf: [{ result: "contained" }, { error: /./ }, IN_TIME, { ended: /crash|memory|protocol/ }],
};

const programs = (rows: readonly (readonly [title: string, code: string, outcome: Outcome])[]) =>
  rows.map(([title, code, outcome]): HostileProgram => ({ title, code, outcome }));

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

/** Tries every attribute of an object of JavaScript for a way to the process. */
const viaProxy = (object: string): string => `
from pyodide.ffi import JsProxy
import gc
targets = [${object}] if "${object}" else [o for o in gc.get_objects() if isinstance(o, JsProxy)]
hits = []
for t in targets:
    for name in ("process", "require", "globalThis", "eval", "fetch", "binding", "mainModule"):
        try:
            if getattr(t, name, None) is not None:
                hits.append(name)
        except BaseException:
            pass
    try:
        hits.append(str(t.constructor.constructor("return process")()))
    except BaseException:
        pass
hits`;

const SYSTEM = programs([
  ["a file of the host", "open('/etc/passwd').read()", FAILS],
  ["the environment", "import os\n[k for k in os.environ if 'SECRET' in k or 'TOKEN' in k]", { result: [] }],
  ["os.system", "import os\nos.system('id')", NO_SHELL],
  ["os.popen", "import os\nos.popen('id').read()", FAILS],
  ["subprocess", "import subprocess\nsubprocess.run(['id'])", FAILS],
  ["os.fork", "import os\nos.fork()", FAILS],
  ["os.execv", "import os\nos.execv('/bin/sh', ['sh'])", FAILS],
  [
    "os.kill",
    "import os\nos.kill(1, 9)",
    { anyOf: [FAILS, { ended: /crash/ }, { result: null }, { result: undefined }] },
  ],
  ["pty", "import pty\npty.spawn('/bin/sh')", FAILS],
  ["multiprocessing", "import multiprocessing\np = multiprocessing.Process(target=print)\np.start()", FAILS],
  ["threads", "import threading\nthreading.Thread(target=print).start()", FAILS],
  [
    "a socket",
    "import socket\ns = socket.socket()\ns.settimeout(1)\ns.connect(('1.1.1.1', 80))\ns.send(b'x')\ns.recv(1)",
    CONTAINED,
  ],
  ["urllib", "import urllib.request\nurllib.request.urlopen('http://1.1.1.1', timeout=1).read()", FAILS],
  ["pyfetch", "from pyodide.http import pyfetch\nawait pyfetch('http://1.1.1.1')", FAILS],
  ["open_url", "from pyodide.http import open_url\nopen_url('http://1.1.1.1').read()", FAILS],
  [
    "ctypes",
    "import ctypes\nctypes.CDLL(None).system(b'id')",
    { anyOf: [FAILS, { ended: /crash/ }, { result: -1 }, { result: 0 }, { result: 127 }] },
  ],
  [
    "ctypes memory",
    "import ctypes\nctypes.string_at(0x10, 8)",
    { anyOf: [FAILS, { ended: /crash/ }, { result: "\0\0\0\0\0\0\0\0" }] },
  ],
  ["mmap", "import mmap\nmmap.mmap(-1, 2**31)", { anyOf: [FAILS, OUT_OF_MEMORY] }],
  ["/proc", "open('/proc/1/environ').read()", FAILS],
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
  ["js", "import js", FAILS],
  ["pyodide_js", "import pyodide_js", FAILS],
  ["js by importlib", "import importlib\nimportlib.import_module('js').process", FAILS],
  ["run_js", "from pyodide.code import run_js\nrun_js('process.env')", FAILS],
  ["micropip", "import micropip", FAILS],
  ["load_package", "import pyodide\nawait pyodide.loadPackage('numpy')", FAILS],
  ["__subclasses__", SUBCLASSES, { result: [] }],
  ["__builtins__", "__builtins__.__import__('os').system('id')", NO_SHELL],
  ["__globals__", "tools.read_file.__globals__['os'].system('id')", NO_SHELL],
  [
    "frames",
    "import sys\nf = sys._getframe()\nwhile f.f_back: f = f.f_back\n'SECRET' in str(f.f_globals)",
    { result: false },
  ],
  [
    "closures lead to no process",
    viaProxy("tools.read_file.__closure__[0].cell_contents"),
    { anyOf: [{ result: [] }, FAILS] },
  ],
  ["objects of JavaScript lead to no process", viaProxy(""), { anyOf: [{ result: [] }, FAILS] }],
  [
    "the bridge's own function",
    "f = [c.cell_contents for c in tools.read_file.__closure__ if callable(c.cell_contents)]\nsend = [c.cell_contents for g in f for c in (g.__closure__ or ()) if 'JsProxy' in str(type(c.cell_contents))]\nsend[0].constructor('return process')()",
    FAILS,
  ],
  [
    "calls with the bridge's own function",
    "f = [c.cell_contents for c in tools.read_file.__closure__ if callable(c.cell_contents)]\nsend = [c.cell_contents for g in f for c in (g.__closure__ or ()) if 'JsProxy' in str(type(c.cell_contents))]\nfor i in range(1000): send[0](i, 'health', '{}')\n1",
    { anyOf: [{ ended: /tool_calls/ }, FAILS] },
  ],
  [
    "NODEFS",
    "import sys\nfrom pyodide.ffi import JsProxy\nimport gc\nm = [o for o in gc.get_objects() if isinstance(o, JsProxy)]\n[o.mountNodeFS('/host', '/') for o in m]\nopen('/host/etc/passwd').read()",
    CONTAINED,
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
    { anyOf: [FAILS, { ended: /crash/ }] },
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
  ["deep parentheses", "eval('(' * 10**5 + ')' * 10**5)", FAILS],
  ["deep result", "a = []\nfor _ in range(10**5): a = [a]\na", { anyOf: [FAILS, { ended: /crash/ }] }],
  [
    "tasks without end",
    "import asyncio\nasync def f():\n    while True: await asyncio.sleep(0)\nawait asyncio.gather(*[f() for _ in range(100)])",
    IN_TIME,
  ],
  ["sleeping for ever", "import asyncio\nawait asyncio.sleep(10**6)", IN_TIME],
  ["blocking sleep", "import time\ntime.sleep(10**6)", { anyOf: [IN_TIME, FAILS] }],
  [
    "a file in memory that grows",
    "with open('big', 'wb') as f:\n    while True: f.write(b'x' * 10**6)",
    { anyOf: [OUT_OF_MEMORY, FAILS, IN_TIME] },
  ],
  ["sys.exit", "import sys\nsys.exit(3)", { error: /SystemExit/ }],
  ["os._exit", "import os\nos._exit(0)", { anyOf: [FAILS, { ended: /crash/ }] }],
  ["os.abort", "import os\nos.abort()", { anyOf: [FAILS, { ended: /crash/ }] }],
  [
    "faulthandler",
    "import faulthandler\nfaulthandler._sigsegv()",
    { anyOf: [FAILS, { ended: /crash/ }, { result: undefined }] },
  ],
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
  ["result in a circle", "a = []\na.append(a)\na", FAILS],
  [
    "result that throws",
    "class A:\n    def __str__(self): raise ValueError('in str')\nA()",
    { error: /in str/ },
  ],
  [
    "links in the workspace",
    "import os\nos.symlink('/etc/passwd', 'link')\nos.symlink('..', 'up')\n1",
    { result: 1 },
  ],
  ["a file that is no text", "open('bin', 'wb').write(b'\\xff\\xfe')\n1", { result: 1 }],
  ["a name that leads out", "open('../planted', 'w').write('x')\n1", { anyOf: [{ result: 1 }, FAILS] }],
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
  ["outside by a tool", "await tools.read_file(path='../../../etc/passwd')", { error: /ToolError/ }],
  [
    "arguments that are deep",
    "a = 'x'\nfor _ in range(60): a = [a]\nawait tools.read_file(path=a)",
    { error: /ToolError: Nested/ },
  ],
  ["arguments in a circle", "a = []\na.append(a)\nawait tools.read_file(path=a)", FAILS],
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
