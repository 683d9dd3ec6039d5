import { MAX_RESULT_DEPTH } from "./bounds.ts";
import { UNSHOWN_MESSAGE } from "./program-error.ts";

/** Modules that programs use, loaded in the snapshot already: the first import of each takes some milliseconds. */
export const PYTHON_PRELOAD =
  "import ast, asyncio, collections, csv, datetime, inspect, io, itertools, json, math, os, re, stat, sys, textwrap, traceback\nfrom pyodide.ffi import to_js";

/**
 * The program's surroundings in Python, as a text, for every Python that runs programs. Everything crosses the border as
 * JSON; what a program breaks here it breaks for itself, and the process around it is confined by the system.
 */
export const PYTHON_SURROUNDINGS = `
import ast, asyncio, inspect, json, os, sys, traceback

class ToolError(Exception):
    """A tool call that failed."""
    def __init__(self, code, message, retryable):
        super().__init__(message)
        self.code, self.message, self.retryable = code, message, retryable

def _surround(send_call, work_folder):
    waiting = {}
    made = 0
    dumps, loads = json.dumps, json.loads
    program_globals = {"__name__": "__main__", "ToolError": ToolError}
    main_task = None

    def plain(value, depth=0):
        if depth >= ${MAX_RESULT_DEPTH} and isinstance(value, (dict, list, tuple, set, frozenset)):
            raise ValueError("The value is nested deeper than ${MAX_RESULT_DEPTH} levels, or in a circle.")
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, int):
            return value if -2**53 < value < 2**53 else str(value)
        if isinstance(value, float):
            return value if value == value and abs(value) != float("inf") else str(value)
        if isinstance(value, dict):
            return {str(key): plain(item, depth + 1) for key, item in value.items()}
        if isinstance(value, (list, tuple, set, frozenset)):
            return [plain(item, depth + 1) for item in value]
        if isinstance(value, (bytes, bytearray)):
            return bytes(value).decode("utf-8", "replace")
        return str(value)

    def call_tool(name, args):
        nonlocal made
        text = dumps(plain(args), ensure_ascii=True)
        made += 1
        future = asyncio.get_running_loop().create_future()
        waiting[made] = future
        # A failure that nobody waits for is in the list of calls.
        future.add_done_callback(lambda done: done.cancelled() or done.exception())
        send_call(made, str(name), text)
        return future

    class Tools:
        __slots__ = ()
        def __getattr__(self, name):
            if name.startswith("__"):
                raise AttributeError(name)
            return self[name]
        def __getitem__(self, name):
            def tool(*args, **kwargs):
                if len(args) > 1 or args and (kwargs or not isinstance(args[0], dict)):
                    raise TypeError("A tool takes keyword arguments.")
                return call_tool(name, args[0] if args else kwargs)
            return tool

    def settle(call, text):
        future = waiting.pop(call, None)
        if future is not None and not future.done():
            future.set_result(loads(text))

    def fail(call, text):
        future = waiting.pop(call, None)
        if future is not None and not future.done():
            failure = loads(text)
            future.set_exception(ToolError(failure["code"], failure["message"], failure["retryable"]))

    def message_of(error):
        try:
            return str(error)
        except BaseException:
            return "${UNSHOWN_MESSAGE}"

    def flush_streams():
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except BaseException:
                # The program has closed it, or put something else in its place.
                pass

    def describe_plainly(error):
        described = {"name": str(type(error).__name__), "message": message_of(error)}
        if isinstance(error, SyntaxError) and error.filename == "<program>":
            described["message"] = str(error.msg)
            if isinstance(error.lineno, int) and isinstance(error.offset, int):
                described["line"], described["column"] = int(error.lineno), int(error.offset)
        else:
            frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == "<program>"]
            if frames:
                described["line"] = frames[-1].lineno
                if frames[-1].colno is not None:
                    described["column"] = frames[-1].colno + 1
        if isinstance(error, ToolError):
            described["code"], described["retryable"] = str(error.code), bool(error.retryable)
        return described

    def describe(error):
        try:
            return describe_plainly(error)
        except BaseException:
            return {"name": "InternalError", "message": "${UNSHOWN_MESSAGE}"}

    class TopLevelRuns(ast.NodeTransformer):
        """A loop runs already: what a program runs in one of its own, outside of functions, is awaited in this one."""
        def keep(self, node):
            return node
        visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = keep
        def visit_Call(self, node):
            self.generic_visit(node)
            called = node.func
            is_run = isinstance(called, ast.Attribute) and len(node.args) == 1 and (
                called.attr == "run_until_complete"
                or called.attr == "run" and isinstance(called.value, ast.Name) and called.value.id == "asyncio")
            return ast.copy_location(ast.Await(node.args[0]), node) if is_run else node

    def compile_program(code):
        tree = TopLevelRuns().visit(ast.parse(code, "<program>"))
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        parts = [(tree, "exec")] + ([] if last is None else [(ast.Expression(last.value), "eval")])
        allow_await = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        return [compile(part, "<program>", mode, flags=allow_await, dont_inherit=True) for part, mode in parts]

    async def evaluate(code, inputs):
        program_globals["tools"] = Tools()
        program_globals["inputs"] = loads(inputs)
        value = None
        for part in compile_program(code):
            value = eval(part, program_globals)
            if part.co_flags & inspect.CO_COROUTINE:
                value = await value
        if inspect.isawaitable(value):
            value = await value
        while waiting:
            await asyncio.wait(list(waiting.values()))
        return None if value is None else dumps(plain(value))

    async def run(code, inputs):
        nonlocal main_task
        main_task = asyncio.current_task()
        ended = {}
        # A task that failed and that nobody awaited.
        lost = []
        asyncio.get_running_loop().set_exception_handler(lambda _, found: lost.append(found.get("exception")))
        try:
            result = await evaluate(code, inputs)
            if result is not None:
                ended["result"] = result
        except BaseException as error:
            ended["error"] = describe(error)
        if "error" not in ended and lost and lost[0] is not None:
            ended["error"] = describe(lost[0])
        for task in asyncio.all_tasks():
            if task is not main_task:
                task.cancel()
        waiting.clear()
        flush_streams()
        return dumps(ended)

    os.makedirs(work_folder, exist_ok=True)
    os.chdir(work_folder)
    return [run, settle, fail]
`;

/** In Pyodide: what JavaScript calls to get the surroundings, by its name. It is part of the snapshot. */
export const PYODIDE_SURROUND = "_surround_pyodide";
export const PYODIDE_PRELUDE = `${PYTHON_SURROUNDINGS}
from pyodide.ffi import to_js

def ${PYODIDE_SURROUND}(send_call, work_folder):
    # Their parts as well: pyodide_js._api is the whole interpreter from outside.
    for name in [name for name in sys.modules if name.partition(".")[0] in ("js", "pyodide_js")]:
        del sys.modules[name]
    return to_js(_surround(send_call, work_folder))

`;
