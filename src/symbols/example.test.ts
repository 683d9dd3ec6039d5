import { describe, expect, test } from "vitest";
import { graphOf, symbolsOf } from "../../test/graph-of.ts";

const PROJECT = {
  "lib/pkg/__init__.py": "from .table import Table\n",
  "lib/pkg/table.py":
    "from .writer import open_writer\n\n\nclass Table:\n    def __init__(self):\n        prepare(self)\n\n    def write(self, path):\n        return open_writer(path)\n\n\ndef prepare(table):\n    pass\n",
  "lib/pkg/writer.py": "from .lines import to_lines\n\n\ndef open_writer(path):\n    return to_lines(path)\n",
  "lib/pkg/lines.py": "def to_lines(path):\n    return []\n",
  "lib/pkg/other.py": "def write(path):\n    pass\n",
};

const EXAMPLE = "import pkg\nfrom pkg import Table\nt = Table()\nt.write('x')\nunknown(t)\n";

describe("REQ-R5 what a piece of code means in a project", () => {
  const meaningOf = async (steps: number) => {
    const graph = await graphOf(PROJECT);
    const before = graph.stats();
    const reached = graph.meaningOf("python", await symbolsOf("example.py", EXAMPLE), steps);
    expect(graph.stats()).toEqual(before);
    return reached.map(({ symbol, step }) => `${symbol.path} ${symbol.qualified} ${step}`);
  };

  test("its names are resolved through its own imports and values", async () => {
    expect(await meaningOf(0)).toEqual(["lib/pkg/table.py Table 0", "lib/pkg/table.py Table.write 0"]);
  });

  test("its calls are followed: a class to its constructor, a step at a time", async () => {
    const one = await meaningOf(1);
    expect(one).toContain("lib/pkg/writer.py open_writer 1");
    expect(one).toContain("lib/pkg/table.py prepare 1");
    expect(one).not.toContain("lib/pkg/lines.py to_lines 2");
    expect(await meaningOf(2)).toContain("lib/pkg/lines.py to_lines 2");
  });

  test("what many files name is less rare", async () => {
    const graph = await graphOf(PROJECT);
    expect(graph.rarityOf("open_writer")).toBeLessThan(graph.rarityOf("nothing_has_it"));
    expect(graph.rarityOf("nothing_has_it")).toBe(1);
  });
});
