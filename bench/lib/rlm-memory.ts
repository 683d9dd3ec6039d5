import { spawn } from "node:child_process";
import { createReadStream } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { residentMb } from "./resident.ts";
import { type RlmStand, withRlmStand } from "./rlm-stand.ts";
import { cleanEnvironment } from "./server-process.ts";
import { round } from "./stats.ts";

const MIB = 1024 * 1024;
/** The default of mcp.rlm.max_bytes_limit. */
const MAX_BYTES = 104_857_600;

const treeMb = async (pid: number): Promise<number> => {
  const parents = new Map<number, number>();
  for (const name of (await readdir("/proc")).filter((one) => /^\d+$/.test(one))) {
    const stat = await readFile(`/proc/${name}/stat`, "utf8").catch(() => "");
    parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]));
  }
  const isBelow = (one: number): boolean =>
    one === pid || (parents.has(one) && isBelow(parents.get(one) ?? 0));
  let sum = 0;
  for (const one of parents.keys()) if (isBelow(one)) sum += (await residentMb(one).catch(() => 0)) || 0;
  return sum;
};

/** One byte a character in every memory; two; and one in the file but two in memory, which no text exceeds. */
const TEXTS = {
  ASCII: "a line of a large text with a number 12345\n",
  Cyrillic:
    "\u0441\u0442\u0440\u043e\u043a\u0430 \u0434\u043b\u0438\u043d\u043d\u043e\u0433\u043e \u0442\u0435\u043a\u0441\u0442\u0430 12345\n",
  "ASCII with dashes": "a line of a large text \u2013 with a number 12345\n",
} as const;
type TextKind = keyof typeof TEXTS;

interface MemoryCase {
  readonly text: TextKind;
  readonly way: "path" | "--file" | "stdin";
}

const MEMORY_CASES: readonly MemoryCase[] = [
  { text: "ASCII", way: "path" },
  { text: "Cyrillic", way: "path" },
  { text: "ASCII with dashes", way: "path" },
  { text: "ASCII", way: "--file" },
  { text: "ASCII with dashes", way: "--file" },
  { text: "ASCII", way: "stdin" },
  { text: "ASCII with dashes", way: "stdin" },
];

/** The most that a tree of processes has resident while something runs. */
const peakWhile = async (pid: number, work: Promise<unknown>): Promise<number> => {
  let peak = await treeMb(pid);
  let isRunning = true;
  const watch = (async () => {
    while (isRunning) {
      peak = Math.max(peak, await treeMb(pid));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  })();
  await work.finally(() => {
    isRunning = false;
  });
  await watch;
  return peak;
};

/** One analysis by the command line, as a process of its own. */
const commandPeak = async ({ program, root, settings }: RlmStand, file: string, fromStdin: boolean) => {
  const source = fromStdin ? ["--context", "-"] : ["--file", file, "--max-bytes", String(MAX_BYTES)];
  const child = spawn(
    program,
    ["rlm", "query", "t", ...source, "--root", root, "--config", settings, "--json"],
    {
      env: { ...cleanEnvironment(), LLMC_NODE: process.execPath },
      cwd: root,
      stdio: ["pipe", "pipe", "inherit"],
    },
  );
  if (fromStdin) createReadStream(join(root, file)).pipe(child.stdin);
  else child.stdin.end();
  const ended = text(child.stdout).then((out) => {
    const { data } = JSON.parse(out) as { readonly data?: { readonly answer: string } };
    if (data === undefined) throw new Error(out);
  });
  return peakWhile(child.pid ?? 0, ended);
};

/** What all processes take while a context of 100 MB is analysed, above what they take with a small one. */
const memoryOf = async (stand: RlmStand, { text: kind, way }: MemoryCase, megabytes: number) => {
  const { play, query, root, server } = stand;
  const line = TEXTS[kind];
  await writeFile(join(root, "small.txt"), line);
  await writeFile(join(root, "large.txt"), line.repeat((megabytes * MIB) / Buffer.byteLength(line)));
  play({ program: () => "finish(String(context.length))", answer: () => "" });
  const startedAt = performance.now();
  let [before, peak] = [0, 0];
  if (way === "path") {
    await query({ task: "t", path: "small.txt" });
    before = await peakWhile(server.pid, query({ task: "t", path: "small.txt" }));
    peak = await peakWhile(server.pid, query({ task: "t", path: "large.txt", max_bytes: MAX_BYTES }));
  } else {
    before = await commandPeak(stand, "small.txt", way === "stdin");
    peak = await commandPeak(stand, "large.txt", way === "stdin");
  }
  return {
    text: kind,
    way,
    megabytes,
    seconds: round((performance.now() - startedAt) / 1000, 1),
    peakMb: round(peak - before, 0),
    times: round((peak - before) / megabytes, 2),
  };
};

/** Every case with a server of its own, whose memory no other case has touched. */
export const measureMemory = async (program: string, megabytes: number) => {
  const measured: Awaited<ReturnType<typeof memoryOf>>[] = [];
  for (const one of MEMORY_CASES)
    measured.push(await withRlmStand(program, (stand) => memoryOf(stand, one, megabytes)));
  return measured;
};
