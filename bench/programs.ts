import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { findSystemProgram } from "../src/host/os/system-programs.ts";
import { peakOfGuests } from "./lib/guest-memory.ts";
import { connectClient, type McpClient } from "./lib/mcp-client.ts";
import { startPeers } from "./lib/peers.ts";
import { type Ask, type ProgramTask, TASKS } from "./lib/program-tasks.ts";
import { createProgramTree, type ProgramTree } from "./lib/program-tree.ts";
import type { Benchmark } from "./lib/report.ts";
import { llmc, type ServerProcess, startServer } from "./lib/server-process.ts";
import { median, percentile, round } from "./lib/stats.ts";

const TARGET_BELOW_CALLS = 0.6;
const TARGET_BELOW_COMMANDER = 0.9;
const TARGET_MS = { javascript: 30, python: 50 } as const;
const TARGET_COLD_PYTHON_MS = 600;
/** As far apart as an agent's calls are. */
const APART_MS = 5000;
const COLD_STARTS = 7;

const inTree = async <T>(work: (root: string, tree: ProgramTree) => Promise<T>): Promise<T> => {
  const root = await mkdtemp(join(tmpdir(), "llmc-bench-"));
  try {
    return await work(root, createProgramTree(root));
  } finally {
    await rm(root, { recursive: true, force: true });
  }
};

/** Counts arguments and texts of all calls. */
const counting = (
  client: Pick<McpClient, "ask">,
): { readonly ask: Ask; tokens(): number; calls(): number } => {
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
  const wrong = task.wrongFiles?.(tree) ?? [];
  if (wrong.length > 0) throw new Error(`${task.id} by ${by}: wrong files: ${wrong.join(", ")}`);
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

/** Undefined where Desktop Commander cannot be had. */
const byCommander = (task: ProgramTask) =>
  inTree(async (root, tree) => {
    await using peers = await startPeers(root, ["commander"]);
    const server = peers.get("commander");
    if (server === undefined) return { tokens: undefined, missing: peers.missing };
    const { ask, tokens } = counting({ ask: async (tool, args) => (await server.ask(tool, args)).text });
    check(task, tree, await task.byCommander(ask, root), "Desktop Commander");
    return { tokens: tokens(), missing: peers.missing };
  });

type Language = "javascript" | "python";

/** A server that has answered a call, so that its own start is not counted. */
const withServer = async <T>(program: string, work: (server: ServerProcess) => Promise<T>): Promise<T> => {
  const root = await mkdtemp(join(tmpdir(), "llmc-bench-"));
  const server = startServer(llmc(program, root, "--mode", "code_execution"));
  try {
    await server.handshake();
    await server.call("list_dir", {});
    return await work(server);
  } finally {
    await server.close();
    await rm(root, { recursive: true, force: true });
  }
};

/** The first program of a server. */
const coldStart = (program: string, language: Language): Promise<number> =>
  withServer(program, (server) => server.call("execute_code", { language, code: "1" }));

/** A hundred programs at once, each with some memory of its own. */
const AT_ONCE = 100;
const WITH_MEMORY: Readonly<Record<Language, string>> = {
  javascript: "new Array(2e6).fill(7).length",
  python: "len(bytearray(2 * 10**7))",
};
/** The defaults of max_programs and program_memory_mb, a spare, and what the interpreter takes. */
const MEMORY_BOUND_MB: Readonly<Record<Language, number>> = {
  javascript: (4 + 1) * (128 + 60),
  python: (4 + 1) * (128 + 200),
};

const memoryOf = (program: string, language: Language) =>
  withServer(program, async (server) => {
    const code = WITH_MEMORY[language];
    const calls = Array.from({ length: AT_ONCE }, () =>
      server.call("execute_code", { language, code, timeout_s: 300 }),
    );
    const { mb, processes } = await peakOfGuests(server.pid, Promise.all(calls));
    return { mb: round(mb, 0), processes, bound: MEMORY_BOUND_MB[language] };
  });

/** Milliseconds of the smallest program: the first on a server, then with a spare, then one after the other. */
const timesOf = async (program: string, language: Language, rounds: number, apartMs: number) => {
  const cold: number[] = [];
  for (let at = 0; at < Math.min(rounds, COLD_STARTS); at++) cold.push(await coldStart(program, language));
  return withServer(program, async (server) => {
    const run = () => server.call("execute_code", { language, code: "1" });
    await run();
    const spare: number[] = [];
    for (let at = 0; at < rounds; at++) {
      await sleep(apartMs);
      spare.push(await run());
    }
    const next: number[] = [];
    for (let at = 0; at < rounds; at++) next.push(await run());
    return {
      cold: round(median(cold), 1),
      coldMax: round(Math.max(...cold), 1),
      spare: round(median(spare), 1),
      spareP95: round(percentile(spare, 0.95), 1),
      next: round(median(next), 1),
    };
  });
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
  summary:
    "five tasks of many steps as one program, against single calls and Desktop Commander; how long a program takes to start",
  needs: "the npm registry on first use, to install Desktop Commander into bench/.peers",
  run: async ({ program, quick }) => {
    const rows: (string | number)[][] = [];
    const figures: Record<
      string,
      { program: number; calls: number; made: number; commander: number | null }
    > = {};
    const missing = new Set<string>();
    for (const task of TASKS) {
      const [one, many] = [await byProgram(program, task), await byCalls(program, task)];
      const peer = await byCommander(task);
      for (const why of peer.missing) missing.add(why);
      const commander = peer.tokens ?? null;
      figures[task.id] = { program: one.tokens, calls: many.tokens, made: many.calls, commander };
      rows.push([
        task.id,
        task.title,
        one.tokens,
        many.tokens,
        many.calls,
        `${round(100 * (1 - one.tokens / many.tokens), 1)} %`,
        commander ?? "–",
        commander === null ? "–" : `${round(100 * (1 - one.tokens / commander), 1)} %`,
      ]);
    }
    const sum = (pick: "program" | "calls" | "commander"): number =>
      Object.values(figures).reduce((all, each) => all + (each[pick] ?? 0), 0);
    const below = 1 - sum("program") / sum("calls");
    const belowCommander = missing.size > 0 ? null : round(1 - sum("program") / sum("commander"), 4);
    // The first start of Python makes its snapshot, which is kept for all later ones.
    await coldStart(program, "python");
    const rounds = quick ? 2 : 15;
    const times = {
      javascript: await timesOf(program, "javascript", rounds, quick ? 2000 : APART_MS),
      python: await timesOf(program, "python", rounds, quick ? 2000 : APART_MS),
    };
    const plain = {
      node: plainStart(process.execPath, ["-e", "0"], rounds),
      // The system's own: a version manager's shim takes longer than Python.
      python3: plainStart(findSystemProgram("python3") ?? "python3", ["-c", "0"], rounds),
    };
    const memory = {
      javascript: await memoryOf(program, "javascript"),
      python: await memoryOf(program, "python"),
    };
    const verdict = (name: string, ms: number, target: number): string =>
      `${name}: ${ms} ms, target ${target}: ${ms <= target ? "met" : "MISSED"}`;
    return {
      tables: [
        {
          head: ["task", "", "program", "hybrid's calls", "calls", "fewer", "Desktop Commander", "fewer"],
          rows,
        },
        {
          head: ["start, ms", "cold p50", "cold max", "spare p50", "spare p95", "back to back"],
          rows: Object.entries(times).map(([name, { cold, coldMax, spare, spareP95, next }]) => [
            name,
            cold,
            coldMax,
            spare,
            spareP95,
            next,
          ]),
        },
        {
          head: [`${AT_ONCE} programs at once`, "peak resident, MiB", "interpreters then", "bound, MiB"],
          rows: Object.entries(memory).map(([name, { mb, processes, bound }]) => [
            name,
            mb,
            processes,
            bound,
          ]),
        },
      ],
      notes: [
        `tokens of arguments and results in total: ${round(100 * below, 1)} % fewer, target 60 %: ${below >= TARGET_BELOW_CALLS ? "met" : "MISSED"}`,
        ...missing,
        ...(belowCommander === null
          ? []
          : [
              `against Desktop Commander's own tools, one call at a time: ${round(100 * belowCommander, 1)} % fewer, target 90 %: ${belowCommander >= TARGET_BELOW_COMMANDER ? "met" : "MISSED"}; its shell could run a script, too`,
            ]),
        verdict("JavaScript with a spare", times.javascript.spare, TARGET_MS.javascript),
        verdict("Python with a spare", times.python.spare, TARGET_MS.python),
        verdict("Python, cold", times.python.cold, TARGET_COLD_PYTHON_MS),
        `on the same machine, node -e 0 takes ${plain.node} ms and python3 -c 0 ${plain.python3} ms`,
      ],
      figures: {
        tokens: figures,
        below_calls: round(below, 4),
        below_commander: belowCommander,
        start_ms: times,
        plain_ms: plain,
        memory_of_100: memory,
      },
    };
  },
};
