import { lanesFigures, lanesTable, runLanes } from "./lib/lanes.ts";
import { type Benchmark, verdict } from "./lib/report.ts";
import { bare, llmc, startServer } from "./lib/server-process.ts";
import { addNoopModule, createWorkspace } from "./lib/workspace.ts";

const TARGET = 1.5;

export const noop: Benchmark = {
  name: "noop",
  says: "latency of one tool call that does nothing, over stdio, against a bare SDK server",
  run: async ({ program, quick }) => {
    await using workspace = await createWorkspace();
    const reference = startServer(bare());
    const ours = startServer(llmc(program, workspace.path, ...(await addNoopModule(workspace))));
    try {
      await Promise.all([reference.handshake(), ours.handshake()]);
      const results = await runLanes(
        [
          { name: "bare noop", once: () => reference.call("noop") },
          { name: "llmc custom noop", once: () => ours.call("noop") },
          { name: "llmc health", once: () => ours.call("health") },
        ],
        { warmUp: quick ? 500 : 3000, rounds: quick ? 6 : 60, batch: 200 },
      );
      return {
        tables: [lanesTable(results, "call", 3)],
        notes: results
          .slice(1)
          .map(({ name, paired }) => verdict(`${name} / bare noop, p50, paired`, paired, TARGET)),
        figures: { target: TARGET, lanes: lanesFigures(results) },
      };
    } finally {
      await Promise.all([reference.close(), ours.close()]);
    }
  },
};
