import { describe, expect, test } from "vitest";
import { graphOf, type SourceTexts, usesOf } from "../../test/graph-of.ts";

interface Case {
  readonly name: string;
  readonly files: SourceTexts;
  readonly symbol: string;
  readonly uses: readonly string[];
}

const CASES: readonly Case[] = [
  {
    name: "absolute and relative imports, with aliases",
    files: {
      "pkg/__init__.py": "",
      "pkg/store.py": "def open_store():\n    pass\n",
      "pkg/app.py": "from .store import open_store as opener\nopener()\n",
      "main.py": "import pkg.store\nfrom pkg import store as s\npkg.store.open_store()\ns.open_store()\n",
    },
    symbol: "open_store",
    uses: ["main.py:3", "main.py:4", "pkg/app.py:1", "pkg/app.py:2"],
  },
  {
    name: "names that __init__ hands on, and import *",
    files: {
      "src/pkg/__init__.py": "from .store import Store\n",
      "src/pkg/store.py": "class Store:\n    pass\n",
      "tests/test_a.py": "from pkg import *\nStore()\n",
    },
    symbol: "Store",
    uses: ["src/pkg/__init__.py:1", "tests/test_a.py:2"],
  },
  {
    name: "self, inheritance over files and super()",
    files: {
      "base.py": "class Base:\n    def start(self):\n        pass\n",
      "child.py":
        "from base import Base\nclass Child(Base):\n    def go(self):\n        self.start()\n        super().start()\nChild().start()\n",
    },
    symbol: "Base.start",
    uses: ["child.py:4", "child.py:5", "child.py:6"],
  },
  {
    name: "fields set in the constructor, annotations and results",
    files: {
      "store.py": "class Store:\n    def flush_all(self): ...\ndef make() -> 'Store': ...\n",
      "app.py":
        "from typing import Optional\nfrom store import Store, make\nclass App:\n    def __init__(self, store: Optional[Store] = None):\n        self.store = store\n        self.all: list[Store] = []\n    def run(self):\n        self.store.flush_all()\n        for one in self.all:\n            one.flush_all()\n        make().flush_all()\n        with make() as held:\n            held.flush_all()\n",
    },
    symbol: "Store.flush_all",
    uses: ["app.py:8", "app.py:10", "app.py:11", "app.py:13"],
  },
  {
    name: "locals, parameters and comprehensions hide globals",
    files: {
      "a.py":
        "def size():\n    pass\ndef f(size):\n    return size\ndef g():\n    size = 1\n    return size\ndef h():\n    return [size for size in range(3)]\nsize()\n",
    },
    symbol: "size",
    uses: ["a.py:10"],
  },
  {
    name: "a method does not see its class by plain name",
    files: {
      "a.py": "def run():\n    pass\nclass A:\n    def run(self):\n        run()\n",
    },
    symbol: "a.py:1",
    uses: ["a.py:5"],
  },
  {
    name: "decorators and classes as types",
    files: {
      "a.py": "def cached(f):\n    return f\n@cached\ndef g():\n    pass\n",
    },
    symbol: "cached",
    uses: ["a.py:3"],
  },
  {
    name: "the standard library is not ours",
    files: {
      "pkg/__init__.py": "",
      "pkg/json.py": "def loads():\n    pass\n",
      "pkg/app.py": "import json\njson.loads()\n",
    },
    symbol: "loads",
    uses: [],
  },
  {
    name: "annotations in quotes, on their own, in others and outside of annotations",
    files: {
      "models.py":
        "from typing import Callable, TypeVar, Union, cast\nclass Store:\n    def add(self, other: 'Store') -> \"list[Store]\":\n        pass\n",
      "app.py":
        "from typing import Annotated, Callable, Literal, Optional, TypeVar, cast\nimport models\nfrom models import Store\ndef a(one: Optional['Store'],\n      two: 'models.Store | None',\n      three: Annotated['Store', doc('Store')]): ...\nHandler = Callable[['Store'], None]\nT = TypeVar('T', bound='Store')\nb = cast('Store', None)\nkind: Literal['Store'] = 'Store'\nnames['Store'] = ['Store']\n",
    },
    symbol: "Store",
    uses: ["app.py:3", "app.py:4", "app.py:5", "app.py:6", "app.py:7", "app.py:8", "app.py:9", "models.py:3"],
  },
  {
    name: "what an annotation in quotes says about a value",
    files: {
      "a.py":
        "class Store:\n    def flush_all(self): ...\ndef f(a: 'Store | None', b: \"dict[str, Store]\", *c: Store):\n    a.flush_all()\n    b['x'].flush_all()\n    c[0].flush_all()\n",
    },
    symbol: "Store.flush_all",
    uses: ["a.py:4", "a.py:5", "a.py:6"],
  },
  {
    name: "names that __all__ lists",
    files: {
      "pkg/__init__.py": "from .store import Store\n__all__ = [\n    'Store',\n]\n__all__ += ['other']\n",
      "pkg/store.py": "__all__ = ('Store',)\nclass Store:\n    pass\n",
    },
    symbol: "Store",
    uses: ["pkg/__init__.py:1", "pkg/__init__.py:3", "pkg/store.py:1"],
  },
  {
    name: "None says nothing about what comes later",
    files: {
      "a.py":
        "class Store:\n    def get(self): ...\nclass App:\n    def __init__(self, given=None):\n        self.store = None\n        if given is None:\n            given = Store()\n        given.get()\n    def open(self):\n        self.store = Store()\n        self.store.get()\ndef make(on):\n    if not on:\n        return None\n    return Store()\nmake(1).get()\n",
    },
    symbol: "Store.get",
    uses: ["a.py:8", "a.py:11", "a.py:16"],
  },
  {
    name: "a comment before the first parameter, and the class as one",
    files: {
      "a.py":
        "class Base:\n    def get(self): ...\n    @classmethod\n    def make(cls):\n        return cls().get()\n    def again(  # type: ignore\n        self,\n    ):\n        self.get()\n        type(self)().get()\n        return self.__class__().get()\n",
    },
    symbol: "Base.get",
    uses: ["a.py:5", "a.py:9", "a.py:10", "a.py:11"],
  },
  {
    name: "a definition in place of an import that may fail, and an import that hides a definition",
    files: {
      "a.py":
        "try:\n    from quick import dump\nexcept ImportError:\n    def dump(value): ...\ndump(1)\ndef load():\n    from quick import load\n    return load()\n",
    },
    symbol: "dump",
    uses: ["a.py:5"],
  },
  {
    name: "a function that imports its namesake does not call itself",
    files: { "a.py": "def load():\n    from quick import load\n    return load()\n" },
    symbol: "load",
    uses: [],
  },
  {
    name: "isinstance, except and context managers",
    files: {
      "store.py":
        "from contextlib import contextmanager\nclass Failed(Exception):\n    def get(self): ...\nclass Other:\n    def get(self): ...\n@contextmanager\ndef opened() -> Iterator[Failed]: ...\n",
      "a.py":
        "from store import Failed, Other, opened\ndef f(a, b):\n    if isinstance(a, Failed) and b:\n        a.get()\n    elif isinstance(a, Other):\n        a.get()\n    else:\n        a.get()\n    assert isinstance(b, Failed)\n    b.get()\n    try:\n        pass\n    except (Failed, KeyError) as e:\n        e.get()\n    with opened() as it:\n        it.get()\n",
    },
    symbol: "Failed.get",
    uses: ["a.py:4", "a.py:10", "a.py:14", "a.py:16"],
  },
  {
    name: "a method further down does not hide a built-in type",
    files: { "a.py": "class A:\n    def text(self) -> str: ...\n    def str(self): ...\n" },
    symbol: "A.str",
    uses: [],
  },
];

describe("REQ-R5 uses in Python", () => {
  test("annotations are part of the function and see the class around it", async () => {
    const graph = await graphOf({
      "a.py":
        "class A:\n    class Inner:\n        pass\n    def run(self, given: Inner = None) -> 'Inner':\n        return given\n",
    });
    expect(graph.whereUsed("A.Inner").uses).toMatchObject([
      { path: "a.py", line: 4, kind: "type", inside: "A.run" },
    ]);
  });

  test.each(CASES)("$name", async ({ files, symbol, uses }) => {
    expect(usesOf(await graphOf(files), symbol)).toEqual(uses);
  });
});
