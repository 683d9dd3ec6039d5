import { mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readSource } from "../../src/documents/sources/read-source.ts";
import { REACH, type ReachId } from "../../src/policy/reach-table.ts";
import { allTools } from "../../src/tools/all.ts";
import { ownPaths } from "../../src/wiring/configured-paths.ts";
import { openTestApp, TEST_CALLER, type TestApp } from "../app.ts";

/** A folder of the files that llmc runs from; it is a root of this workspace. */
const PROGRAM = join(import.meta.dirname, "../../src/link");

/** For every entry of the table, a file that belongs to it. */
const TARGETS: Readonly<Record<ReachId, string>> = {
  state: ".llmc/planted.ts",
  user: ".local/state/llmc/planted.ts",
  pending: "src/.llmc-tmp-0123456789abcdef01234567",
  program: join(PROGRAM, "invoke.ts"),
  config: "conf/llmc.toml",
  modules: "mods/lib/planted.ts",
  models: "model/planted.ts",
  git: ".git/planted.ts",
  startup: "guides/planted.md",
  secret: "src/secret-planted.pem",
};
const IDS = Object.keys(TARGETS) as ReachId[];

/** Every planted file has this in it, and what only it has: no reader is asked for the latter. */
const COMMON = "zebracrossing";
const ORDINARY = "src/ordinary.ts";
const markOf = (id: ReachId | "ordinary"): string => (id === "program" ? "export const" : `stripe_of_${id}`);
const contentOf = (id: ReachId | "ordinary"): string =>
  `// ${COMMON} ${markOf(id)}\nexport function ${COMMON}() {\n  return ${markOf(id)}();\n}\n`;

type Ask = (app: TestApp, path: string) => Promise<string>;

const tool =
  (name: string, args: (path: string) => Readonly<Record<string, unknown>>): Ask =>
  async (app, path) =>
    JSON.stringify(await app.ask(name, args(path)));

/** Readers that are told one file, and show its content. */
const CONTENT: Readonly<Record<string, Ask>> = {
  read_file: tool("read_file", (path) => ({ path })),
  linux_fs_read: tool("linux_fs_read", (path) => ({ path })),
  repo_read: tool("repo_read", (path) => ({ root: dirname(path), path: basename(path) })),
  linux_search_content: tool("linux_search_content", (root) => ({
    root,
    pattern: root.startsWith("/") ? "export" : COMMON,
  })),
  "resources/read": async (app, path) => {
    const origin = { correlationId: app.newId(), caller: TEST_CALLER };
    // A name that only one has is short.
    const read = (name: string) => app.core.readResource(`llmc://docs/${name}`, origin).catch(String);
    return JSON.stringify([await read(path), await read(basename(path))]);
  },
};

/** Readers that are told one file, or the folder that it is in, and show that it is there. */
const NAMES: Readonly<Record<string, Ask>> = {
  stat: tool("stat", (path) => ({ path })),
  list_dir: tool("list_dir", (path) => ({ path: dirname(path), limit: 500 })),
  linux_fs_list: tool("linux_fs_list", (path) => ({ path: dirname(path), depth: 1, include_hidden: true })),
  linux_search_files: tool("linux_search_files", (path) => ({
    root: dirname(path),
    pattern: basename(path).slice(1),
    no_ignore: true,
  })),
};

/** Readers that go through all that there is. What they must find is the ordinary file; what they may leave out is theirs. */
const SWEEPS: Readonly<Record<string, Ask>> = {
  linux_search_content: tool("linux_search_content", () => ({
    root: ".",
    pattern: COMMON,
    no_ignore: true,
    max_results: 100,
    context_lines: 3,
  })),
  linux_handle_read: async (app) => {
    const args = { root: ".", pattern: COMMON, no_ignore: true, max_results: 1, context_lines: 3 };
    const found = await app.ask("linux_search_content", args);
    const { handle } = (found.kind === "ok" ? found.structured : {}) as { readonly handle?: string };
    return JSON.stringify(await app.ask("linux_handle_read", { handle, max_lines: 500 }));
  },
  rag_search: tool("rag_search", () => ({ query: COMMON, k: 20 })),
  rag_search_enriched: tool("rag_search_enriched", () => ({ query: COMMON, k: 20 })),
  rag_query: tool("rag_query", () => ({ query: COMMON, k: 20 })),
  rag_plan: tool("rag_plan", () => ({ query: COMMON })),
  rag_where_used: tool("rag_where_used", () => ({ symbol: COMMON })),
  rag_lineage: tool("rag_lineage", () => ({ symbol: COMMON, direction: "both" })),
  inspect: tool("inspect", () => ({ target: COMMON })),
  "documents of a knowledge base": async (app) => {
    const seen: string[] = [];
    const options = {
      denylist: app.config.current().config.mcp.tools.denylist_globs,
      closed: ownPaths(app.config.current().config, app.root, app.folders),
      network: undefined,
      maxDocumentBytes: 1e6,
      maxDocuments: 1000,
      timeoutMs: 1000,
    };
    for (const folder of [
      app.root,
      ...(["state", "user", "secret"] as const).map((id) => dirname(join(app.root, TARGETS[id]))),
    ])
      for await (const item of readSource(folder, options))
        seen.push(item.kind === "document" ? Buffer.from(item.bytes).toString() : "");
    return seen.join("\n");
  },
};

/** Tools that open no file of a caller's choice, and why. */
const NOT_READERS: Readonly<Record<string, string>> = {
  "00_INIT": "says what there is to call",
  search_tools: "searches the catalogue",
  linux_proc_list: "processes",
  linux_proc_read: "output of what linux_proc_start started",
  linux_sys_snapshot: "the machine",
  rag_stats: "counts of the index",
  rlm_query: "reads its path through the port of read_file, and answers in a model's words",
  kb_hybrid_search: "documents that the operator added",
  kb_answer: "documents that the operator added",
  kb_get_document: "documents that the operator added",
  kb_resolve_citations: "documents that the operator added",
  kb_stats: "counts of a knowledge base",
  kb_list_collections: "names of knowledge bases",
  kb_compose_flow: "calls the others",
  health: "the server",
  get_metrics: "the server",
  admin_get_status: "the server",
  admin_get_metrics: "the server",
};

test("REQ-D16 FAIL-J13 every tool that reads or sends, and every entry of the table, is in this matrix", async () => {
  const tools = await Promise.all(allTools.map(async (entry) => ("load" in entry ? entry.load() : entry)));
  const readers = tools
    .filter(({ effect }) => effect === "read" || effect === "egress")
    .map(({ name }) => name);
  const covered = [CONTENT, NAMES, SWEEPS, NOT_READERS].flatMap(Object.keys);
  expect(readers.filter((name) => !covered.includes(name))).toEqual([]);
  expect(IDS.toSorted()).toEqual((Object.keys(REACH) as ReachId[]).toSorted());
});

describe("REQ-D4 REQ-D16 FAIL-A6 readers × entries", () => {
  const ends: (() => Promise<void> | void)[] = [];
  let app: TestApp;

  beforeAll(async () => {
    const planted = IDS.filter((id) => id !== "program" && id !== "state");
    app = await openTestApp(
      {
        isHome: true,
        config: `[mcp]
mode = "classic"
[mcp.tools]
allowed_roots = [".", ${JSON.stringify(PROGRAM)}]
custom_modules = "mods"
denylist_globs = ["**/*.pem"]
[mcp.rag]
top_k = 20
[mcp.resources]
sidecars = ${JSON.stringify(IDS.map((id) => TARGETS[id]))}
`,
        files: {
          ".git/HEAD": "ref: refs/heads/main\n",
          ".git/objects/x": "",
          ".git/refs/x": "",
          [ORDINARY]: contentOf("ordinary"),
          ...Object.fromEntries(planted.map((id) => [TARGETS[id], contentOf(id)])),
        },
      },
      (end) => ends.push(end),
    );
    // The server makes its folder when it is first asked for something.
    mkdirSync(join(app.root, ".llmc"), { recursive: true });
    writeFileSync(join(app.root, TARGETS.state), contentOf("state"));
  });

  afterAll(async () => {
    for (const end of ends.toReversed()) await end();
  });

  const may = (id: ReachId, what: "name" | "content"): boolean => {
    const { read, list = read } = REACH[id];
    return (what === "content" ? read : list).includes("tools");
  };

  describe.each(Object.keys(CONTENT))("%s shows the content of", (reader) => {
    test.each(IDS)("%s, or does not", async (id) => {
      const seen = (await CONTENT[reader]?.(app, TARGETS[id])) ?? "";
      expect(seen.includes(markOf(id)), seen).toBe(may(id, "content"));
    });
  });

  describe.each(Object.keys(NAMES))("%s shows the name of", (reader) => {
    test.each(IDS)("%s, or does not", async (id) => {
      // Whoever sees the folder sees that something is being written there.
      if (id === "pending" && reader.includes("list")) return;
      const seen = (await NAMES[reader]?.(app, TARGETS[id])) ?? "";
      const isShown =
        seen.startsWith('{"kind":"ok"') && (reader === "stat" || seen.includes(basename(TARGETS[id])));
      expect(isShown, seen).toBe(may(id, "name"));
    });
  });

  test.each(Object.keys(SWEEPS))(
    "%s finds an ordinary file, and nothing of what is closed",
    async (reader) => {
      const seen = (await SWEEPS[reader]?.(app, "")) ?? "";
      expect(seen).toMatch(/stripe_of_ordinary|src\/ordinary\.ts/);
      for (const id of IDS.filter((one) => !may(one, "content"))) expect(seen).not.toContain(markOf(id));
    },
  );
});
