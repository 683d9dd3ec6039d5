import { closeSync, openSync, writeSync } from "node:fs";
import { mkdir, statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Benchmark } from "./lib/report.ts";
import { peakMb, resetPeak, residentMb } from "./lib/resident.ts";
import { partsOf, sumOverParts } from "./lib/server-parts.ts";
import { llmc, type ServerProcess, startServer, type ToolArguments } from "./lib/server-process.ts";
import { round } from "./lib/stats.ts";
import { createWorkspace } from "./lib/workspace.ts";

interface Step {
  readonly name: string;
  readonly tool: string;
  readonly args: ToolArguments;
  /** Whether the answer is the right one: a fast refusal would look like thrift. */
  readonly isRight: (text: string) => boolean;
}

interface Taken {
  readonly name: string;
  readonly ms: number;
  readonly growthMb: number;
  readonly outcome: string;
}

const TARGET_MB = 100;
const FILES = 100;
const LINE_BYTES = 128;
const BLOCK_LINES = 8192;
const BLOCK_BYTES = LINE_BYTES * BLOCK_LINES;
const SLICE = 200;
const HUGE = "huge.txt";
const HITS = "hits";
/** Of the kinds of calls that are measured, on small files: what they load and compile once is no growth. */
const WARM_UP = 100;

const label = (block: number): string => `block ${String(block).padStart(7, "0")} `;

const writeHits = async (folder: string, total: number): Promise<void> => {
  const text = `${Array.from({ length: total / FILES }, (_, i) => `line ${i} has a needle in it`).join("\n")}\n`;
  await mkdir(folder);
  for (let i = 0; i < FILES; i++) await writeFile(join(folder, `${String(i).padStart(3, "0")}.txt`), text);
};

/** Real lines: a hole would read as NUL bytes, and such a file is not text. Each block begins with its number. */
const writeHuge = (path: string, blocks: number): void => {
  const line = `${"the quick brown fox jumps over the lazy dog; ".repeat(3).slice(0, LINE_BYTES - 1)}\n`;
  const block = Buffer.from(line.repeat(BLOCK_LINES));
  const file = openSync(path, "wx");
  for (let i = 0; i < blocks; i++) {
    block.write(label(i));
    writeSync(file, block);
  }
  closeSync(file);
};

const take = async (server: ServerProcess, { name, tool, args, isRight }: Step): Promise<Taken> => {
  const before = await sumOverParts(server.pid, residentMb);
  for (const pid of partsOf(server.pid).values()) await resetPeak(pid);
  const startedAt = performance.now();
  let outcome: string;
  try {
    const { text } = await server.ask(tool, args);
    outcome = isRight(text) ? "right" : `WRONG: ${text.slice(-120)}`;
  } catch (error) {
    outcome = `FAILED: ${error instanceof Error ? error.message : String(error)}`;
  }
  const ms = performance.now() - startedAt;
  return { name, ms, growthMb: (await sumOverParts(server.pid, peakMb)) - before, outcome };
};

const warmUp = async (server: ServerProcess): Promise<void> => {
  for (let i = 0; i < WARM_UP; i++) {
    await server.call("read_file", { path: "src/a.ts", offset: 20, limit: SLICE });
    await server.call("linux_fs_read", { path: "src/a.ts", max_lines: 20 });
    await server.call("linux_fs_read", { path: "src/b.ts", tail_lines: 20 });
    await server.call("linux_search_content", { root: "src", pattern: "value", max_results: 20 });
  }
};

const steps = (hits: number, blocks: number): readonly Step[] => {
  const middle = Math.floor(blocks / 2);
  const shows = (block: number) => (text: string) => text.startsWith(label(block));
  const endsWithLast = (text: string): boolean => text.includes("lazy dog") && !text.startsWith("block");
  const slice = { path: HUGE, max_lines: SLICE };
  return [
    {
      name: `search with ${hits} hits`,
      tool: "linux_search_content",
      args: { root: HITS, pattern: "needle" },
      isRight: (text) => text.includes(`of ${hits} hits`),
    },
    { name: "linux_fs_read, start", tool: "linux_fs_read", args: slice, isRight: shows(0) },
    {
      name: "linux_fs_read, middle",
      tool: "linux_fs_read",
      args: { ...slice, offset_lines: middle * BLOCK_LINES },
      isRight: shows(middle),
    },
    {
      name: "linux_fs_read, tail",
      tool: "linux_fs_read",
      args: { path: HUGE, tail_lines: SLICE },
      isRight: endsWithLast,
    },
    {
      name: "read_file, start",
      tool: "read_file",
      args: { path: HUGE, limit: SLICE },
      isRight: shows(0),
    },
    {
      name: "read_file, middle",
      tool: "read_file",
      args: { path: HUGE, offset: middle * BLOCK_LINES, limit: SLICE },
      isRight: shows(middle),
    },
    {
      name: "read_file, last block",
      tool: "read_file",
      args: { path: HUGE, offset: (blocks - 1) * BLOCK_LINES, limit: SLICE },
      isRight: shows(blocks - 1),
    },
  ];
};

export const flood: Benchmark = {
  name: "flood",
  summary:
    "memory and time of a search with a million hits, and of slices of a 5 GB file (Linux; 6 GB of disk)",
  run: async ({ program, quick }) => {
    const [hits, bytes] = quick ? [100_000, 2 ** 28] : [1_000_000, 5e9];
    const blocks = Math.ceil(bytes / BLOCK_BYTES);
    await using workspace = await createWorkspace();
    const { bavail, bsize } = await statfs(workspace.path);
    if (bavail * bsize < bytes * 1.2) {
      const why = `SKIPPED: ${workspace.path} has no room for a file of ${bytes} bytes`;
      return { tables: [], notes: [why], figures: { skipped: why } };
    }
    await writeHits(join(workspace.path, HITS), hits);
    writeHuge(join(workspace.path, HUGE), blocks);

    const server = startServer(llmc(program, workspace.path, "--mode", "classic"));
    try {
      await server.handshake();
      await warmUp(server);
      const before = await sumOverParts(server.pid, residentMb);
      const taken: Taken[] = [];
      for (const step of steps(hits, blocks)) taken.push(await take(server, step));
      const after = await sumOverParts(server.pid, residentMb);
      const largest = Math.max(...taken.map(({ growthMb }) => growthMb), after - before);
      return {
        tables: [
          {
            head: ["step", "ms", "growth MB (peak)", "answer"],
            rows: taken.map(({ name, ms, growthMb, outcome }) => [
              name,
              ms.toFixed(0),
              growthMb.toFixed(1),
              outcome,
            ]),
          },
        ],
        notes: [
          `resident before ${before.toFixed(1)} MB, after ${after.toFixed(1)} MB; most growth ${largest.toFixed(1)} MB, target < ${TARGET_MB}: ${largest < TARGET_MB ? "met" : "MISSED"}`,
          "peak: the most that was resident during the step, as the kernel saw it, of each process of the server, added up; ripgrep, which ends with its search, is not counted",
        ],
        figures: {
          target_mb: TARGET_MB,
          before_mb: round(before, 1),
          after_mb: round(after, 1),
          most_growth_mb: round(largest, 1),
          steps: Object.fromEntries(
            taken.map(({ name, ms, growthMb, outcome }) => [
              name,
              { ms: round(ms, 1), growth_mb: round(growthMb, 1), outcome },
            ]),
          ),
        },
      };
    } finally {
      await server.close();
    }
  },
};
