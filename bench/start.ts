import { join } from "node:path";
import { lanesFigures, lanesTable, runLanes } from "./lib/lanes.ts";
import { type Benchmark, verdict } from "./lib/report.ts";
import { bare, llmc, timeToFirstList } from "./lib/server-process.ts";
import { createWorkspace } from "./lib/workspace.ts";

const TARGET = 1.5;

export const start: Benchmark = {
  name: "start",
  says: "milliseconds from spawn to the first tools/list answer, against a bare SDK server",
  run: async ({ program, quick }) => {
    await using workspace = await createWorkspace();
    const cached = { NODE_COMPILE_CACHE: join(workspace.path, "compile-cache") };
    const results = await runLanes(
      [
        { name: "bare", once: () => timeToFirstList(bare()) },
        { name: "bare, compile cache", once: () => timeToFirstList(bare(cached)) },
        { name: "llmc", once: () => timeToFirstList(llmc(program, workspace.path)) },
      ],
      { warmUp: 3, rounds: quick ? 5 : 31, batch: 1 },
    );
    const [, withCache, ours] = results;
    if (withCache === undefined || ours === undefined) throw new Error("a lane is missing");
    return {
      tables: [lanesTable(results, "server", 1)],
      notes: [
        verdict("llmc / bare, paired", ours.paired, TARGET),
        `llmc / bare with a compile cache, medians: ${(ours.p50 / withCache.p50).toFixed(2)} (llmc keeps a cache of its own; most servers have none)`,
      ],
      figures: { target: TARGET, lanes: lanesFigures(results) },
    };
  },
};
