import { lanesFigures, lanesTable, runLanes } from "./lib/lanes.ts";
import type { Benchmark } from "./lib/report.ts";
import { residentMb } from "./lib/resident.ts";
import { partsOf } from "./lib/server-parts.ts";
import {
  bare,
  llmc,
  type ServerProcess,
  serveAWhile,
  startServer,
  timeToFirstList,
} from "./lib/server-process.ts";
import { round } from "./lib/stats.ts";
import { createWorkspace } from "./lib/workspace.ts";

const MAX_ADDED_MS = 1;
const MAX_FRONT_MB = 90;
const MAX_ADDED_MB = 130;
const MAX_START_RATIO = 1.2;

/** The forms of the server that are compared. */
const FORMS = {
  "one process": ["--set", "mcp.subprocess=false"],
  "front and core, no sandbox": ["--set", "mcp.subprocess=true", "--set", "mcp.sandbox_enabled=false"],
  "front and core": ["--set", "mcp.subprocess=true"],
} as const;

const measureMemory = async (server: ServerProcess, calls: number) => {
  for (let i = 0; i < calls; i++) await server.call("stat", { path: "README.md" });
  const parts = [...partsOf(server.pid)];
  const resident = await Promise.all(
    parts.map(async ([name, pid]) => [name, await residentMb(pid)] as const),
  );
  return { resident, total: resident.reduce((sum, [, mb]) => sum + mb, 0) };
};

export const front: Benchmark = {
  name: "front",
  summary:
    "front and core as processes of their own against one process: start, latency of stat, memory (Linux)",
  run: async ({ program, quick }) => {
    await using workspace = await createWorkspace();
    const launches = Object.entries(FORMS).map(
      ([name, flags]) => [name, llmc(program, workspace.path, "--mode", "classic", ...flags)] as const,
    );
    await Promise.all(launches.map(([, launch]) => serveAWhile(launch)));
    const starts = await runLanes(
      [
        { name: "bare", once: () => timeToFirstList(bare()) },
        ...launches.map(([name, launch]) => ({ name, once: () => timeToFirstList(launch) })),
      ],
      { warmUp: 4, rounds: quick ? 9 : 31, batch: 1 },
    );
    const servers = launches.map(([name, launch]) => ({ name, server: startServer(launch) }));
    try {
      await Promise.all(servers.map(({ server }) => server.handshake()));
      const calls = await runLanes(
        servers.map(({ name, server }) => ({ name, once: () => server.call("stat", { path: "README.md" }) })),
        { warmUp: quick ? 300 : 3000, rounds: quick ? 10 : 40, batch: 50 },
      );
      const memory = [];
      for (const { name, server } of servers)
        memory.push({ name, ...(await measureMemory(server, quick ? 2000 : 5000)) });
      const [one, , three] = calls;
      const [oneMb, , threeMb] = memory;
      const frontMb = threeMb?.resident.find(([name]) => name === "front")?.[1] ?? Number.NaN;
      const addedMs = (three?.p50 ?? 0) - (one?.p50 ?? 0);
      const addedMb = (threeMb?.total ?? 0) - (oneMb?.total ?? 0);
      const [bareStart, oneStart, , threeStart] = starts;
      const ratio = (threeStart?.quiet ?? 0) / (bareStart?.quiet ?? 1);
      const verdict = (isMet: boolean): string => (isMet ? "met" : "MISSED");
      return {
        tables: [
          lanesTable(starts, "start to the first tool list", 0),
          lanesTable(calls, "stat", 3),
          {
            head: ["form", "resident MB", "together"],
            rows: memory.map(({ name, resident, total }) => [
              name,
              resident.map(([part, mb]) => `${part} ${mb.toFixed(0)}`).join(", "),
              total.toFixed(0),
            ]),
          },
        ],
        notes: [
          `stat: ${addedMs.toFixed(3)} ms more at p50, at most ${MAX_ADDED_MS}: ${verdict(addedMs <= MAX_ADDED_MS)}`,
          `start: ${threeStart?.p50.toFixed(0)} ms, one process ${oneStart?.p50.toFixed(0)} (quiet ${threeStart?.quiet.toFixed(0)} and ${oneStart?.quiet.toFixed(0)}): ${verdict((threeStart?.quiet ?? 0) <= (oneStart?.quiet ?? 0))}; ${ratio.toFixed(2)} of a bare server, at most ${MAX_START_RATIO}: ${verdict(ratio <= MAX_START_RATIO)}`,
          `the front: ${frontMb.toFixed(0)} MB, at most ${MAX_FRONT_MB}: ${verdict(frontMb <= MAX_FRONT_MB)}; together ${addedMb.toFixed(0)} MB more than one process, at most ${MAX_ADDED_MB}: ${verdict(addedMb <= MAX_ADDED_MB)}`,
        ],
        figures: {
          starts: lanesFigures(starts),
          calls: lanesFigures(calls),
          memory_mb: Object.fromEntries(memory.map(({ name, total }) => [name, round(total, 0)])),
          front_mb: round(frontMb, 0),
        },
      };
    } finally {
      await Promise.all(servers.map(({ server }) => server.close()));
    }
  },
};
