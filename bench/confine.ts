import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startConfined } from "../src/host/confine/start-confined.ts";
import type { ConfinementOptions } from "../src/host/confine/start-process.ts";
import { type Lane, lanesFigures, lanesTable, runLanes } from "./lib/lanes.ts";
import type { Benchmark } from "./lib/report.ts";
import { createWorkspace } from "./lib/workspace.ts";

/** The part of bubblewrap is about half of it. */
const TARGET_MS = 20;
const LIMITS = { memoryMb: 512, cpuShare: 0.5 };

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
};

/** Node with its permissions on, unconfined: from the start to its end. */
const bare = async (program: string): Promise<void> => {
  await once(spawn(process.execPath, ["--permission", program], { stdio: "ignore" }), "exit");
};

const confined = async (program: string, options: ConfinementOptions): Promise<void> => {
  const stdio: ["ignore", "ignore", "ignore"] = ["ignore", "ignore", "ignore"];
  await (await startConfined({ program, stdio, limits: LIMITS }, options)).gone;
};

export const confine: Benchmark = {
  name: "confine",
  summary:
    "milliseconds of a Node program that ends at once, confined in each tier, against the same unconfined",
  run: async ({ quick }) => {
    await using workspace = await createWorkspace();
    const program = join(workspace.path, "ends.mjs");
    await writeFile(program, "");
    const lane = (name: string, options: ConfinementOptions): Lane => ({
      name,
      once: () => timed(() => confined(program, options)),
    });
    const lanes: readonly Lane[] = [
      { name: "unconfined", once: () => timed(() => bare(program)) },
      lane("bubblewrap", { tiers: ["bubblewrap"] }),
      lane("bubblewrap, no control groups", { tiers: ["bubblewrap"], usesGroups: false }),
      lane("landlock", { tiers: ["landlock"] }),
      lane("landlock, no control groups", { tiers: ["landlock"], usesGroups: false }),
    ];
    const results = await runLanes(lanes, { warmUp: 3, rounds: quick ? 5 : 40, batch: 2 });
    const [base, ...others] = results;
    const notes = others.map(({ name, p50, quiet }) => {
      const [added, quietly] = [p50 - (base?.p50 ?? 0), quiet - (base?.quiet ?? 0)];
      const verdict = added <= TARGET_MS ? "met" : "MISSED";
      return `${name}: ${added.toFixed(1)} ms above unconfined, ${quietly.toFixed(1)} ms on a quiet machine (target ${TARGET_MS} ms: ${verdict})`;
    });
    return {
      tables: [lanesTable(results, "way", 1)],
      notes,
      figures: { target_ms: TARGET_MS, lanes: lanesFigures(results) },
    };
  },
};
