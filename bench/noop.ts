import { type LaneResult, lanesFigures, lanesTable, laneVerdict, runLanes } from "./lib/lanes.ts";
import { pinTogether } from "./lib/pin.ts";
import type { Benchmark } from "./lib/report.ts";
import { bare, llmc, startServer } from "./lib/server-process.ts";
import { addNoopModule, createWorkspace } from "./lib/workspace.ts";

const TARGET = 1.5;

export const noop: Benchmark = {
  name: "noop",
  summary: "latency of one tool call that does nothing, over stdio, against a bare SDK server",
  run: async ({ program, quick }) => {
    await using workspace = await createWorkspace();
    const ours = llmc(program, workspace.path, ...(await addNoopModule(workspace)));
    const sides = [
      { name: "bare noop", tool: "noop", server: startServer(bare()) },
      { name: "llmc custom noop", tool: "noop", server: startServer(ours) },
      { name: "llmc health", tool: "health", server: startServer(ours) },
    ];
    const lanes = sides.map(({ name, tool, server }) => ({
      name,
      once: () => server.call(tool),
      cpuMs: server.cpuMs,
    }));
    // Thousands: the optimising compiler takes that long to settle, on both sides.
    const warmUp = quick ? 500 : 8000;
    const plan = { rounds: quick ? 6 : 60, batch: 200 };
    const passes = new Map<string, readonly LaneResult[]>();
    try {
      await Promise.all(sides.map(({ server }) => server.handshake()));
      passes.set("free", await runLanes(lanes, { ...plan, warmUp }));
      const unpin = pinTogether(sides.map(({ server }) => server.pid));
      if (unpin !== undefined) {
        passes.set("one_core", await runLanes(lanes, { ...plan, warmUp: 100 }));
        unpin();
      }
      return {
        tables: [...passes].map(([pass, results]) => lanesTable(results, `${pass}: call`, 3)),
        notes: [...passes].flatMap(([pass, results]) =>
          results.slice(1).map((result) => `${pass}: ${laneVerdict(result, TARGET)}`),
        ),
        figures: {
          target: TARGET,
          ...Object.fromEntries([...passes].map(([pass, results]) => [pass, lanesFigures(results)])),
        },
      };
    } finally {
      await Promise.all(sides.map(({ server }) => server.close()));
    }
  },
};
