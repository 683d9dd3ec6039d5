import { setTimeout } from "node:timers/promises";
import { isComplete, PAGE, resultsOn, sessionOf } from "./commander-search.ts";
import type { ToolArguments } from "./server-process.ts";
import type { Tree } from "./tree.ts";
import {
  CLASS_LINES,
  expectAllNames,
  expectClass,
  expectDetails,
  expectEdit,
  expectFile,
  expectFirstNames,
  expectRoot,
  expectTail,
  expectTotal,
  expectUnchanged,
  expectUses,
  expectWhole,
  TAIL,
  usesIn,
} from "./workflow-facts.ts";

/** Calls a tool, has arguments and answer counted, and resolves to the answer's text: a model sees nothing else. */
export type Use = (tool: string, args: ToolArguments) => Promise<string>;

/** What a sensible agent does with one server; it fails where the answers do not hold what was asked for. */
export type Steps = (use: Use, tree: Tree) => Promise<void>;

export interface Workflow {
  readonly id: string;
  readonly summary: string;
  /** With the tools that hybrid mode lists. */
  readonly ours: Steps;
  readonly commander: Steps;
  /** Left out where the server has no way to do it. */
  readonly official?: Steps;
  /** Printed beside the others, and in no total. */
  readonly isAside?: boolean;
}

/** No search here takes longer; an agent's next thought does. */
const THINKING_MS = 1500;

/** Desktop Commander's search: what the first answer does not show is asked for once, when the search has ended. */
const searchCommander = async (use: Use, args: ToolArguments, wanted: number): Promise<string> => {
  const text = await use("start_search", args);
  if (isComplete(text) && resultsOn(text) >= wanted) return text;
  await setTimeout(THINKING_MS);
  return use("get_more_search_results", { sessionId: sessionOf(text) });
};

/** A command of Desktop Commander, which answers before a slow one has ended. */
const runCommander = async (
  use: Use,
  command: string,
  isEnough: (text: string) => boolean,
): Promise<string> => {
  const text = await use("start_process", { command, timeout_ms: 5000 });
  if (isEnough(text)) return text;
  return use("read_process_output", { pid: Number(/PID (\d+)/.exec(text)?.[1]) });
};

/** All pages of a file; resolves to its text and to its hash, where an answer tells it. */
const readWhole = async (use: Use, path: string): Promise<{ text: string; sha: string | undefined }> => {
  let text = "";
  for (let offset = 0; ; ) {
    const page = await use("read_file", { path, ...(offset === 0 ? {} : { offset }) });
    const note = page.lastIndexOf("[");
    text += page.slice(0, note);
    const more = /^\[more: offset (\d+)/.exec(page.slice(note))?.[1];
    if (more === undefined) return { text, sha: /\bsha256 ([0-9a-f]{12,})/.exec(page.slice(note))?.[1] };
    offset = Number(more);
  }
};

const OUR_USE = /^([^\s:]+):(\d+):/gm;
const COMMANDER_USE = /^📄 (.+?):(\d+) - /gmu;

const usesCommander = (use: Use, { path, method }: Tree, options: ToolArguments): Promise<string> =>
  searchCommander(use, { path, pattern: method, searchType: "content", ...options }, PAGE);

const listCrowdedCommander: Steps = async (use, tree) =>
  expectAllNames(await use("list_directory", { path: `${tree.path}/${tree.crowded}`, depth: 1 }), tree);

const listCrowdedOfficial: Steps = async (use, tree) =>
  expectAllNames(await use("list_directory", { path: `${tree.path}/${tree.crowded}` }), tree);

export const WORKFLOWS: readonly Workflow[] = [
  {
    id: "W1",
    summary: "overview of the repository root",
    ours: async (use, tree) => expectRoot(await use("list_dir", {}), tree),
    commander: async (use, tree) =>
      expectRoot(await use("list_directory", { path: tree.path, depth: 1 }), tree),
    official: async (use, tree) => expectRoot(await use("list_directory", { path: tree.path }), tree),
  },
  {
    id: "W2",
    summary: `find a class and read ${CLASS_LINES} lines of it`,
    ours: async (use, tree) => {
      const found = await use("run_cmd", { command: `rg -n "class ${tree.class.name}"` });
      const [, path, line] = /^(.+?):(\d+):/.exec(found) ?? [];
      const read = await use("read_file", { path, offset: Number(line) - 1, limit: CLASS_LINES });
      await expectClass(read, tree);
    },
    commander: async (use, tree) => {
      const pattern = `class ${tree.class.name}`;
      const args = { path: tree.path, pattern, searchType: "content", contextLines: 0 };
      const found = await searchCommander(use, args, 1);
      const [, path, line] = /📄 (.+?):(\d+) - /u.exec(found) ?? [];
      const read = await use("read_file", { path, offset: Number(line) - 1, length: CLASS_LINES });
      await expectClass(read, tree);
    },
    // It searches names only. An agent that was told the package reads its files until the class is in one.
    official: async (use, tree) => {
      const { path, class: wanted } = tree;
      const found = await use("search_files", { path: `${path}/${wanted.folder}`, pattern: "**/*.py" });
      let text = "";
      for (const file of found.split("\n")) {
        text = await use("read_text_file", { path: file });
        if (text.includes(`class ${wanted.name}`)) break;
      }
      await expectClass(text, tree);
    },
  },
  {
    id: "W3",
    summary: `uses of a method, the first ${PAGE} and the total`,
    ours: async (use, tree) => {
      const { method } = tree;
      const command = `rg ${method} | wc -l; rg -n --sort path ${method} | head -${PAGE}`;
      const text = await use("run_cmd", { command });
      await expectUses(usesIn(text, OUR_USE), PAGE, tree);
      expectTotal(text, tree.methodUses);
    },
    commander: async (use, tree) => {
      const text = await usesCommander(use, tree, { contextLines: 0 });
      await expectUses(usesIn(text, COMMANDER_USE), PAGE, tree);
      expectTotal(text, tree.methodUses);
    },
  },
  {
    id: "W3 defaults",
    summary: "the same without options: the total and what each server shows first",
    isAside: true,
    ours: async (use, tree) => {
      const text = await use("run_cmd", { command: `rg -n ${tree.method}` });
      await expectUses(usesIn(text, OUR_USE), 1, tree);
      expectTotal(text, tree.methodUses);
    },
    // Its page holds the lines around a use as results of their own.
    commander: async (use, tree) => expectTotal(await usesCommander(use, tree, {}), tree.methodUses),
  },
  {
    id: "W4",
    summary: "one-line edit",
    ours: async (use, tree) => {
      const { path, line, edited } = tree.source;
      await use("linux_fs_edit", { path, old_text: line, new_text: edited });
      await expectEdit(tree);
    },
    commander: async (use, tree) => {
      const { path, line, edited } = tree.source;
      await use("edit_block", { file_path: `${tree.path}/${path}`, old_string: line, new_string: edited });
      await expectEdit(tree);
    },
    official: async (use, tree) => {
      const { path, line, edited } = tree.source;
      await use("edit_file", { path: `${tree.path}/${path}`, edits: [{ oldText: line, newText: edited }] });
      await expectEdit(tree);
    },
  },
  {
    id: "W5",
    summary: "ls -la",
    ours: async (use, tree) => expectDetails(await use("run_cmd", { command: "ls -la" }), tree),
    commander: async (use, tree) => {
      const isEnough = (text: string): boolean => text.includes("tsconfig.json");
      await expectDetails(await runCommander(use, `ls -la ${tree.path}`, isEnough), tree);
    },
  },
  {
    id: "W6",
    summary: `last ${TAIL} lines of a 100k-line log`,
    ours: async (use, tree) =>
      expectTail(await use("run_cmd", { command: `tail -n ${TAIL} ${tree.log.path}` }), tree),
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
    summary: "count a string in that log",
    ours: async (use, { log }) =>
      expectTotal(await use("run_cmd", { command: `grep -c ${log.word} ${log.path}` }), log.count),
    commander: async (use, { path, log }) => {
      const command = `grep -c ${log.word} ${path}/${log.path}`;
      const text = await runCommander(use, command, (first) => first.includes(String(log.count)));
      expectTotal(text, log.count);
    },
    // It can only read; the model would have to count.
    official: async (use, tree) => {
      const { path, log } = tree;
      await expectWhole(await use("read_text_file", { path: `${path}/${log.path}` }), tree, log.path);
    },
  },
  {
    id: "W8",
    summary: "list a 5,000-entry directory: llmc's first page and the total",
    ours: async (use, tree) => expectFirstNames(await use("list_dir", { path: tree.crowded }), tree),
    commander: listCrowdedCommander,
    official: listCrowdedOfficial,
  },
  {
    id: "W8 all",
    summary: "the same, every name",
    isAside: true,
    ours: async (use, tree) => {
      const args = { path: tree.crowded, limit: tree.crowdedEntries };
      expectAllNames(await use("list_dir", args), tree);
    },
    commander: listCrowdedCommander,
    official: listCrowdedOfficial,
  },
  {
    id: "W9",
    summary: "find a file by name",
    ours: async (use, tree) =>
      expectFile(await use("run_cmd", { command: `rg --files -g ${tree.unique.name}` }), tree),
    commander: async (use, tree) =>
      expectFile(await searchCommander(use, { path: tree.path, pattern: tree.unique.name }, 1), tree),
    official: async (use, tree) =>
      expectFile(await use("search_files", { path: tree.path, pattern: `**/${tree.unique.name}` }), tree),
  },
  {
    id: "W10",
    summary: "read an unchanged 25k-token file twice",
    ours: async (use, tree) => {
      const { text, sha } = await readWhole(use, tree.large);
      await expectWhole(text, tree, tree.large);
      expectUnchanged(await use("read_file", { path: tree.large, unless_sha256: sha }));
    },
    commander: async (use, tree) => {
      const args = { path: `${tree.path}/${tree.large}`, length: 5000 };
      for (let i = 0; i < 2; i++) await expectWhole(await use("read_file", args), tree, tree.large);
    },
    official: async (use, tree) => {
      const args = { path: `${tree.path}/${tree.large}` };
      for (let i = 0; i < 2; i++) await expectWhole(await use("read_text_file", args), tree, tree.large);
    },
  },
];
