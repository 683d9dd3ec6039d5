import { describe, expect, test } from "vitest";
import { graphOf, type SourceTexts, usesOf } from "../../test/graph-of.ts";
import { linesWith, nameIn } from "./answers/mentions.ts";

/** `path:line,line` of what the text has beyond what is resolved. */
const unresolved = async (files: SourceTexts, symbol: string): Promise<readonly string[]> =>
  (await graphOf(files))
    .whereUsed(symbol)
    .mentions.files.map(({ path, lines }) => `${path}:${lines.join(",")}`);

describe("REQ-R5 what is not resolved is looked up in the text", () => {
  test("whole words only, each line once, without lines of comments", () => {
    const text = [
      "open(); open()",
      "reopen(); open_it(); openIt(); $open",
      "// open",
      " * open",
      "# open",
      "x.open;",
      "'open'",
    ].join("\n");
    expect(linesWith(text, "open")).toEqual([1, 6, 7]);
    expect(linesWith("*open = 1;\n--open;\n#open = 2;", "open")).toEqual([1, 2, 3]);
    expect(linesWith("é.öffnen()\nöffnen()\nxöffnen()", "öffnen")).toEqual([1, 2]);
  });

  test("the name of a question", () => {
    expect(
      ["Store.open", "a/b.ts:open", "open()", "Store::open", "content-type", "a/b.ts:12", "a/b.ts#L3-L9"].map(
        nameIn,
      ),
    ).toEqual(["open", "open", "open", "open", "content-type", "", ""]);
  });

  test.each([
    [
      "Elixir: a call across modules",
      {
        "lib/store.ex": "defmodule App.Store do\n  def open_store(path) do\n    path\n  end\nend\n",
        "lib/main.ex": "defmodule App.Main do\n  def run do\n    App.Store.open_store(1)\n  end\nend\n",
      },
      "open_store",
      ["lib/main.ex:3"],
    ],
    [
      "Dart: a method, which has no definition in the graph",
      {
        "lib/store.dart": "class Store {\n  void openStore() {}\n}\n",
        "lib/main.dart": "void main() {\n  Store().openStore();\n}\n",
      },
      "openStore",
      ["lib/main.dart:2", "lib/store.dart:2"],
    ],
    [
      "a definition that was deleted while its uses remain",
      { "main.ts": 'import { gone } from "./gone.ts";\ngone();\n' },
      "gone",
      ["main.ts:1,2"],
    ],
    [
      "a name in a string",
      {
        "store.js": "function openStore () {}\nmodule.exports = { openStore }\n",
        "main.js": "const store = require('./store')\nstore['openStore']()\n",
      },
      "openStore",
      ["main.js:2"],
    ],
    [
      "a name that is no identifier",
      { "reply.js": "function send (reply) {\n  reply.header('content-type', 'text/html')\n}\n" },
      "content-type",
      ["reply.js:2"],
    ],
    [
      "a method of the platform's, of which a test has a stub",
      {
        "lib/reply.js": "function send (res) {\n  res.writeHead(200)\n}\nmodule.exports = { send }\n",
        "test/reply.test.js":
          "const response = { writeHead () {} }\nresponse.writeHead(1)\nmodule.exports = response\n",
      },
      "writeHead",
      ["lib/reply.js:2"],
    ],
    [
      "all is resolved",
      {
        "a.lua": "local M = {}\nfunction M.add() end\nreturn M\n",
        "b.lua": "local m = require('a')\nm.add()\n",
      },
      "add",
      [],
    ],
    [
      "modules inside of a Rust file",
      {
        "src/lib.rs":
          "mod inner {\n    pub fn open_store() {}\n}\nfn main() {\n    inner::open_store();\n}\n",
      },
      "open_store",
      [],
    ],
  ] as const)("%s", async (_name, files, symbol, expected) => {
    expect(await unresolved(files, symbol)).toEqual(expected);
  });

  test("lines that mean another symbol of the same name do not count", async () => {
    const files = {
      "a.ts": "export class Store {\n  openIt() {}\n}\n",
      "b.ts": "export class Door {\n  openIt() {}\n}\n",
      "c.ts":
        'import { Store } from "./a.ts";\nimport { Door } from "./b.ts";\nnew Store().openIt();\nnew Door().openIt();\nconst f = (x: any) => x.openIt();\n',
    };
    const { mentions, total } = (await graphOf(files)).whereUsed("Store.openIt");
    expect([total, mentions.total, mentions.unresolved]).toEqual([1, 2, 1]);
    expect(mentions.files).toEqual([{ path: "c.ts", count: 1, lines: [5] }]);
  });

  test("lineage and inspect count them, too; callees need no text", async () => {
    const graph = await graphOf({
      "a.js": "class Store {\n  save () {}\n}\nmodule.exports = Store\n",
      "b.js": "module.exports = (store) => store['save']()\n",
    });
    expect(graph.lineage("Store.save").mentions.unresolved).toBe(1);
    expect(graph.lineage("Store.save", { direction: "callees" }).mentions.unresolved).toBe(0);
    expect(graph.inspect("Store.save").symbols[0]?.mentions.unresolved).toBe(1);
    expect(graph.inspect("Store.save", { mentions: false }).symbols[0]?.mentions.unresolved).toBe(0);
    expect(graph.inspect("Stor").mentions.total).toBe(0);
  });

  test.each([
    ["Ruby", { "a.rb": "class Store\nend\n", "b.rb": "Store.new\n" }, "Store", ["b.rb:1:call"]],
    ["Bash", { "a.sh": "open_it() {\n  :\n}\n", "b.sh": "open_it x\n" }, "open_it", ["b.sh:1:call"]],
    ["Lua", { "a.lua": "function open_it() end\n", "b.lua": "open_it()\n" }, "open_it", ["b.lua:1:call"]],
  ] as const)("%s: an occurrence is told once", async (_language, files, symbol, expected) => {
    const { uses } = (await graphOf(files)).whereUsed(symbol);
    expect(uses.map(({ path, line, kind }) => `${path}:${line}:${kind}`)).toEqual(expected);
  });

  test("a module by its full name", async () => {
    const graph = await graphOf({ "lib/store.ex": "defmodule App.Store do\n  def open(x), do: x\nend\n" });
    expect(graph.whereUsed("App.Store").definitions.map(({ line }) => line)).toEqual([1]);
    expect(usesOf(graph, "App.Store")).toEqual([]);
  });
});
