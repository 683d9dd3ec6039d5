import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { connectClient, type McpClient } from "./lib/mcp-client.ts";
import { type Ask, type ProgramTask, TASKS } from "./lib/program-tasks.ts";
import { createProgramTree, type ProgramTree } from "./lib/program-tree.ts";
import type { Benchmark } from "./lib/report.ts";
import { llmc, startServer } from "./lib/server-process.ts";
import { median, percentile, round } from "./lib/stats.ts";

const TARGET_BELOW_CALLS = 0.6;
const TARGET_MS = { javascript: 30, python: 50 } as const;
const TARGET_COLD_PYTHON_MS = 600;
/** As far apart as an agent's calls are. */
const APART_MS = 5000;

const inTree = async <T>(work: (root: string, tree: ProgramTree) => Promise<T>): Promise<T> => {
  const root = await mkdtemp(join(tmpdir(), "llmc-bench-"));
  try {
    return await work(root, createProgramTree(root));
  } finally {
    await rm(root, { recursive: true, force: true });
  }
};

/** Counts arguments and texts of all calls. */
const counting = (client: McpClient): { readonly ask: Ask; tokens(): number; calls(): number } => {
  let tokens = 0;
  let calls = 0;
  return {
    ask: async (tool, args) => {
      const text = await client.ask(tool, args);
      tokens += countTokens(JSON.stringify(args)) + countTokens(text);
      calls++;
      return text;
    },
    tokens: () => tokens,
    calls: () => calls,
  };
};

const check = (task: ProgramTask, tree: ProgramTree, answer: unknown, by: string): void => {
  const order = (value: unknown): unknown =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : value;
  if (!isDeepStrictEqual(order(answer), order(task.expected(tree))))
    throw new Error(
      `${task.id} by ${by}: ${JSON.stringify(answer)} is not ${JSON.stringify(task.expected(tree))}`,
    );
};

const byProgram = (program: string, task: ProgramTask) =>
  inTree(async (root, tree) => {
    await using client = await connectClient(llmc(program, root, "--mode", "code_execution"));
    const { ask, tokens } = counting(client);
    const text = await ask("execute_code", { language: "javascript", code: task.program, timeout_s: 120 });
    const result = /^=> (.*)$/m.exec(text)?.[1];
    if (result === undefined) throw new Error(`${task.id}: ${text}`);
    check(task, tree, JSON.parse(result), "program");
    return { tokens: tokens(), calls: 1 };
  });

const byCalls = (program: string, task: ProgramTask) =>
  inTree(async (root, tree) => {
    await using client = await connectClient(llmc(program, root, "--mode", "hybrid"));
    const { ask, tokens, calls } = counting(client);
    check(task, tree, await task.byCalls(ask), "calls");
    return { tokens: tokens(), calls: calls() };
  });

/** Milliseconds of the smallest program: the first on a server, then with a spare, then one after the other. */
const timesOf = async (
  program: string,
  language: "javascript" | "python",
  rounds: number,
  apartMs: number,
) => {
  const root = await mkdtemp(join(tmpdir(), "llmc-bench-"));
  const server = startServer(llmc(program, root, "--mode", "code_execution"));
  try {
    await server.handshake();
    const run = () => server.call("execute_code", { language, code: "1" });
    await server.call("list_dir", {});
    const cold = await run();
    const spare: number[] = [];
    for (let at = 0; at < rounds; at++) {
      await sleep(apartMs);
      spare.push(await run());
    }
    const next: number[] = [];
    for (let at = 0; at < rounds; at++) next.push(await run());
    return {
      cold: round(cold, 1),
      spare: round(median(spare), 1),
      spareP95: round(percentile(spare, 0.95), 1),
      next: round(median(next), 1),
    };
  } finally {
    await server.close();
    await rm(root, { recursive: true, force: true });
  }
};

const plainStart = (file: string, args: readonly string[], rounds: number): number => {
  const times = Array.from({ length: rounds }, () => {
    const at = performance.now();
    execFileSync(file, args);
    return performance.now() - at;
  });
  return round(median(times), 1);
};

export const programs: Benchmark = {
  name: "programs",
  summary: "five tasks of many steps as one program, against single calls; how long a program takes to start",
  run: async ({ program, quick }) => {
    const rows: (string | number)[][] = [];
    const figures: Record<string, { program: number; calls: number; made: number }> = {};
    for (const task of TASKS) {
      const [one, many] = [await byProgram(program, task), await byCalls(program, task)];
      figures[task.id] = { program: one.tokens, calls: many.tokens, made: many.calls };
      rows.push([
        task.id,
        task.title,
        one.tokens,
        many.tokens,
        many.calls,
        `${round(100 * (1 - one.tokens / many.tokens), 1)} %`,
      ]);
    }
    const sum = (pick: "program" | "calls"): number =>
      Object.values(figures).reduce((all, each) => all + each[pick], 0);
    const below = 1 - sum("program") / sum("calls");
    // The first start of Python makes its snapshot, which is kept for all later ones.
    await timesOf(program, "python", 1, 0);
    const rounds = quick ? 2 : 15;
    const times = {
      javascript: await timesOf(program, "javascript", rounds, quick ? 2000 : APART_MS),
      python: await timesOf(program, "python", rounds, quick ? 2000 : APART_MS),
    };
    const plain = {
      node: plainStart(process.execPath, ["-e", "0"], rounds),
      python3: plainStart("python3", ["-c", "0"], rounds),
    };
    const verdict = (name: string, ms: number, target: number): string =>
      `${name}: ${ms} ms, target ${target}: ${ms <= target ? "met" : "MISSED"}`;
    return {
      tables: [
        { head: ["task", "", "program", "hybrid's calls", "calls", "fewer"], rows },
        {
          head: ["start, ms", "cold", "spare p50", "spare p95", "back to back"],
          rows: Object.entries(times).map(([name, { cold, spare, spareP95, next }]) => [
            name,
            cold,
            spare,
            spareP95,
            next,
          ]),
        },
      ],
      notes: [
        `tokens of arguments and results in total: ${round(100 * below, 1)} % fewer, target 60 %: ${below >= TARGET_BELOW_CALLS ? "met" : "MISSED"}`,
        verdict("JavaScript with a spare", times.javascript.spare, TARGET_MS.javascript),
        verdict("Python with a spare", times.python.spare, TARGET_MS.python),
        verdict("Python, cold", times.python.cold, TARGET_COLD_PYTHON_MS),
        `on the same machine, node -e 0 takes ${plain.node} ms and python3 -c 0 ${plain.python3} ms`,
      ],
      figures: { tokens: figures, below_calls: round(below, 4), start_ms: times, plain_ms: plain },
    };
  },
};
