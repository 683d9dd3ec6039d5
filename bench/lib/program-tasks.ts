import { setTimeout } from "node:timers/promises";
import { isComplete, PAGE, resultsOn, sessionOf } from "./commander-search.ts";
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
  /** The same with Desktop Commander: its own tools where it has one, and its shell for git. */
  byCommander(ask: Ask, root: string): Promise<unknown>;
  expected(tree: ProgramTree): unknown;
  /** What is wrong with the files afterwards. */
  wrongFiles?(tree: ProgramTree): readonly string[];
}

const sorted = (names: Iterable<string>): readonly string[] => [...names].toSorted();

const matches = (text: string, pattern: RegExp): readonly string[] =>
  [...text.matchAll(pattern)].map(([whole, first]) => first ?? whole);

/** One line per file: commit, author, date, number and text. */
const BLAME = "git blame -L /TODO/,+1";
const BLAMED = /\(([A-Z][a-z]+) +\d{4}-/;

const countAuthors = (text: string): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const author of matches(text, new RegExp(BLAMED, "g"))) counts[author] = (counts[author] ?? 0) + 1;
  return counts;
};

/** Long enough for a search here to have ended, and for a model's next thought. */
const THINKING_MS = 1500;

/** All pages of a content search with Desktop Commander. */
const searchCommander = async (ask: Ask, path: string, pattern: string): Promise<string> => {
  const args = { path, pattern, searchType: "content", contextLines: 0, ignoreCase: false };
  let text = await ask("start_search", args);
  if (isComplete(text) && resultsOn(text) < PAGE && !text.includes("More results")) return text;
  await setTimeout(THINKING_MS);
  const sessionId = sessionOf(text);
  text = "";
  for (let offset = 0; ; offset += PAGE) {
    const page = await ask("get_more_search_results", { sessionId, offset, length: PAGE });
    text += page;
    if (resultsOn(page) < PAGE) return text;
  }
};

/** Paths and texts of the lines that it found. */
const foundLines = (text: string): readonly { readonly path: string; readonly line: string }[] =>
  [...text.matchAll(/^📄 (.+?):(\d+) - (.*)$/gmu)].map(([, path = "", , line = ""]) => ({ path, line }));

/** A command in Desktop Commander's shell. It answers before a slow one has ended, and loses some output of a fast one. */
const runCommander = async (ask: Ask, command: string, isEnough: RegExp): Promise<string> => {
  for (let attempt = 0; ; attempt++) {
    const first = await ask("start_process", { command, timeout_ms: 5000 });
    if (isEnough.test(first)) return first;
    await setTimeout(THINKING_MS);
    const more = await ask("read_process_output", { pid: Number(/PID (\d+)/.exec(first)?.[1]) });
    if (isEnough.test(more) || attempt === 5) return more;
  }
};

const editCommander = (ask: Ask, path: string, from: string, to: string): Promise<string> =>
  ask("edit_block", { file_path: path, old_string: from, new_string: to });

/** A failed test in what ripgrep shows of a report: the lines of its name, status and duration. */
const FAILED_TEST =
  /packages\/(p\d+)\/report\.json-\s*"name": "([^"]+)",\n[^\n]*"failed",\n[^\n]*"duration_ms": (\d+)/g;

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
      const found = await ask("run_cmd", { command: "rg -l TODO src", raw: true });
      const files = matches(found, /(src\/parts\/part\d+\.ts)/g);
      const blames = files.map((file) => `${BLAME} ${file}`);
      return countAuthors(await ask("run_cmd", { command: blames.join("; ") }));
    },
    byCommander: async (ask, root) => {
      const found = foundLines(await searchCommander(ask, `${root}/src`, "TODO"));
      const counts: Record<string, number> = {};
      for (const path of new Set(found.map((each) => each.path))) {
        const command = `cd ${root} && ${BLAME} ${path}`;
        for (const author of Object.keys(countAuthors(await runCommander(ask, command, BLAMED))))
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
const left = await tools.linux_search_content({ pattern: "\\\\bload(\\\\(| [}=])", ignore_case: false, context_lines: 0 });
if (left.total_hits > 0) throw new Error("left: " + left.total_hits);
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
    byCommander: async (ask, root) => {
      const found = foundLines(await searchCommander(ask, `${root}/src`, "\\bload\\b"));
      const paths = [...new Set(found.map((each) => each.path))];
      for (const path of paths) {
        const isDefinition = path.endsWith("lib/load.ts");
        await editCommander(
          ask,
          path,
          isDefinition ? "const load =" : "{ load }",
          isDefinition ? "const loadInput =" : "{ loadInput }",
        );
        if (Number(/part(\d+)/.exec(path)?.[1] ?? 99) < 50)
          await editCommander(ask, path, "= load(", "= loadInput(");
      }
      await searchCommander(ask, `${root}/src`, "\\bload\\(");
      return paths.length;
    },
    expected: ({ renamed }) => renamed,
    wrongFiles: ({ wrongAfterRename }) => wrongAfterRename(),
  },
  {
    id: "P3",
    title: "join two searches",
    program: `const find = async (text) => (await tools.run_cmd({ command: "rg -l " + text + " src" })).data.stdout.trim().split("\\n");
const logging = await find("console.log");
(await find("lib/config.ts")).filter((path) => logging.includes(path)).sort()`,
    byCalls: async (ask) => {
      const list = async (pattern: string): Promise<ReadonlySet<string>> =>
        new Set(
          matches(await ask("run_cmd", { command: `rg -l ${pattern} src`, raw: true }), /(src\/\S+\.ts)/g),
        );
      const [one, other] = [await list("lib/config.ts"), await list("console.log")];
      return sorted([...one].filter((path) => other.has(path)));
    },
    byCommander: async (ask, root) => {
      const list = async (pattern: string): Promise<ReadonlySet<string>> =>
        new Set(foundLines(await searchCommander(ask, `${root}/src`, pattern)).map(({ path }) => path));
      const [one, other] = [await list("lib/config.ts"), await list("console.log")];
      return sorted([...one].filter((path) => other.has(path)).map((path) => path.slice(root.length + 1)));
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
      const counted = await ask("run_cmd", { command: `rg -c '"status"' packages`, raw: true });
      const tests = new Map(
        [...counted.matchAll(/packages\/(p\d+)\/report\.json:(\d+)/g)].map(([, name = "", count]) => [
          name,
          Number(count),
        ]),
      );
      const text = await ask("run_cmd", { command: `rg -B1 -A1 '"status": "failed"' packages`, raw: true });
      const failed = [...text.matchAll(FAILED_TEST)].map(([, at = "", name = "", ms]) => ({
        at,
        name,
        ms: Number(ms),
      }));
      return Object.fromEntries(
        [...tests].map(([at, count]) => {
          const own = failed.filter((each) => each.at === at).toSorted((one, other) => other.ms - one.ms);
          return [at, { tests: count, failed: own.length, slowest: own[0]?.name }];
        }),
      );
    },
    byCommander: async (ask, root) => {
      const summary: Record<string, unknown> = {};
      const listed = await ask("list_directory", { path: `${root}/packages`, depth: 1 });
      for (const name of new Set(matches(listed, /\b(p\d+)\b/g))) {
        const text = await ask("read_file", { path: `${root}/packages/${name}/report.json` });
        const { tests } = JSON.parse(text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1)) as {
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
    byCommander: async (ask, root) => {
      const exported = foundLines(await searchCommander(ask, `${root}/src/parts`, "export const \\w+"));
      const names = exported.map(({ line }) => /export const (\w+)/.exec(line)?.[1] ?? "");
      const counts = new Map<string, number>();
      for (const { line } of foundLines(await searchCommander(ask, `${root}/src`, "\\bvalue\\d+\\b")))
        for (const name of new Set(matches(line, /(value\d+)/g)))
          counts.set(name, (counts.get(name) ?? 0) + 1);
      return sorted(names.filter((name) => counts.get(name) === 1));
    },
    expected: ({ deadExports }) => sorted(deadExports),
  },
];
