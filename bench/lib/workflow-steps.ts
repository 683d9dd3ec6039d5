import { setTimeout } from "node:timers/promises";
import { isComplete, PAGE, resultsOn, sessionOf } from "./commander-search.ts";
import type { Answer, ToolArguments } from "./server-process.ts";
import type { Tree } from "./tree.ts";

/** Calls a tool, and has arguments and text counted. */
export type Use = (tool: string, args: ToolArguments) => Promise<Answer>;

/** What a sensible agent does with one server; it fails where the answer does not hold what was asked for. */
export type Steps = (use: Use, tree: Tree) => Promise<void>;

export interface Workflow {
  readonly id: string;
  readonly says: string;
  readonly ours: Steps;
  readonly commander: Steps;
  /** Left out where the server has no way to do it. */
  readonly official?: Steps;
  /** Printed beside the others, and in no total. */
  readonly isAside?: boolean;
}

const CLASS_LINES = 60;
const TAIL = 100;

const expect = (isThere: boolean, what: string): void => {
  if (!isThere) throw new Error(`A workflow did not get ${what}.`);
};

/** No search here takes longer; an agent's next thought does. */
const THINKING_MS = 1500;

/** Desktop Commander's search: what the first answer does not show is asked for once, when the search has ended. */
const searchCommander = async (use: Use, args: ToolArguments, wanted: number): Promise<string> => {
  const { text } = await use("start_search", args);
  if (isComplete(text) && resultsOn(text) >= wanted) return text;
  await setTimeout(THINKING_MS);
  return (await use("get_more_search_results", { sessionId: sessionOf(text) })).text;
};

const lineOf = (text: string, what: RegExp): number => Number(what.exec(text)?.[1]);

/** All pages of a file by linux_fs_read; resolves to its hash, where the text tells it: a model sees nothing else. */
const readWhole = async (use: Use, path: string): Promise<string | undefined> => {
  let sha: string | undefined;
  for (let offset = 0; ; ) {
    const { text, structured } = await use("linux_fs_read", {
      path,
      ...(offset === 0 ? {} : { offset_lines: offset }),
      max_lines: 2000,
    });
    sha ??= /\bsha256 ([0-9a-f]{12,})[^\n]*$/.exec(text)?.[1];
    const { meta } = structured as { meta: { first_line: number; lines: number; truncated: boolean } };
    if (!meta.truncated) return sha;
    offset = meta.first_line - 1 + meta.lines;
  }
};

const expectTail = ({ text }: Answer, { log }: Tree): void =>
  expect(text.match(/^2026-\S+ [A-Z]+ shop/gm)?.length === TAIL && text.includes(log.last), "the last lines");

const listCrowded =
  (limit: number | undefined): Steps =>
  async (use, { crowded }) => {
    const { text } = await use("list_dir", { path: crowded, ...(limit === undefined ? {} : { limit }) });
    expect(text.includes(limit === undefined ? "of 5000" : "job_05000.json"), "the names");
  };

const listCrowdedCommander: Steps = async (use, { path, crowded }) => {
  const { text } = await use("list_directory", { path: `${path}/${crowded}`, depth: 1 });
  expect(text.includes("job_05000.json"), "the names");
};

const listCrowdedOfficial: Steps = async (use, { path, crowded }) => {
  const { text } = await use("list_directory", { path: `${path}/${crowded}` });
  expect(text.includes("job_05000.json"), "the names");
};

const uses = (withContext: boolean): Pick<Workflow, "ours" | "commander"> => ({
  ours: async (use, { method }) => {
    const args = { root: ".", pattern: method, ...(withContext ? {} : { context_lines: 0 }) };
    const { text } = await use("linux_search_content", args);
    expect(text.includes(`[${PAGE} of `), "a page of hits");
  },
  commander: async (use, { path, method }) => {
    const args = {
      path,
      pattern: method,
      searchType: "content",
      ...(withContext ? {} : { contextLines: 0 }),
    };
    expect(resultsOn(await searchCommander(use, args, PAGE)) === PAGE, "a page of hits");
  },
});

export const WORKFLOWS: readonly Workflow[] = [
  {
    id: "W1",
    says: "overview of the repository root",
    ours: async (use) => expect((await use("list_dir", {})).text.includes("shop/"), "the root"),
    commander: async (use, { path }) =>
      expect((await use("list_directory", { path, depth: 1 })).text.includes("[DIR] shop"), "the root"),
    official: async (use, { path }) =>
      expect((await use("list_directory", { path })).text.includes("[DIR] shop"), "the root"),
  },
  {
    id: "W2",
    says: `find a class and read ${CLASS_LINES} lines of it`,
    ours: async (use, { class: { name } }) => {
      const found = await use("linux_search_content", {
        root: ".",
        pattern: `class ${name}`,
        context_lines: 0,
      });
      const [path = ""] = found.text.split("\n");
      const line = lineOf(found.text, /^(\d+):/m);
      const read = await use("linux_fs_read", { path, offset_lines: line - 1, max_lines: CLASS_LINES });
      expect(read.text.startsWith(`class ${name}`), "the class");
    },
    commander: async (use, { path, class: { name } }) => {
      const args = { path, pattern: `class ${name}`, searchType: "content", contextLines: 0 };
      const found = await searchCommander(use, args, 1);
      const [, file = "", line = ""] = /📄 (.+?):(\d+) - /u.exec(found) ?? [];
      const read = await use("read_file", { path: file, offset: Number(line) - 1, length: CLASS_LINES });
      expect(read.text.includes(`class ${name}`), "the class");
    },
    // It searches names only. An agent that was told the package reads its files until the class is in one.
    official: async (use, { path, class: { name, folder } }) => {
      const { text } = await use("search_files", { path: `${path}/${folder}`, pattern: "**/*.py" });
      for (const file of text.split("\n")) {
        const read = await use("read_text_file", { path: file });
        if (read.text.includes(`class ${name}`)) return;
      }
      expect(false, "the class");
    },
  },
  { id: "W3", says: "uses of a method, first page", ...uses(false) },
  { id: "W3 defaults", says: "the same with each server's own context", isAside: true, ...uses(true) },
  {
    id: "W4",
    says: "one-line edit",
    ours: async (use, { source: { path, line, edited } }) => {
      await use("linux_fs_edit", { path, old_text: line, new_text: edited });
    },
    commander: async (use, { path, source }) => {
      await use("edit_block", {
        file_path: `${path}/${source.path}`,
        old_string: source.line,
        new_string: source.edited,
      });
    },
    official: async (use, { path, source }) => {
      await use("edit_file", {
        path: `${path}/${source.path}`,
        edits: [{ oldText: source.line, newText: source.edited }],
      });
    },
  },
  {
    id: "W5",
    says: "ls -la",
    ours: async (use) => {
      const { text } = await use("run_cmd", { command: "ls -la" });
      expect(text.includes("pyproject.toml"), "a name");
    },
    commander: async (use, { path }) => {
      const { text } = await use("start_process", { command: `ls -la ${path}`, timeout_ms: 5000 });
      if (text.includes("pyproject.toml")) return;
      const more = await use("read_process_output", { pid: lineOf(text, /PID (\d+)/) });
      expect(more.text.includes("pyproject.toml"), "a name");
    },
  },
  {
    id: "W6",
    says: "last 100 lines of a 100k-line log",
    ours: async (use, tree) =>
      expectTail(await use("linux_fs_read", { path: tree.log.path, tail_lines: TAIL }), tree),
    commander: async (use, tree) =>
      expectTail(await use("read_file", { path: `${tree.path}/${tree.log.path}`, offset: -TAIL }), tree),
    // It counts what follows the last newline as a line.
    official: async (use, tree) =>
      expectTail(
        await use("read_text_file", { path: `${tree.path}/${tree.log.path}`, tail: TAIL + 1 }),
        tree,
      ),
  },
  {
    id: "W7",
    says: "count a string in that log",
    ours: async (use, { log }) => {
      const { text } = await use("run_cmd", { command: `grep -c ${log.word} ${log.path}` });
      expect(text.includes(String(log.count)), "the count");
    },
    commander: async (use, { path, log }) => {
      const command = `grep -c ${log.word} ${path}/${log.path}`;
      const { text } = await use("start_process", { command, timeout_ms: 5000 });
      if (text.includes(String(log.count))) return;
      // A busy machine: the answer came before grep's.
      const more = await use("read_process_output", { pid: lineOf(text, /PID (\d+)/) });
      expect(more.text.includes(String(log.count)), "the count");
    },
    official: async (use, { path, log }) => {
      await use("read_text_file", { path: `${path}/${log.path}` });
    },
  },
  {
    id: "W7 search",
    says: "the same, by search where commands are not allowed",
    isAside: true,
    ours: async (use, { log }) => {
      const args = { root: log.path, pattern: log.word, context_lines: 0, max_results: 1 };
      const { text } = await use("linux_search_content", args);
      expect(text.includes(`of ${log.count} hits`), "the count");
    },
    commander: async (use, { path, log }) => {
      const args = { path: `${path}/${log.path}`, pattern: log.word, searchType: "content", contextLines: 0 };
      const found = await searchCommander(use, args, log.count);
      expect(found.includes(`(${log.count} matches)`), "the count");
    },
  },
  {
    id: "W8",
    says: "list a 5,000-entry directory, every name",
    ours: listCrowded(5000),
    commander: listCrowdedCommander,
    official: listCrowdedOfficial,
  },
  {
    id: "W8 page",
    says: "the same, with llmc's first page and the total",
    isAside: true,
    ours: listCrowded(undefined),
    commander: listCrowdedCommander,
    official: listCrowdedOfficial,
  },
  {
    id: "W9",
    says: "find a file by name",
    ours: async (use, { unique }) => {
      const { text } = await use("linux_search_files", { root: ".", pattern: unique.name });
      expect(text.includes(unique.path), "the file");
    },
    commander: async (use, { path, unique }) => {
      const found = await searchCommander(use, { path, pattern: unique.name }, 1);
      expect(found.includes(unique.path), "the file");
    },
    official: async (use, { path, unique }) => {
      const { text } = await use("search_files", { path, pattern: `**/${unique.name}` });
      expect(text.includes(unique.path), "the file");
    },
  },
  {
    id: "W10",
    says: "read an unchanged 25k-token file twice",
    ours: async (use, { large }) => {
      const sha = await readWhole(use, large);
      if (sha === undefined) {
        await readWhole(use, large);
        return;
      }
      const { text } = await use("linux_fs_read", { path: large, unless_sha256: sha });
      expect(text.includes("unchanged"), "an answer of a few tokens");
    },
    commander: async (use, { path, large }) => {
      for (let i = 0; i < 2; i++) await use("read_file", { path: `${path}/${large}`, length: 5000 });
    },
    official: async (use, { path, large }) => {
      for (let i = 0; i < 2; i++) await use("read_text_file", { path: `${path}/${large}` });
    },
  },
];
