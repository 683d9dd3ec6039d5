import type { McpClient } from "./mcp-client.ts";
import type { ProgramTree } from "./program-tree.ts";

/** Asks a tool, and counts what that costs a model. */
export type Ask = McpClient["ask"];

/** One task: as one program, and as the calls that a sensible agent makes with hybrid's tools. */
export interface ProgramTask {
  readonly id: string;
  readonly title: string;
  readonly program: string;
  /** Does the task with single calls; returns the answer, read from nothing but their texts. */
  byCalls(ask: Ask): Promise<unknown>;
  expected(tree: ProgramTree): unknown;
}

const sorted = (names: Iterable<string>): readonly string[] => [...names].toSorted();

const matches = (text: string, pattern: RegExp): readonly string[] =>
  [...text.matchAll(pattern)].map(([whole, first]) => first ?? whole);

const BLAME = `git blame --line-porcelain`;

export const TASKS: readonly ProgramTask[] = [
  {
    id: "P1",
    title: "count all TODOs by author",
    program: `const { hits } = await tools.linux_search_content({ pattern: "TODO", file_glob: "*.ts", context_lines: 0, max_results: 1000 });
const counts = {};
await Promise.all(hits.map(async ({ path, line }) => {
  const { data } = await tools.run_cmd({ command: \`git blame --line-porcelain -L \${line},\${line} \${path}\` });
  const author = /^author (.*)$/m.exec(data.stdout)[1];
  counts[author] = (counts[author] ?? 0) + 1;
}));
counts`,
    byCalls: async (ask) => {
      const found = await ask("run_cmd", { command: "rg -n TODO src" });
      const files = [...new Set(matches(found, /(src\/parts\/part\d+\.ts)/g))];
      const counts: Record<string, number> = {};
      for (const file of files) {
        const text = await ask("run_cmd", { command: `${BLAME} -L /TODO/,+1 ${file}`, raw: true });
        const author = /^author (.*)$/m.exec(text)?.[1] ?? "";
        counts[author] = (counts[author] ?? 0) + 1;
      }
      return counts;
    },
    expected: ({ todosByAuthor }) => todosByAuthor,
  },
  {
    id: "P2",
    title: "rename a symbol in 61 files, and check",
    program: `const { hits } = await tools.linux_search_content({ pattern: "\\\\bload\\\\b", ignore_case: false, context_lines: 0, max_results: 1000 });
const paths = [...new Set(hits.map((h) => h.path))].filter((p) => p.endsWith(".ts"));
for (const path of paths) {
  const { content } = await tools.linux_fs_read({ path });
  await tools.linux_fs_write({ path, content: content.replace(/\\bload\\b(?!\\.)/g, "loadInput") });
}
const left = await tools.linux_search_content({ pattern: "\\\\bload\\\\b(?!\\\\.)|\\\\bload\\\\(", ignore_case: false, context_lines: 0 }).catch(() => ({ total_hits: 0 }));
paths.length`,
    byCalls: async (ask) => {
      const found = await ask("run_cmd", { command: "rg -l '\\bload\\b' src", raw: true });
      const files = [...new Set(matches(found, /(src\/\S+\.ts)/g))];
      for (const path of files) {
        const isDefinition = path.endsWith("lib/load.ts");
        await ask("linux_fs_edit", {
          path,
          old_text: isDefinition ? "const load =" : "{ load }",
          new_text: isDefinition ? "const loadInput =" : "{ loadInput }",
        });
        if (Number(/part(\d+)/.exec(path)?.[1] ?? 99) < 50)
          await ask("linux_fs_edit", { path, old_text: "= load(", new_text: "= loadInput(" });
      }
      await ask("run_cmd", { command: "rg -c '\\bload\\(' src || true" }).catch(() => "");
      return files.length;
    },
    expected: ({ renamed }) => renamed,
  },
  {
    id: "P3",
    title: "join two searches",
    program: `const find = async (pattern) => new Set((await tools.linux_search_content({ pattern, literal: true, root: "src", context_lines: 0, max_results: 1000 })).hits.map((h) => h.path));
const [a, b] = await Promise.all([find("lib/config.ts"), find("console.log")]);
[...a].filter((path) => b.has(path)).sort()`,
    byCalls: async (ask) => {
      const list = async (pattern: string): Promise<ReadonlySet<string>> =>
        new Set(
          matches(await ask("run_cmd", { command: `rg -l ${pattern} src`, raw: true }), /(src\/\S+\.ts)/g),
        );
      const [one, other] = [await list("lib/config.ts"), await list("console.log")];
      return sorted([...one].filter((path) => other.has(path)));
    },
    expected: ({ joined }) => sorted(joined),
  },
  {
    id: "P4",
    title: "summarise the test reports of ten packages",
    program: `const { data: names } = await tools.list_dir({ path: "packages" });
const summary = {};
for (const name of names) {
  const { tests } = JSON.parse((await tools.linux_fs_read({ path: \`packages/\${name}/report.json\`, max_lines: 2000 })).content);
  const failed = tests.filter((t) => t.status === "failed").sort((a, b) => b.duration_ms - a.duration_ms);
  summary[name] = { tests: tests.length, failed: failed.length, slowest: failed[0].name };
}
summary`,
    byCalls: async (ask) => {
      const summary: Record<string, unknown> = {};
      const names = matches(await ask("list_dir", { path: "packages" }), /(p\d+)\//g);
      for (const name of names) {
        const text = await ask("read_file", { path: `packages/${name}/report.json`, limit: 10_000 });
        const { tests } = JSON.parse(
          text.replace(/\n?\[[^\n]*\]\s*$/, (note) => (note.includes("sha256") ? "" : note)),
        ) as {
          tests: { name: string; status: string; duration_ms: number }[];
        };
        const failed = tests.filter(({ status }) => status === "failed");
        const [slowest] = failed.toSorted((one, other) => other.duration_ms - one.duration_ms);
        summary[name] = { tests: tests.length, failed: failed.length, slowest: slowest?.name };
      }
      return summary;
    },
    expected: ({ failures }) => failures,
  },
  {
    id: "P5",
    title: "find dead exports",
    program: `const { hits } = await tools.linux_search_content({ pattern: "export const \\\\w+", root: "src/parts", context_lines: 0, max_results: 1000 });
const names = hits.map((h) => /export const (\\w+)/.exec(h.snippet)[1]);
const used = await Promise.all(names.map(async (name) => (await tools.linux_search_content({ pattern: "\\\\b" + name + "\\\\b", root: "src", context_lines: 0, max_results: 2 })).total_hits));
names.filter((_, i) => used[i] === 1).sort()`,
    byCalls: async (ask) => {
      const found = await ask("run_cmd", { command: "rg -o 'export const \\w+' src/parts", raw: true });
      const names = matches(found, /export const (\w+)/g);
      const uses = await ask("run_cmd", { command: "rg -o '\\bvalue\\d+\\b' -I -N src", raw: true });
      const counts = new Map<string, number>();
      for (const name of matches(uses, /(value\d+)/g)) counts.set(name, (counts.get(name) ?? 0) + 1);
      return sorted(names.filter((name) => counts.get(name) === 1));
    },
    expected: ({ deadExports }) => sorted(deadExports),
  },
];
