import { setTimeout as sleep } from "node:timers/promises";
import { type LoadResult, load, loadPaced, tool } from "./lib/http-load.ts";
import { type HttpServer, LIFTED, startLlmcHttp } from "./lib/http-server.ts";
import { lanesFigures, lanesTable, runLanes } from "./lib/lanes.ts";
import type { Benchmark } from "./lib/report.ts";
import { residentMb } from "./lib/resident.ts";
import { partsOf } from "./lib/server-parts.ts";
import { median, round } from "./lib/stats.ts";
import { addNoopModule, createWorkspace } from "./lib/workspace.ts";

const MAX_ADDED_MS = 5;
const MAX_FRONT_MB = 90;

/** The forms of the server that are compared. */
const FORMS = {
  "one process": ["--set", "mcp.subprocess=false"],
  "behind a front": [],
} as const;

const READ = tool("read_file", { path: "src/a.ts" });
const HEALTH = { path: "/health" };

/** When the code of a front is compiled for the next start, and some more. */
const WARM_MS = 6000;

interface Side {
  readonly name: string;
  readonly server: HttpServer;
  readonly health: LoadResult[];
  readonly read: LoadResult[];
  readonly perSecond: number[];
}

const timeToFirstAnswer = async (start: () => Promise<HttpServer>): Promise<number> => {
  const since = performance.now();
  const server = await start();
  await (await fetch(`${server.url}/health`)).arrayBuffer();
  const elapsed = performance.now() - since;
  server.kill("SIGTERM");
  await server.exited;
  return elapsed;
};

/** All take turns, so that a load that comes and goes strikes each of them. */
const measureLoad = async (
  sides: readonly Side[],
  rounds: number,
  seconds: number,
  amount: number,
): Promise<void> => {
  const paced = { connections: 100, rate: 100, seconds };
  for (const { server } of sides)
    for (const target of [READ, tool("noop")])
      await load(server.url, target, { connections: 10, amount: 2000 });
  for (let i = 0; i < rounds; i++)
    for (const { server, health, read, perSecond } of sides) {
      health.push(await loadPaced(server.url, HEALTH, paced));
      read.push(await loadPaced(server.url, READ, paced));
      perSecond.push((await load(server.url, tool("noop"), { connections: 20, amount })).perSecond);
    }
};

const middle = (results: readonly LoadResult[], of: (result: LoadResult) => number): number =>
  median(results.map(of));

const memoryOf = async ({ server }: Side) => {
  const parts = [...partsOf(server.pid)];
  const resident = await Promise.all(
    parts.map(async ([name, pid]) => [name, await residentMb(pid)] as const),
  );
  return { resident, total: resident.reduce((sum, [, mb]) => sum + mb, 0) };
};

const figuresOf = ({ health, read, perSecond }: Side) => ({
  health_p50_ms: round(
    middle(health, ({ p50Ms }) => p50Ms),
    2,
  ),
  health_p95_ms: round(
    middle(health, ({ p95Ms }) => p95Ms),
    2,
  ),
  read_p50_ms: round(
    middle(read, ({ p50Ms }) => p50Ms),
    2,
  ),
  read_p95_ms: round(
    middle(read, ({ p95Ms }) => p95Ms),
    2,
  ),
  per_second: round(median(perSecond), 0),
  failed: [...health, ...read].reduce((sum, { failed }) => sum + failed, 0),
});

export const httpFront: Benchmark = {
  name: "http-front",
  summary:
    "the HTTP door behind a confined front against one process: latency at 100 r/s, throughput, memory, start (Linux)",
  run: async ({ program, quick }) => {
    await using workspace = await createWorkspace();
    const modules = await addNoopModule(workspace);
    const forms = Object.entries(FORMS).map(([name, flags]) => ({
      name,
      start: () => startLlmcHttp(program, workspace.path, ...LIFTED, ...modules, ...flags),
    }));
    const sides = await Promise.all(
      forms.map(
        async ({ name, start }): Promise<Side> => ({
          name,
          server: await start(),
          health: [],
          read: [],
          perSecond: [],
        }),
      ),
    );
    try {
      await sleep(WARM_MS);
      await measureLoad(sides, quick ? 3 : 9, quick ? 4 : 10, quick ? 2000 : 5000);
      const memory = await Promise.all(sides.map(memoryOf));
      const starts = await runLanes(
        forms.map(({ name, start }) => ({ name, once: () => timeToFirstAnswer(start) })),
        { warmUp: 2, rounds: quick ? 5 : 15, batch: 1 },
      );
      const figures = sides.map(figuresOf);
      const [one, two] = figures;
      const frontMb = memory[1]?.resident.find(([name]) => name === "front")?.[1] ?? Number.NaN;
      const addedMs = Math.max(
        (two?.health_p95_ms ?? 0) - (one?.health_p95_ms ?? 0),
        (two?.read_p95_ms ?? 0) - (one?.read_p95_ms ?? 0),
      );
      const verdict = (isMet: boolean): string => (isMet ? "met" : "MISSED");
      return {
        tables: [
          {
            head: [
              "100 r/s, ms",
              "/health p50",
              "p95",
              "read_file p50",
              "p95",
              "failed",
              "no-op r/s at most",
            ],
            rows: figures.map((figure, i) => [
              sides[i]?.name ?? "",
              figure.health_p50_ms,
              figure.health_p95_ms,
              figure.read_p50_ms,
              figure.read_p95_ms,
              figure.failed,
              figure.per_second,
            ]),
          },
          lanesTable(starts, "start to the first answer", 0),
          {
            head: ["form", "resident MB", "together"],
            rows: memory.map(({ resident, total }, i) => [
              sides[i]?.name ?? "",
              resident.map(([part, mb]) => `${part} ${mb.toFixed(0)}`).join(", "),
              total.toFixed(0),
            ]),
          },
        ],
        notes: [
          `100 r/s: at most ${addedMs.toFixed(2)} ms more at p95, at most ${MAX_ADDED_MS}: ${verdict(addedMs <= MAX_ADDED_MS)}`,
          `the front: ${frontMb.toFixed(0)} MB, at most ${MAX_FRONT_MB}: ${verdict(frontMb <= MAX_FRONT_MB)}`,
        ],
        figures: {
          ...Object.fromEntries(figures.map((figure, i) => [sides[i]?.name ?? "", figure])),
          starts: lanesFigures(starts),
          memory_mb: Object.fromEntries(
            memory.map(({ total }, i) => [sides[i]?.name ?? "", round(total, 0)]),
          ),
          front_mb: round(frontMb, 0),
        },
      };
    } finally {
      await Promise.all(sides.map(({ server }) => server.close()));
    }
  },
};
