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
    expect(reasonsOf(found, "lib/pkg/writer.py")).toEqual(["in the trace: put", "has the message"]);
    expect(reasonsOf(found, "lib/pkg/table.py")).toContain("in the trace: write");
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
    const reports = createReportSearch({ loaded, lines, askGraph });
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
