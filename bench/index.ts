import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { IndexRun, IndexRunResult } from "./lib/index-run.ts";
import { copyPackages } from "./lib/package-sources.ts";
import type { Benchmark } from "./lib/report.ts";
import { type Document, findSets } from "./lib/retrieval-sets.ts";
import { median, percentile, round } from "./lib/stats.ts";

const DATA = process.env["LLMC_BENCH_DATA"] ?? fileURLToPath(new URL("../../shared/data", import.meta.url));
const RUNNER = fileURLToPath(new URL("lib/index-run.ts", import.meta.url));

// Figures are for a machine with two cores, whatever this one has.
const THREADS = 2;
const MILLION = 1_000_000;
const ASKED_CHUNKS = 20_000;
const MIB = 1024 * 1024;

// Where the program itself keeps what it has compiled: threads load it from there.
const COMPILED = fileURLToPath(new URL("../node_modules/.cache/llmc", import.meta.url));

const runFile = promisify(execFile);

const runIn = async (run: Omit<IndexRun, "threads">): Promise<IndexRunResult> => {
  const { stdout } = await runFile(process.execPath, [RUNNER, JSON.stringify({ ...run, threads: THREADS })], {
    maxBuffer: 64 * MIB,
    env: { ...process.env, NODE_COMPILE_CACHE: COMPILED },
  });
  return JSON.parse(stdout) as IndexRunResult;
};

const write = async (folder: string, { path, text }: Document): Promise<void> => {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), text);
};

const inFolder = async <T>(work: (folder: string) => Promise<T>): Promise<T> => {
  const folder = await mkdtemp(join(tmpdir(), "llmc-bench-index-"));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

const msPerMb = ({ indexMs, bytes }: IndexRunResult): number => indexMs / (bytes / MIB);

export const index: Benchmark = {
  name: "index",
  summary: "time and memory to index repositories, to ask them, and to see an edit",
  needs: "the question sets of ../shared/data, or of LLMC_BENCH_DATA",
  run: async ({ quick }) => {
    const code = findSets(DATA).sets.find(({ name }) => name === "code-search-dev");
    if (code === undefined)
      return { tables: [], notes: [`there is no code-search-dev in ${DATA}`], figures: {} };
    const corpora = quick ? code.corpora.slice(0, 3) : code.corpora;
    const queries = corpora.flatMap(({ questions }) => questions.map(({ text }) => text)).slice(0, 400);

    const single: { readonly name: string; readonly result: IndexRunResult }[] = [];
    for (const { name, documents } of corpora) {
      await inFolder(async (folder) => {
        for (const document of documents()) await write(folder, document);
        single.push({ name, result: await runIn({ workspace: folder, queries: [], edited: [] }) });
      });
    }
    const bytes = single.reduce((sum, { result }) => sum + result.bytes, 0);
    const ms = single.reduce((sum, { result }) => sum + result.indexMs, 0);
    const cpu = single.reduce((sum, { result }) => sum + result.cpuMs, 0);

    const all = await inFolder(async (folder) => {
      const edited: string[] = [];
      for (const { name, documents } of corpora) {
        const found = documents();
        for (const { path, text } of found) await write(folder, { path: `${name}/${path}`, text });
        const first = found.find(({ text }) => text.length > 4000 && text.length < 40_000);
        if (first !== undefined) edited.push(`${name}/${first.path}`);
      }
      return runIn({ workspace: folder, queries, edited });
    });

    // The target is for so many chunks: repositories are taken until there are.
    let chunks = 0;
    const some = corpora.filter((_, i) => {
      const isWanted = chunks < ASKED_CHUNKS;
      chunks += single[i]?.result.chunks ?? 0;
      return isWanted;
    });
    const asking = await inFolder(async (folder) => {
      for (const { name, documents } of some)
        for (const { path, text } of documents()) await write(folder, { path: `${name}/${path}`, text });
      return runIn({ workspace: folder, queries, edited: [] });
    });

    const lines = { count: 0 };
    const million = await inFolder(async (folder) => {
      lines.count = await copyPackages(folder, { maxLines: quick ? MILLION / 10 : MILLION });
      return runIn({ workspace: folder, queries, edited: [] });
    });

    const row = (name: string, { files, chunks, bytes: size, ...result }: IndexRunResult) => [
      name,
      files,
      chunks,
      (size / MIB).toFixed(1),
      (result.indexMs / 1000).toFixed(2),
      msPerMb({ ...result, files, chunks, bytes: size }).toFixed(0),
      (result.cpuMs / (size / MIB)).toFixed(0),
      result.peakMb.toFixed(0),
    ];
    const asked = (result: IndexRunResult) => ({
      p50: round(percentile(result.queryMs, 0.5), 2),
      p95: round(percentile(result.queryMs, 0.95), 2),
    });
    const met = (value: number, limit: number): string =>
      `${round(value, 1)} (at most ${limit}: ${value <= limit ? "met" : "MISSED"})`;
    return {
      tables: [
        {
          head: ["workspace", "files", "chunks", "MB", "seconds", "ms per MB", "CPU ms per MB", "peak MB"],
          rows: [
            ...single.map(({ name, result }) => row(name, result)),
            row("most of them", asking),
            row("all of them", all),
            row("installed packages", million),
          ],
        },
      ],
      notes: [
        `the repositories in one workspace: ms per MB ${met(msPerMb(all), 250)}`,
        `the repositories, each from nothing: ms per MB ${met(ms / (bytes / MIB), 250)}, CPU ${(cpu / (bytes / MIB)).toFixed(0)} ms per MB`,
        `a question at ${asking.chunks} chunks: p50 ms ${met(asked(asking).p50, 5)}, p95 ms ${met(asked(asking).p95, 20)}`,
        `a question at ${all.chunks} chunks: p50 ${asked(all).p50} ms, p95 ${asked(all).p95} ms`,
        `a question after an edit of one file, all in: median ms ${met(median(all.editMs), 100)}, slowest ${Math.max(...all.editMs).toFixed(0)} ms, ${all.missed} of ${all.editMs.length} not shown`,
        `${lines.count} lines of installed packages: peak MB ${met(million.peakMb, 1000)}, a question p95 ms ${met(asked(million).p95, 50)}`,
      ],
      figures: {
        ms_per_mb: round(ms / (bytes / MIB), 1),
        cpu_ms_per_mb: round(cpu / (bytes / MIB), 1),
        together_ms_per_mb: round(msPerMb(all), 1),
        chunks: all.chunks,
        asked_chunks: asking.chunks,
        asked_p50_ms: asked(asking).p50,
        asked_p95_ms: asked(asking).p95,
        query_p50_ms: asked(all).p50,
        query_p95_ms: asked(all).p95,
        edit_median_ms: round(median(all.editMs), 1),
        edit_missed: all.missed,
        peak_mb: round(all.peakMb, 0),
        million_lines: lines.count,
        million_ms_per_mb: round(msPerMb(million), 1),
        million_peak_mb: round(million.peakMb, 0),
        million_query_p95_ms: asked(million).p95,
      },
    };
  },
};
