import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type LaneResult, lanesFigures, runLanes } from "./lib/lanes.ts";
import type { Benchmark } from "./lib/report.ts";
import { llmc, startServer, type ToolArguments, timeToFirstList } from "./lib/server-process.ts";
import { addNoopModule, createWorkspace, type Workspace } from "./lib/workspace.ts";

/** The checkout that the benchmark stands in. */
const HERE = fileURLToPath(new URL("../bin/llmc", import.meta.url));

interface Side {
  readonly name: string;
  readonly program: string;
}

interface Case {
  readonly name: string;
  readonly tool: string;
  readonly args: ToolArguments;
  /** Calls of one batch: short ones need many. */
  readonly batch: number;
}

const CASES: readonly Case[] = [
  { name: "no-op call", tool: "noop", args: {}, batch: 100 },
  { name: "read_file", tool: "read_file", args: { path: "src/file-7.ts" }, batch: 50 },
  {
    name: "linux_search_content",
    tool: "linux_search_content",
    args: { pattern: "needle", root: "." },
    batch: 5,
  },
  { name: "rag_search", tool: "rag_search", args: { query: "where is the needle counted" }, batch: 10 },
  { name: "run_cmd ls", tool: "run_cmd", args: { command: "ls src" }, batch: 3 },
];

const FILES = 300;

const furnish = async ({ path }: Workspace): Promise<void> => {
  for (let at = 0; at < FILES; at++) {
    const lines = Array.from({ length: 40 }, (_, line) => `export const value${at}x${line} = ${line};`);
    if (at % 50 === 0) lines.push("/** Counts the needle. */", "export const needle = 1;");
    await writeFile(join(path, `src/file-${at}.ts`), `${lines.join("\n")}\n`);
  }
  await writeFile(join(path, ".env"), "KEY=value\n");
};

const percent = (ratio: number): string => `${ratio >= 1 ? "+" : ""}${((ratio - 1) * 100).toFixed(1)} %`;

interface Compared {
  readonly name: string;
  readonly lanes: readonly LaneResult[];
}

const rowOf = ({ name, lanes }: Compared): readonly string[] => {
  const after = lanes[1];
  if (after === undefined) throw new Error("a lane is missing");
  return [name, ...lanes.map(({ p50 }) => p50.toFixed(2)), percent(after.paired), percent(after.quietRatio)];
};

const compareStart = async (sides: readonly Side[], quick: boolean): Promise<Compared> => {
  await using workspace = await createWorkspace();
  const lanes = sides.map(({ name, program }) => ({
    name,
    once: () => timeToFirstList(llmc(program, workspace.path)),
  }));
  const plan = { warmUp: 3, rounds: quick ? 5 : 31, batch: 1 };
  return { name: "start to the first list", lanes: await runLanes(lanes, plan) };
};

/** A workspace for each: both keep an index and state of their own there. */
const open = async ({ name, program }: Side) => {
  const workspace = await createWorkspace();
  await furnish(workspace);
  const server = startServer(llmc(program, workspace.path, ...(await addNoopModule(workspace))));
  await server.handshake();
  const close = async (): Promise<void> => {
    await server.close();
    await workspace[Symbol.asyncDispose]();
  };
  return { name, server, close };
};

const compareCalls = async (sides: readonly Side[], quick: boolean): Promise<readonly Compared[]> => {
  const opened = await Promise.all(sides.map(open));
  const results: Compared[] = [];
  try {
    for (const { name, tool, args, batch } of CASES) {
      const lanes = opened.map((side) => ({ name: side.name, once: () => side.server.call(tool, args) }));
      const plan = { warmUp: quick ? batch : batch * 10, rounds: quick ? 4 : 30, batch };
      results.push({ name, lanes: await runLanes(lanes, plan) });
    }
  } finally {
    await Promise.all(opened.map(({ close }) => close()));
  }
  return results;
};

export const compare: Benchmark = {
  name: "compare",
  summary: "start, calls and commands of two checkouts in turn; --program is the one before",
  needs: "another checkout: --program OTHER/bin/llmc",
  run: async ({ program, quick }) => {
    const sides = [
      { name: "before", program },
      { name: "after", program: HERE },
    ];
    const results = [await compareStart(sides, quick), ...(await compareCalls(sides, quick))];
    return {
      tables: [{ head: ["", "before p50 ms", "after p50 ms", "paired", "quiet"], rows: results.map(rowOf) }],
      notes: ["the two take turns in batches, so both meet the same moments of the machine"],
      figures: Object.fromEntries(results.map(({ name, lanes }) => [name, lanesFigures(lanes)])),
    };
  },
};
