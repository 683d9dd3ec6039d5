import { join } from "node:path";
import { lanesFigures, lanesTable, laneVerdict, runLanes } from "./lib/lanes.ts";
import type { Benchmark } from "./lib/report.ts";
import { bare, llmc, serveAWhile, timeToFirstList } from "./lib/server-process.ts";
import { createWorkspace } from "./lib/workspace.ts";

const TARGET = 1.5;

export const start: Benchmark = {
  name: "start",
  summary: "milliseconds from spawn to the first tools/list answer, against a bare SDK server",
  run: async ({ program, quick }) => {
    await using workspace = await createWorkspace();
    const cached = { NODE_COMPILE_CACHE: join(workspace.path, "compile-cache") };
    await serveAWhile(llmc(program, workspace.path));
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
        laneVerdict(ours, TARGET),
        `against the bare server with a compile cache: ${(ours.p50 / withCache.p50).toFixed(2)} (quiet ${(ours.quiet / withCache.quiet).toFixed(2)}); llmc keeps such a cache by itself, most servers have none`,
      ],
      figures: { target: TARGET, lanes: lanesFigures(results) },
    };
  },
};
