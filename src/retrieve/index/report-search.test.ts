import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { createIndexed, type Indexed, request, SETTINGS } from "../../../test/retrieval.ts";
import { USER_STATE } from "../../../test/user-state.ts";
import { readEmbedderFiles } from "../../host/os/assets.ts";
import { createIndexDb } from "../../host/state/index-db.ts";
import { createStaticEmbedder } from "../embed/static-embedder.ts";
import { createChunkIndex } from "../rank/chunk-index.ts";
import { RANK_WEIGHTS } from "../rank/rank-weights.ts";
import type { SearchRequest, Snippet } from "../rank/search-request.ts";
import { createCurrentLines } from "./current-lines.ts";
import { createFileIndexer } from "./file-indexer.ts";
import { createFreshSearch, type FreshSearchParts } from "./fresh-search.ts";
import { createLoadedIndex } from "./loaded-index.ts";
import { createReportSearch } from "./report-search.ts";
import { INDEX_TABLES, indexVersion } from "./schema.ts";
import { createStore } from "./store.ts";

const FILES = {
  "lib/pkg/__init__.py": "from .table import Table\n",
  "lib/pkg/table.py":
    "from .writer import open_writer\n\n\nclass Table:\n    def __init__(self, rows):\n        self.rows = rows\n\n    def write(self, path):\n        return open_writer(path).put(self.rows)\n",
  "lib/pkg/writer.py":
    'def open_writer(path):\n    return Writer(path)\n\n\nclass Writer:\n    def __init__(self, path):\n        self.path = path\n\n    def put(self, rows):\n        if not rows:\n            raise ValueError(f"Nothing to put into the file: {self.path}")\n',
  "lib/pkg/reader.py": "def read_table(path):\n    # reads rows of a table from a file\n    return []\n",
  "lib/pkg/colours.py": "def mix(a, b):\n    return (a + b) / 2\n",
  "tests/test_colours.py":
    "from pkg.colours import mix\n\n\ndef test_mix_of_rows():\n    assert mix(1, 3) == 2\n",
  "docs/guide.md": "# Tables\n\nA table has rows. Writing a table needs a file.\n",
};

const REPORT = `Tables without rows
### Description
Something is wrong when there is nothing in it, although the documentation says that everything may be empty.

\`\`\`python
from pkg import Table
Table([]).write("x")
\`\`\`

\`\`\`
Traceback (most recent call last):
  File "<stdin>", line 1, in <module>
  File "/usr/lib/site-packages/pkg/table.py", line 99, in write
    return open_writer(path).put(self.rows)
  File "/usr/lib/site-packages/pkg/writer.py", line 120, in put
    raise ValueError(f"Nothing to put into the file: {self.path}")
ValueError: Nothing to put into the file: x
\`\`\`
`;

const search = async ({ retrieval }: Indexed, query: string, more: Partial<SearchRequest> = {}) =>
  (await retrieval.search(request(query, more))).value;

const reasonsOf = (snippets: readonly Snippet[], path: string): readonly string[] | undefined =>
  snippets.find((snippet) => snippet.path === path)?.reasons;

describe("REQ-R3 REQ-R4 a report leads to the files to change", () => {
  test("by trace, message and example, each named; the trace leads to where the function is now", async () => {
    await using indexed = createIndexed(FILES);
    const found = await search(indexed, REPORT, { scope: "auto" });
    expect(found[0]).toMatchObject({ path: "lib/pkg/writer.py" });
    expect(found[0]?.text).toContain("def put");
    expect(found[1]).toMatchObject({ path: "lib/pkg/table.py" });
    expect(reasonsOf(found, "lib/pkg/writer.py")).toEqual(["in the trace: put", "raises this message"]);
    expect(reasonsOf(found, "lib/pkg/table.py")).toContain("in the trace: write");
  });

  test("what the example uses, and what that leads to", async () => {
    await using indexed = createIndexed(FILES);
    const reasons = async (example: string, path: string) => {
      const prose =
        "Something is wrong when there is nothing in it, although everything may be empty. ".repeat(3);
      const text = `Nothing happens\n${prose}\n\`\`\`python\n${example}\n\`\`\`\n`;
      return reasonsOf(await search(indexed, text, { k: 20 }), path) ?? [];
    };
    const used = 'from pkg import Table\nTable([]).write("x")';
    expect(await reasons(used, "lib/pkg/table.py")).toContain("defines Table.write, used in the example");
    expect(await reasons(used, "lib/pkg/writer.py")).toContain("has open_writer, which the example leads to");
    expect(await reasons("print(3)", "lib/pkg/table.py")).toEqual([]);
    expect(await reasons("print(3)", "lib/pkg/writer.py")).toEqual([]);
  });

  test("a test that resembles the report leads to what it imports", async () => {
    await using indexed = createIndexed(FILES);
    const report = `The mix of rows is wrong\n${"In the colours, the mix of rows is not what mix says. ".repeat(4)}`;
    const reasons = async () =>
      reasonsOf(await search(indexed, report, { k: 20 }), "lib/pkg/colours.py") ?? [];
    expect(await reasons()).toContain("tested by tests/test_colours.py");
    indexed.remove("tests/test_colours.py");
    expect(await reasons()).not.toContain("tested by tests/test_colours.py");
  });

  test("a panic of Go leads to the function of its innermost frame, where it is now", async () => {
    const code = (name: string): string =>
      `package store\n\n${"// moved\n".repeat(40)}\nfunc (s *Store) ${name}(i int) int {\n\treturn s.rows[i]\n}\n`;
    await using indexed = createIndexed({ "store/get.go": code("Get"), "store/find.go": code("Find") });
    const found = await search(
      indexed,
      "Crash\npanic: runtime error: index out of range [5] with length 3\n\ngoroutine 1 [running]:\ngithub.com/a/app/store.(*Store).Get(0xc000, 0x5)\n\t/x/app/store/get.go:4 +0x1d\ngithub.com/a/app/store.(*Store).Find(0xc000)\n\t/x/app/store/find.go:4 +0x1d\n",
    );
    const of = (name: string) => found.find(({ path }) => path === `store/${name}.go`);
    expect(of("get")).toMatchObject({ reasons: ["in the trace: store.Store.Get"], certainty: 1 });
    expect(of("get")?.text).toContain("Get(i int)");
    expect(of("find")).toMatchObject({ reasons: ["in the trace: store.Store.Find"], certainty: 0.5 });
  });

  test("only code that can say the message raises it, not a comment or docstring that has its words", async () => {
    await using indexed = createIndexed({
      ...FILES,
      "lib/pkg/notes.py":
        'def note():\n    """Nothing to put into the file."""\n    # Nothing to put into the file\n    return 1\n',
    });
    const found = await search(indexed, REPORT, { k: 20 });
    expect(reasonsOf(found, "lib/pkg/writer.py")).toContain("raises this message");
    expect(reasonsOf(found, "lib/pkg/notes.py") ?? []).not.toContain("raises this message");
  });

  test("a message that the prose quotes, and an option, are found as strings of the code", async () => {
    await using indexed = createIndexed({
      ...FILES,
      "lib/pkg/cli.py":
        'def options(parser):\n    parser.add_argument("--no-cache-dir")\n    parser.add_argument("--quiet")\n',
      "lib/pkg/cache.py": "def no(cache, dir):\n    return cache\n\n\ndef dir(cache):\n    return cache\n",
    });
    const prose =
      "Whatever is done before that, it does not help, and the documentation has no other way. ".repeat(3);
    const report = `It ignores \`--no-cache-dir\`\n${prose}\nIt says "nothing to put into the file" or \`Nothing to put into the file: x\`.`;
    const found = await search(indexed, report, { k: 20 });
    expect(reasonsOf(found, "lib/pkg/cli.py")).toEqual(["has the option --no-cache-dir"]);
    expect(reasonsOf(found, "lib/pkg/writer.py")).toEqual(["has the quoted text"]);
    expect(reasonsOf(found, "lib/pkg/cache.py") ?? []).toEqual([]);
  });

  test("the end of a question of 32 KB without line breaks is read", async () => {
    const filler = "Here is something else that was said about it. ".repeat(800);
    await using indexed = createIndexed(FILES);
    const end = " It is open_writer that fails.";
    const question = `${filler.slice(0, 32_768 - end.length)}${end}`;
    const [first] = await search(indexed, question);
    expect(first).toMatchObject({ path: "lib/pkg/writer.py", reasons: ["defines open_writer"] });
  });

  test("filters hold for what evidence points at", async () => {
    await using indexed = createIndexed(FILES);
    const paths = async (more: Partial<SearchRequest>) =>
      (await search(indexed, REPORT, more)).map(({ path }) => path);
    expect(await paths({ pathGlobs: ["lib/pkg/table.py"] })).toEqual(["lib/pkg/table.py"]);
    expect(await paths({ scope: "docs" })).not.toContain("lib/pkg/writer.py");
  });

  test("FAIL-F2 REQ-R6: what evidence points at is read from the disk", async () => {
    await using indexed = createIndexed(FILES);
    await search(indexed, REPORT);
    indexed.write("lib/pkg/writer.py", "# moved\n".repeat(20) + FILES["lib/pkg/writer.py"]);
    const [first] = await search(indexed, REPORT);
    expect(first?.path).toBe("lib/pkg/writer.py");
    expect(first?.text).toContain("# moved");
    expect(first?.text).toContain("def put");
    indexed.remove("lib/pkg/writer.py");
    expect((await search(indexed, REPORT)).map(({ path }) => path)).not.toContain("lib/pkg/writer.py");
  });

  test("documents answer a long question in prose, but not one with a trace", async () => {
    const sentence =
      "The wheel of the ship is turned by the steersman, who stands behind it and looks at the compass. ";
    await using indexed = createIndexed({ ...FILES, "docs/ship.md": `# Ship\n\n${sentence.repeat(3)}\n` });
    const first = async (query: string) => (await search(indexed, query, { scope: "auto" }))[0]?.path;
    const question = `Turning the wheel of the ship\n${sentence.repeat(3)}`;
    expect(await first(question)).toBe("docs/ship.md");
    expect(await first(`${question}\n  File "/x/pkg/colours.py", line 2, in mix\n`)).toBe(
      "lib/pkg/colours.py",
    );
  });

  test("a document that resembles the report leads to what it names", async () => {
    const page = "# Tables without rows\n\nSomething that is empty is mixed by `mix` before it is written.\n";
    await using indexed = createIndexed({ ...FILES, "docs/empty.md": page });
    const found = await search(indexed, REPORT, { scope: "auto" });
    expect(reasonsOf(found, "lib/pkg/colours.py")).toContain("named in docs/empty.md");
    indexed.remove("docs/empty.md");
    const without = await search(indexed, REPORT, { scope: "auto" });
    expect(reasonsOf(without, "lib/pkg/colours.py") ?? []).not.toContain("named in docs/empty.md");
  });

  test("files that were changed together with the likely ones, where there is a history", async () => {
    await using indexed = createIndexed(FILES);
    const git = (...args: readonly string[]) =>
      execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd: indexed.path });
    let version = 0;
    const commit = (...paths: readonly (keyof typeof FILES)[]): void => {
      version++;
      for (const path of paths) indexed.write(path, `${FILES[path]}${"\n".repeat(version)}`);
      git("add", "lib");
      git("commit", "-qm", "one");
    };
    git("init", "-q", "-b", "main");
    commit("lib/pkg/colours.py");
    const asked = REPORT.replace("### Description", "A table of no rows is read from a file.");
    const reasons = async () => reasonsOf(await search(indexed, asked), "lib/pkg/reader.py");
    expect(await reasons()).toBeUndefined();
    commit("lib/pkg/writer.py", "lib/pkg/reader.py");
    expect(await reasons(), "once is chance").toBeUndefined();
    commit("lib/pkg/reader.py", "lib/pkg/writer.py");
    expect(await reasons()).toEqual(["changed with lib/pkg/writer.py in 2 commits"]);
  });

  test("an empty workspace, and one about something else, have no answer", async () => {
    await using empty = createIndexed({});
    expect(await search(empty, REPORT)).toEqual([]);
    await using other = createIndexed({ "a.py": "def mix(a, b):\n    return a\n" });
    expect(await search(other, REPORT)).toEqual([]);
  });
});

const SHORT = [
  "where are rows written",
  "Table.write",
  "open_writer",
  "read_table",
  "writer.py",
  "how do I write a table",
  "tests of mix",
  "python colours",
  "guide",
  "Nothing to put into the file",
  "what is a table",
  "kubernetes ingress",
  "rows of a table\nfrom a file",
];

describe("REQ-R3 short questions rank as if no report were ever read", () => {
  test("the same snippets, scores and order on both paths; a report differs", async () => {
    await using indexed = createIndexed(FILES);
    await indexed.retrieval.index({});
    const embedder = createStaticEmbedder(readEmbedderFiles());
    const db = createIndexDb({
      workspace: indexed.path,
      userState: USER_STATE,
      tables: INDEX_TABLES,
      version: indexVersion(embedder.id),
      onWarning: () => {},
    });
    const { dimensions } = embedder;
    const createChunks = () => createChunkIndex({ dimensions });
    const loaded = createLoadedIndex({ store: createStore(db), dimensions, createChunks });
    loaded.sync();
    const files = createFileIndexer(indexed.path, embedder);
    const lines = createCurrentLines(files, () => SETTINGS);
    const parts: Omit<FreshSearchParts, "readQuestion"> = {
      loaded,
      indexer: { refresh: async () => false },
      lines,
      embedQuery: embedder.embedQuery,
      weights: RANK_WEIGHTS,
      centrality: () => 0,
    };
    const askGraph = async () => {
      throw new Error("a short question needs no graph");
    };
    const reports = createReportSearch({ loaded, lines, askGraph, history: async () => [] });
    const reading = createFreshSearch({
      ...parts,
      readQuestion: reports.readQuestion,
    });
    const plain = createFreshSearch({ ...parts, readQuestion: async () => undefined });
    try {
      for (const query of SHORT)
        for (const scope of ["auto", "repo", "docs", "both"] as const) {
          const asked = request(query, { scope });
          expect(await reading(asked, undefined)).toEqual(await plain(asked, undefined));
        }
      expect((await plain(request("open_writer"), undefined)).snippets).not.toEqual([]);
      await expect(reading(request(REPORT), undefined)).rejects.toThrow("needs no graph");
    } finally {
      reports.close();
      files.close();
      db.close();
    }
  });
});

const HOSTILE: readonly (readonly [string, string])[] = [
  ["parentheses", "(".repeat(32_768)],
  ["nested calls in a fence", `Title\n\`\`\`python\n${"f(".repeat(16_000)}\n\`\`\``],
  ["frames", `Title\n${'  File "/x/pkg/table.py", line 1, in write\n'.repeat(700)}`],
  ["names", `Title\n${Array.from({ length: 4000 }, (_, i) => `\`n${i}\``).join(" ")}`],
  ["messages", `Title\n${"ValueError: Nothing to put into the file\n".repeat(700)}`],
  ["a repeated message", `Title\nValueError: ${"put ".repeat(8000)}`],
  ["paths", `Title\n${Array.from({ length: 4000 }, (_, i) => `a/b${i}.py`).join(" ")}`],
  ["nothing but spaces", `Title\n${" ".repeat(32_000)}x`],
];

describe("FAIL-F5 hostile reports are answered within a second", () => {
  test.each(HOSTILE)("%s", async (_name, text) => {
    await using indexed = createIndexed(FILES);
    // The index and the grammar are there, as in a server that answers.
    await search(indexed, REPORT);
    const start = process.threadCpuUsage();
    await search(indexed, text, { scope: "auto" });
    const { user, system } = process.threadCpuUsage(start);
    expect((user + system) / 1000).toBeLessThan(1000);
  });
});
