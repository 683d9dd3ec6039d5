import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { type Benchmark, verdictBelow } from "./lib/report.ts";
import { measureMemory } from "./lib/rlm-memory.ts";
import { type RlmStand, withRlmStand } from "./lib/rlm-stand.ts";
import { median, percentile, round } from "./lib/stats.ts";

const DATA = process.env["LLMC_BENCH_DATA"] ?? fileURLToPath(new URL("../../shared/data", import.meta.url));
const MIB = 1024 * 1024;

/** Dollars for a million tokens: a large model that writes the programs, and a small one that reads. */
const PRICES = { root: { input: 3, output: 15 }, sub: { input: 0.25, output: 1.25 } } as const;
const TARGET_TURN_MS = 20;
const TARGET_PARALLEL_MS = 300;
const TARGET_MEMORY = 4;
const LINES_PER_CALL = 100;

interface Question {
  readonly kind: string;
  readonly text: string;
}

const readQuestions = (): readonly Question[] =>
  readFileSync(join(DATA, "trec-questions/train_5500.label"), "latin1")
    .trim()
    .split("\n")
    .map((line) => ({
      kind: line.slice(0, line.indexOf(":")),
      text: line.slice(line.indexOf(" ") + 1).trim(),
    }));

interface Task {
  readonly id: string;
  readonly question: string;
  readonly program: (turn: number) => string;
  readonly expected: string;
}

/** OOLONG-style: what has to be understood line by line, what a program finds, and what needs both. */
const tasksOf = (questions: readonly Question[]): readonly Task[] => {
  const count = (kind: string): number => questions.filter((one) => one.kind === kind).length;
  const classify = `const rows = context.trim().split("\\n");
const groups = []; for (let at = 0; at < rows.length; at += ${LINES_PER_CALL}) groups.push(rows.slice(at, at + ${LINES_PER_CALL}));
const kinds = (await llmBatch(groups.map((group) => "Classify each question as ABBR, DESC, ENTY, HUM, LOC or NUM, one word a line:\\n" + group.join("\\n")))).flatMap((one) => one.split("\\n"));
const counts = {}; for (const kind of kinds) counts[kind] = (counts[kind] ?? 0) + 1;`;
  const popular = questions.filter(({ text }) => /\bpresident\b/i.test(text));
  return [
    {
      id: "count by class",
      question: "How many of the questions ask for a person or a group?",
      program: () => `${classify}\nfinish(String(counts.HUM))`,
      expected: String(count("HUM")),
    },
    {
      id: "compare classes",
      question: "Are there more questions about places or about numbers, and by how many?",
      program: () =>
        `${classify}\nfinish(counts.NUM > counts.LOC ? "NUM " + (counts.NUM - counts.LOC) : "LOC " + (counts.LOC - counts.NUM))`,
      expected:
        count("NUM") > count("LOC")
          ? `NUM ${count("NUM") - count("LOC")}`
          : `LOC ${count("LOC") - count("NUM")}`,
    },
    {
      id: "filter, then classify",
      question: "How many questions that name a president ask for a person?",
      program:
        () => `const found = (await grep("\\\\bpresident\\\\b", {limit: 1000})).hits.map((hit) => hit.text);
const kinds = (await llm("Classify each question as ABBR, DESC, ENTY, HUM, LOC or NUM, one word a line:\\n" + found.join("\\n"))).split("\\n");
finish(kinds.filter((kind) => kind === "HUM").length.toString())`,
      expected: String(popular.filter(({ kind }) => kind === "HUM").length),
    },
    {
      id: "find one line",
      question: "What does the question about serfdom ask?",
      program: () => `finish((await grep("serfdom")).hits[0].text)`,
      expected: questions.find(({ text }) => text.includes("serfdom"))?.text ?? "",
    },
  ];
};

const priceOf = (calls: readonly { isRoot: boolean; inputTokens: number; outputTokens: number }[]): number =>
  calls.reduce((sum, { isRoot, inputTokens, outputTokens }) => {
    const { input, output } = isRoot ? PRICES.root : PRICES.sub;
    return sum + (inputTokens * input + outputTokens * output) / 1e6;
  }, 0);

const runTasks = async ({ play, query, models, root }: RlmStand) => {
  const questions = readQuestions();
  const kindOf = new Map(questions.map(({ text, kind }) => [text, kind]));
  const context = `${questions.map(({ text }) => text).join("\n")}\n`;
  await writeFile(join(root, "questions.txt"), context);
  const answer = (prompt: string): string =>
    prompt
      .split("\n")
      .slice(1)
      .map((line) => kindOf.get(line) ?? "DESC")
      .join("\n");
  const rows: (string | number)[][] = [];
  const figures: Record<string, Record<string, number>> = {};
  for (const task of tasksOf(questions)) {
    play({ program: task.program, answer });
    models.take();
    const got = await query({ task: task.question, path: "questions.txt", max_bytes: MIB });
    if (got !== task.expected) throw new Error(`${task.id}: ${got} is not ${task.expected}`);
    const calls = models.take();
    const tokens = calls.reduce((sum, { inputTokens, outputTokens }) => sum + inputTokens + outputTokens, 0);
    const naive = countTokens(`${task.question}\n${context}`) + countTokens(task.expected);
    const naiveUsd = priceOf([{ isRoot: true, inputTokens: naive, outputTokens: 0 }]);
    const usd = priceOf(calls);
    const largest = Math.max(...calls.map(({ inputTokens }) => inputTokens));
    figures[task.id] = {
      calls: calls.length,
      tokens,
      usd: round(usd, 5),
      largest,
      naive,
      naiveUsd: round(naiveUsd, 5),
    };
    rows.push([task.id, calls.length, tokens, largest, round(usd, 4), naive, round(naiveUsd, 4)]);
  }
  return { rows, figures };
};

/** Between an answer of the model and its next request: the program, what it printed, the next message. */
const turnTimes = async ({ play, query, models, root, server }: RlmStand, sessions: number) => {
  await writeFile(join(root, "one.txt"), "a line of a text of one megabyte, with a number\n".repeat(22_000));
  const times: number[] = [];
  play({
    program: (turn) =>
      turn < 10
        ? `const at = context.indexOf("number", ${turn} * 1000); print(at, context.slice(at, at + 200))`
        : "finish('1')",
    answer: () => "",
  });
  const cpuBefore = server.cpuMs();
  for (let at = 0; at < sessions; at++) {
    models.take();
    await query({ task: "t", path: "one.txt", max_bytes: 2 * MIB, max_turns: 10 });
    const calls = models.take();
    // The first turn also waits for the interpreter to start and load the context.
    for (let turn = 2; turn < calls.length; turn++)
      times.push((calls[turn]?.arrivedAt ?? 0) - (calls[turn - 1]?.answeredAt ?? 0));
  }
  // Does not depend on what else the machine does; starting interpreters and reading the file are in it.
  return { times, cpuMs: (server.cpuMs() - cpuBefore) / (sessions * 10) };
};

const parallelTime = async ({ play, query, models }: RlmStand): Promise<number> => {
  play({
    program: () =>
      "finish((await llmBatch(Array.from({length: 16}, (_, at) => 'prompt ' + at))).length.toString())",
    answer: () => "ok",
    latencyMs: 200,
  });
  models.take();
  await query({ task: "t", context: "text" });
  const endedAt = performance.now();
  // From the program's arrival to the answer of the analysis: what comes before and after the calls is in it.
  const startedAt = models.take().find(({ isRoot }) => isRoot)?.answeredAt ?? Number.NaN;
  return endedAt - startedAt;
};

export const rlm: Benchmark = {
  name: "rlm",
  summary:
    "analyses of 5,452 questions against the whole text in one prompt; what a turn and parallel calls cost besides the model",
  needs: "the TREC questions of ../shared/data, or of LLMC_BENCH_DATA",
  run: ({ program, quick }) =>
    withRlmStand(program, async (stand) => {
      const { rows, figures } = await runTasks(stand);
      const { times: turns, cpuMs } = await turnTimes(stand, quick ? 1 : 10);
      const parallel: number[] = [];
      for (let at = 0; at < (quick ? 1 : 5); at++) parallel.push(await parallelTime(stand));
      const memory = await measureMemory(program, quick ? 10 : 99);
      const turnMs = round(median(turns), 1);
      const parallelMs = round(median(parallel), 0);
      return {
        tables: [
          {
            head: ["task", "calls", "tokens", "largest prompt", "$", "one prompt, tokens", "one prompt, $"],
            rows,
          },
          {
            head: ["besides the model", "p50", "p95"],
            rows: [
              ["a turn with a context of 1 MB, ms", turnMs, round(percentile(turns, 0.95), 1)],
              ["processor time of the server per turn, ms", round(cpuMs, 1), ""],
              ["16 calls of 200 ms at once, ms", parallelMs, round(Math.max(...parallel), 0)],
            ],
          },
          {
            head: ["context", "by", "MB", "seconds", "resident above a small one, MB", "× the context"],
            rows: memory.map((one) => [one.text, one.way, one.megabytes, one.seconds, one.peakMb, one.times]),
          },
        ],
        notes: [
          "Scripted models that know the classes: the figures say what is sent, not how clever a model is. Every answer is exact.",
          `Prices in dollars for a million tokens: root ${PRICES.root.input}/${PRICES.root.output}, sub ${PRICES.sub.input}/${PRICES.sub.output}; one prompt goes to the root model.`,
          verdictBelow("a turn", turnMs, TARGET_TURN_MS, "ms"),
          verdictBelow("16 calls at once", parallelMs, TARGET_PARALLEL_MS, "ms"),
          ...memory.map((one) =>
            verdictBelow(`memory, ${one.text} by ${one.way}`, one.times, TARGET_MEMORY, "× the context"),
          ),
        ],
        figures: {
          tasks: figures,
          turnMs,
          turnCpuMs: round(cpuMs, 1),
          parallelMs,
          memory: Object.fromEntries(memory.map(({ text, way, ...one }) => [`${text}, ${way}`, one])),
        },
      };
    }),
};
