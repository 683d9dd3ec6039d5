import { describe, expect, test } from "vitest";
import { graphOf, type SourceTexts, usesOf } from "../../../test/graph-of.ts";

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
