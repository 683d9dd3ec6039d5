"""Makes a set for `npm run bench -- localisation` from installed Python packages that bring their tests along.

One function of a package is changed (a comparison turned round, an argument dropped, a constant raised by one), and a test
that fails then becomes a report: its name is the title, its comments the prose, its body the example, and in some the
trace. The changed file is the one to find. The test files that reports are made of are left out of the tree.

    python3 make-faults.py FOLDER/localisation-faults networkx numpy scipy stdlib ...

Tests are run: use a machine where that may happen. What is made depends on the versions that are installed.
"""
import ast, collections, gc, glob, hashlib, importlib, importlib.util, inspect, json, lzma, os, pickle, random, re, select
import signal, sys, textwrap, time, traceback, types, unittest, warnings

REPORTS_PER_PROJECT = 60
TEST_FILES = 24
TESTS_PER_FILE = 6
SEED = 7
TRACE_SECONDS, FAULT_SECONDS = 90, 200
MAX_SOURCE_BYTES = 400_000
# Such files are no place for a fix, and are not counted by the benchmark either.
IS_TEST = re.compile(r"(^|/)(tests?|testing|_tests|idle_test)/|(^|/)(test_[^/]*|[^/]*_test|conftest)\.py$")
LEFT_OUT = re.compile(r"/(__pycache__|site-packages|lib-dynload|ensurepip|pydoc_data|lib2to3|turtledemo)(/|$)")


class Project:
    """An installed package, or the standard library."""

    def __init__(self, name):
        self.name = name
        if name == "stdlib":
            self.root = self.base = os.path.dirname(os.__file__)
            self.tests = sorted(glob.glob(self.root + "/test/test_*.py"))
        else:
            self.base = os.path.dirname(importlib.util.find_spec(name).origin)
            self.root = os.path.dirname(self.base)
            self.tests = sorted(glob.glob(self.base + "/**/test_*.py", recursive=True))

    def relative(self, path):
        return os.path.relpath(path, self.root)

    def module_of(self, path):
        return self.relative(path)[:-3].replace("/", ".")

    def is_source(self, path):
        return path.startswith(self.base) and not IS_TEST.search(self.relative(path))

    def files(self, left_out):
        for path in glob.glob(self.base + "/**/*.py", recursive=True):
            is_left_out = path in left_out or LEFT_OUT.search(path[len(self.base):])
            if not is_left_out and os.path.getsize(path) <= MAX_SOURCE_BYTES:
                yield path


def in_child(work, seconds):
    """What the work returns in a process of its own; None where it fails or takes too long."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            null = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(null, descriptor)
            signal.alarm(seconds)
            with os.fdopen(writing, "wb") as pipe:
                pipe.write(pickle.dumps(work()))
        except BaseException:
            pass
        os._exit(0)
    os.close(writing)
    data, end = b"", time.time() + seconds + 1
    while select.select([reading], [], [], max(0.0, end - time.time()))[0]:
        part = os.read(reading, 1 << 16)
        if not part:
            break
        data += part
    os.close(reading)
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        pass
    os.waitpid(pid, 0)
    try:
        return pickle.loads(data) if data else None
    except Exception:
        return None


def simple_tests(module):
    """Tests that need no fixture: functions, and methods of classes."""

    def is_simple(function, skipped):
        if getattr(function, "pytestmark", None) or not inspect.isfunction(function):
            return False
        parameters = list(inspect.signature(function).parameters.values())[skipped:]
        return all(one.default is not one.empty for one in parameters)

    for name, value in list(vars(module).items()):
        if getattr(value, "__module__", "") != module.__name__ or getattr(value, "pytestmark", None):
            continue
        if name.startswith("test") and is_simple(value, 0):
            yield name, None
        elif inspect.isclass(value):
            for method, function in list(vars(value).items()):
                if method.startswith("test") and is_simple(function, 1):
                    yield name, method


def call(module, test):
    name, method = test
    if method is None:
        return getattr(module, name)()
    owner = getattr(module, name)
    if issubclass(owner, unittest.TestCase):
        owner.setUpClass()
        case = owner(method)
        case.setUp()
        return getattr(case, method)()
    case = owner()
    for setup in ("setup_class", "setup_method", "setUp"):
        function = getattr(case, setup, None)
        if function is not None:
            function(*[None] * len(inspect.signature(function).parameters))
    return getattr(case, method)()


def functions_run_by(project, module, test):
    """Functions of the project that a passing test runs, as (path, name, first line)."""
    seen = set()

    def note(frame, _event, _argument):
        code = frame.f_code
        if project.is_source(code.co_filename) and not code.co_name.startswith("<"):
            seen.add((code.co_filename, code.co_name, code.co_firstlineno))

    sys.settrace(note)
    try:
        call(module, test)
    except BaseException:
        return None
    finally:
        sys.settrace(None)
    return seen


class Change(ast.NodeTransformer):
    """Changes one of the places of a function that can be changed; with -1 it only counts them."""

    OPPOSITES = {
        ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
        ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
        ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    }  # fmt: skip

    def __init__(self, chosen):
        self.chosen, self.count = chosen, 0

    def is_chosen(self):
        self.count += 1
        return self.count - 1 == self.chosen

    def visit_Compare(self, node):
        self.generic_visit(node)
        if self.is_chosen():
            node.ops[0] = self.OPPOSITES.get(type(node.ops[0]), type(node.ops[0]))()
        return node

    def visit_BinOp(self, node):
        self.generic_visit(node)
        if self.is_chosen():
            node.op = self.OPPOSITES.get(type(node.op), type(node.op))()
        return node

    def visit_If(self, node):
        self.generic_visit(node)
        if self.is_chosen():
            node.test = ast.UnaryOp(ast.Not(), node.test)
        return node

    def visit_Return(self, node):
        self.generic_visit(node)
        if node.value is not None and self.is_chosen():
            node.value = ast.Constant(None)
        return node

    def visit_Call(self, node):
        self.generic_visit(node)
        if node.keywords and self.is_chosen():
            node.keywords = node.keywords[1:]
        elif len(node.args) > 1 and self.is_chosen():
            node.args = node.args[:-1]
        return node

    def visit_Constant(self, node):
        if type(node.value) is int and self.is_chosen():
            node.value += 1
        return node


def changed_function(target, random_number):
    path, name, line = target
    with open(path, encoding="utf8") as file:
        tree = ast.parse(file.read())
    for node in ast.walk(tree):
        is_named = isinstance(node, ast.FunctionDef) and node.name == name
        if not is_named or min([node.lineno] + [one.lineno for one in node.decorator_list]) != line:
            continue
        node.decorator_list = []
        counting = Change(-1)
        counting.visit(node)
        if counting.count == 0:
            return None
        Change(random.Random(random_number).randrange(counting.count)).visit(node)
        return ast.fix_missing_locations(node)
    return None


def failure_with(module, test, target, random_number):
    """Type, message and frames of what the test raises when the function is changed; None where it still passes."""
    path, name, line = target
    node = changed_function(target, random_number)
    functions = [
        one
        for one in gc.get_objects()
        if isinstance(one, types.FunctionType) and one.__code__.co_filename == path
        and one.__code__.co_firstlineno == line and one.__name__ == name
    ]  # fmt: skip
    if node is None or not functions or any(one.__closure__ for one in functions):
        return None
    names = dict(functions[0].__globals__)
    exec(compile(ast.Module([node], []), path, "exec"), names)
    for one in functions:
        one.__code__ = names[name].__code__.replace(co_firstlineno=line)
    try:
        call(module, test)
        return None
    except BaseException as error:
        if isinstance(error, unittest.SkipTest) or type(error).__name__ in ("Skipped", "SystemExit"):
            return None
        frames = traceback.extract_tb(error.__traceback__)
        first = next((at for at, one in enumerate(frames) if one.filename == module.__file__), 0)
        shown = [(one.filename, one.lineno, one.name, one.line or "") for one in frames[first:]]
        return type(error).__name__, str(error)[:500], shown


def imports_of(module, used):
    for node in ast.parse(inspect.getsource(module)).body:
        if not isinstance(node, (ast.Import, ast.ImportFrom)):
            continue
        node.names = [one for one in node.names if (one.asname or one.name.split(".")[0]) in used]
        if node.names:
            if isinstance(node, ast.ImportFrom) and node.level:
                above = module.__name__.split(".")[: -node.level]
                node.module, node.level = ".".join(above + ([node.module] if node.module else [])), 0
            yield ast.unparse(node)


def report_of(project, module, test, failure, chance):
    kind, message, frames = failure
    name, method = test
    function = getattr(module, name) if method is None else vars(getattr(module, name))[method]
    source = textwrap.dedent(inspect.getsource(function))
    node = ast.parse(source).body[0]
    documented = ast.get_docstring(node) or ""
    body = node.body[1:] if documented else node.body
    if not body:
        return None
    lines = source.split("\n")[body[0].lineno - 1 :]
    code = textwrap.dedent("\n".join(one for one in lines if not one.strip().startswith("#")))[:1800].rstrip()
    used = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    words = [part for one in test if one for part in re.sub(r"^[Tt]est_?", "", one).split("_") if part]
    subject = " ".join(re.sub(r"([a-z])([A-Z])", r"\1 \2", one).lower() for one in words)
    has_trace = kind != "AssertionError" and any(project.is_source(path) for path, *_ in frames)
    outcome = f"raises {kind}" if has_trace and chance.random() < 0.5 else "fails" if has_trace else "gives a wrong result"
    text = [f"{subject} {outcome}", "", documented, *re.findall(r"^\s*#\s*(.*)$", source, re.M), ""]
    text += ["```python", *imports_of(module, used), code, "```", ""]
    if not has_trace:
        text += ["The result is not what I expect."]
    elif chance.random() < 0.4:
        text += [f"{kind}: {message}"]
    else:
        text += ["```", "Traceback (most recent call last):"]
        for at, (path, line, where, shown) in enumerate(frames[:40]):
            place = "/home/user/env/lib/python3/site-packages/" + project.relative(path)
            text += [f'  File "{place if at else "example.py"}", line {line}, in {where if at else "<module>"}', f"    {shown}"]
        text += [f"{kind}: {message}", "```"]
    return "\n".join(text)


def passing_tests(project, held, chance):
    start, found, modules = time.time(), [], set()
    for path in held:
        if len(modules) >= TEST_FILES or time.time() - start > TRACE_SECONDS:
            break
        name = project.module_of(path)
        if not in_child(lambda: importlib.import_module(name) is not None, 20):
            continue
        module = importlib.import_module(name)
        tests = list(simple_tests(module))
        chance.shuffle(tests)
        for test in tests[:TESTS_PER_FILE]:
            functions = in_child(lambda: functions_run_by(project, module, test), 6)
            if functions:
                modules.add(name)
                found.append((module, test, sorted(functions)))
    return found


def faults_of(project):
    chance = random.Random(SEED)
    tests = list(project.tests)
    chance.shuffle(tests)
    held = tests[: max(8, len(tests) // 3)]
    passing = passing_tests(project, held, chance)
    users = collections.defaultdict(set)
    for module, _, functions in passing:
        for one in functions:
            users[one].add(module.__name__)
    # What every test runs is hardly ever at fault.
    common = max(2, 0.2 * len({module for module, *_ in passing}))
    chance.shuffle(passing)
    start, reports = time.time(), []
    for module, test, functions in passing:
        rare = [one for one in functions if len(users[one]) <= common]
        for _ in range(6 if rare else 0):
            target, number = chance.choice(rare), chance.randrange(1 << 30)
            failure = in_child(lambda: failure_with(module, test, target, number), 8)
            text = failure and report_of(project, module, test, failure, chance)
            if text and len(text) >= 200:
                reports.append({"_id": f"{project.name}-{len(reports)}", "repo": project.name, "tree": project.name,
                                "text": text, "gold": [project.relative(target[0])]})  # fmt: skip
                break
        if len(reports) >= REPORTS_PER_PROJECT or time.time() - start > FAULT_SECONDS:
            break
    return reports, set(held)


def write_lines(path, rows):
    opened = lzma.open(path, "wt") if path.endswith(".xz") else open(path, "w", encoding="utf8")
    with opened as file:
        for row in rows:
            file.write(json.dumps(row) + "\n")


def main(folder, *names):
    warnings.simplefilter("ignore")
    os.makedirs(folder, exist_ok=True)
    reports, trees, blobs = [], [], {}
    for name in names:
        project = Project(name)
        made, held = faults_of(project)
        files = {}
        for path in project.files(held):
            with open(path, encoding="utf8", errors="replace") as file:
                text = file.read()
            key = hashlib.sha1(text.encode()).hexdigest()
            files[project.relative(path)], blobs[key] = key, text
        reports += made
        trees.append({"_id": name, "files": files})
        print(name, len(made), "reports", flush=True)
    write_lines(folder + "/queries.jsonl", reports)
    write_lines(folder + "/trees.jsonl.xz", trees)
    write_lines(folder + "/blobs.jsonl.xz", [{"h": key, "t": text} for key, text in blobs.items()])


main(*sys.argv[1:])
