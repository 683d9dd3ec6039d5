import { setTimeout as sleep } from "node:timers/promises";
import { HEADERS, type LoadResult, load, loadPaced, tool } from "./lib/http-load.ts";
import { type HttpServer, LIFTED, startBareHttp, startLlmcHttp } from "./lib/http-server.ts";
import type { Benchmark, Report } from "./lib/report.ts";
import { residentMb } from "./lib/resident.ts";
import { mean, median, round } from "./lib/stats.ts";
import { addNoopModule, createWorkspace } from "./lib/workspace.ts";

const TARGETS = { healthP95Ms: 15, readP95Ms: 150, throughput: 0.6, burst: [20, 22], memory: 0.1 } as const;

const verdict = (met: boolean): string => (met ? "met" : "MISSED");

const ask = async ({ url }: HttpServer, name: string, args: object = {}): Promise<number> => {
  const { path, body } = tool(name, args);
  const response = await fetch(`${url}${path}`, {
    method: "POST",
    headers: HEADERS,
    body: JSON.stringify(body),
  });
  await response.arrayBuffer();
  return response.status;
};

/** Ten requests a second, evenly, and then 40 at once. */
const withDefaults = async (program: string, root: string, seconds: number): Promise<Report> => {
  const server = await startLlmcHttp(program, root);
  try {
    const steady: Promise<number>[] = [];
    for (let i = 0; i < seconds * 10; i++) {
      steady.push(ask(server, "read_file", { path: "src/a.ts" }));
      await sleep(100);
    }
    const failed = (await Promise.all(steady)).filter((status) => status !== 200).length;
    await sleep(3000);
    const burst = await Promise.all(
      Array.from({ length: 40 }, () => ask(server, "read_file", { path: "src/a.ts" })),
    );
    const ok = burst.filter((status) => status === 200).length;
    const refused = burst.filter((status) => status === 429).length;
    const [least, highest] = TARGETS.burst;
    return {
      tables: [],
      notes: [
        `default limits: ${steady.length} requests in ${seconds} s at 10 r/s, ${failed} failed: ${verdict(failed === 0)}`,
        `a burst of 40: ${ok} succeeded, ${refused} were told to wait; target ${least} to ${highest}: ${verdict(ok >= least && ok <= highest && ok + refused === 40)}`,
      ],
      figures: { steady_requests: steady.length, steady_failed: failed, burst_ok: ok, burst_429: refused },
    };
  } finally {
    await server.close();
  }
};

const row = (name: string, { answered, failed, perSecond, p50Ms, p95Ms, p99Ms }: LoadResult) => [
  name,
  answered,
  failed,
  perSecond.toFixed(0),
  p50Ms.toFixed(2),
  p95Ms.toFixed(2),
  p99Ms.toFixed(2),
];

const figuresOf = ({ answered, failed, perSecond, p50Ms, p95Ms, p99Ms }: LoadResult) => ({
  answered,
  failed,
  per_second: round(perSecond, 0),
  p50_ms: round(p50Ms, 2),
  p95_ms: round(p95Ms, 2),
  p99_ms: round(p99Ms, 2),
});

const latencies = async (server: HttpServer, seconds: number): Promise<Report> => {
  const plan = { connections: 100, rate: 100, seconds };
  const read = tool("read_file", { path: "src/a.ts" });
  await load(server.url, read, { connections: 10, amount: 2000 });
  const health = await loadPaced(server.url, { path: "/health" }, plan);
  const file = await loadPaced(server.url, read, plan);
  const failed = health.failed + file.failed;
  return {
    tables: [
      {
        head: ["100 r/s on 100 connections", "answered", "failed", "r/s", "p50 ms", "p95 ms", "p99 ms"],
        rows: [row("/health", health), row("read_file", file)],
      },
    ],
    notes: [
      `p95 of /health ${health.p95Ms.toFixed(2)} ms, target ${TARGETS.healthP95Ms}: ${verdict(health.p95Ms <= TARGETS.healthP95Ms)}`,
      `p95 of read_file ${file.p95Ms.toFixed(2)} ms, target ${TARGETS.readP95Ms}: ${verdict(file.p95Ms <= TARGETS.readP95Ms)}`,
      `failed: ${failed}: ${verdict(failed === 0)}`,
    ],
    figures: { health: figuresOf(health), read_file: figuresOf(file) },
  };
};

/** Both sides take turns, so that a load that comes and goes strikes both. */
const throughput = async (
  ours: HttpServer,
  bare: HttpServer,
  rounds: number,
  amount: number,
): Promise<Report> => {
  const plan = { connections: 20, amount };
  const noop = tool("noop");
  for (const { url } of [ours, bare]) await load(url, noop, { ...plan, amount: amount * 2 });
  const ratios: number[] = [];
  const sides: { readonly ours: LoadResult[]; readonly bare: LoadResult[] } = { ours: [], bare: [] };
  for (let i = 0; i < rounds; i++) {
    const yardstick = await load(bare.url, noop, plan);
    const measured = await load(ours.url, noop, plan);
    sides.bare.push(yardstick);
    sides.ours.push(measured);
    ratios.push(measured.perSecond / yardstick.perSecond);
  }
  const perSecond = (results: readonly LoadResult[]) => median(results.map((result) => result.perSecond));
  const failed = [...sides.ours, ...sides.bare].reduce((sum, result) => sum + result.failed, 0);
  const ratio = median(ratios);
  return {
    tables: [
      {
        head: ["no-op, 20 connections", "r/s"],
        rows: [
          ["Fastify route", perSecond(sides.bare).toFixed(0)],
          ["llmc /tool", perSecond(sides.ours).toFixed(0)],
        ],
      },
    ],
    notes: [
      `throughput ${(ratio * 100).toFixed(0)} % of the Fastify route's, target ${TARGETS.throughput * 100} %: ${verdict(ratio >= TARGETS.throughput)}; ${failed} failed`,
    ],
    figures: {
      bare_per_second: round(perSecond(sides.bare), 0),
      llmc_per_second: round(perSecond(sides.ours), 0),
      ratio: round(ratio, 3),
      failed,
    },
  };
};

/** Requests that were sent before the signal and got no answer are lost; a refusal is an answer. */
const stopUnderLoad = async (program: string, root: string, args: readonly string[]): Promise<Report> => {
  const server = await startLlmcHttp(program, root, ...LIFTED, ...args);
  const counts = { ok: 0, refused: 0, lost: 0 };
  let signalled = false;
  const loop = async (): Promise<void> => {
    for (;;) {
      const before = !signalled;
      try {
        const status = await ask(server, "read_file", { path: "src/a.ts" });
        if (status === 200) counts.ok++;
        else counts.refused++;
      } catch {
        if (before) counts.lost++;
        return;
      }
    }
  };
  const loops = Promise.all(Array.from({ length: 50 }, loop));
  await sleep(2000);
  signalled = true;
  server.kill("SIGTERM");
  await loops;
  const code = await server.exited;
  return {
    tables: [],
    notes: [
      `SIGTERM under load: ${counts.ok} answered, ${counts.refused} refused after it, ${counts.lost} lost, exit ${code}: ${verdict(counts.lost === 0 && code === 0)}`,
    ],
    figures: { ...counts, exit: code },
  };
};

const memoryOver = async (server: HttpServer, total: number, step: number): Promise<Report> => {
  const samples: number[] = [];
  const targets = [tool("noop"), tool("read_file", { path: "src/a.ts" }), { path: "/health" }];
  for (let done = 0; done < total; done += step) {
    const target = targets[(done / step) % targets.length] ?? { path: "/health" };
    await load(server.url, target, { connections: 20, amount: step });
    samples.push(await residentMb(server.pid));
  }
  const quarter = Math.max(1, Math.floor(samples.length / 4));
  const second = mean(samples.slice(quarter, 2 * quarter));
  const last = mean(samples.slice(-quarter));
  const growth = last / second - 1;
  return {
    tables: [],
    notes: [
      `memory over ${total} requests: second quarter ${second.toFixed(1)} MB, last ${last.toFixed(1)} MB (${(growth * 100).toFixed(1)} %), flat within ${TARGETS.memory * 100} %: ${verdict(growth <= TARGETS.memory)}`,
    ],
    figures: {
      requests: total,
      second_quarter_mb: round(second, 1),
      last_quarter_mb: round(last, 1),
      growth: round(growth, 4),
    },
  };
};

export const http: Benchmark = {
  name: "http",
  summary:
    "the HTTP door: default limits, latency and throughput with limits lifted, SIGTERM under load, memory (Linux)",
  run: async ({ program, quick }) => {
    await using workspace = await createWorkspace();
    const parts: Record<string, Report> = {};
    parts["defaults"] = await withDefaults(program, workspace.path, quick ? 5 : 60);
    const modules = await addNoopModule(workspace);
    const ours = await startLlmcHttp(program, workspace.path, ...LIFTED, ...modules);
    const bare = await startBareHttp();
    try {
      parts["latency"] = await latencies(ours, quick ? 5 : 30);
      parts["throughput"] = await throughput(ours, bare, quick ? 3 : 15, quick ? 2000 : 10_000);
      await bare.close();
      parts["memory"] = await memoryOver(ours, quick ? 10_000 : 200_000, quick ? 500 : 5000);
    } finally {
      await Promise.all([ours.close(), bare.close()]);
    }
    parts["stop"] = await stopUnderLoad(program, workspace.path, modules);
    return {
      tables: Object.values(parts).flatMap(({ tables }) => tables),
      notes: Object.values(parts).flatMap(({ notes }) => notes),
      figures: Object.fromEntries(Object.entries(parts).map(([name, { figures }]) => [name, figures])),
    };
  },
};
