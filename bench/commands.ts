import { spawn } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createReach } from "../src/host/reach/reach.ts";
import { createCommandGate } from "../src/host/run/commands.ts";
import { createCommandRunner } from "../src/host/run/runner.ts";
import { createScans } from "../src/host/run/scan/workspace-scan.ts";
import type { Tier } from "../src/host/run/tiers/contract.ts";
import { createManagedWriters } from "../src/host/run/write-locks/managed-writers.ts";
import { createWriteLocks } from "../src/host/run/write-locks/write-locks.ts";
import { type Lane, type LaneResult, lanesFigures, lanesTable, runLanes } from "./lib/lanes.ts";
import type { Benchmark } from "./lib/report.ts";
import { llmc, startServer } from "./lib/server-process.ts";
import { createWorkspace } from "./lib/workspace.ts";

const TARGET_MS = 15;
const TIERS: readonly Tier[] = ["bubblewrap", "landlock", "plain"];

/** A folder like a small project's, with a secret to hide: what is looked at before every command. */
const furnish = async (root: string): Promise<void> => {
  for (let i = 0; i < 300; i++) {
    const folder = join(root, `src/part-${i % 20}/unit-${i}`);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "file.txt"), "text\n");
  }
  await writeFile(join(root, ".env"), "KEY=value\n");
};

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
};

const bareSpawn = (cwd: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const child = spawn("/bin/ls", ["src"], { cwd, stdio: ["ignore", "pipe", "pipe"] });
    child.stdout.resume();
    child.stderr.resume();
    child.once("error", reject).once("close", () => resolve());
  });

const openTier = async (tier: Tier, workspace: string) => {
  const runner = createCommandRunner({ mode: () => "auto", tiers: [tier] });
  const reach = createReach({
    workspace,
    roots: () => ["."],
    denylist: () => ["**/.env", "**/*.key", "**/*token*"],
  });
  const gate = createCommandGate({
    reach,
    scans: createScans(reach),
    runner,
    writeLocks: createWriteLocks(join(workspace, ".llmc")),
    managed: createManagedWriters(join(workspace, ".llmc")),
    settings: () => ({
      enabled: true,
      allowlist: ["ls"],
      powers: [],
      network: false,
      readPaths: [],
      timeoutSeconds: 30,
      maxTimeoutSeconds: 30,
      limits: { memoryBytes: 2 ** 31, processes: 256, fileBytes: 2 ** 30 },
    }),
  });
  const call = {
    command: ["ls", "src"] as const,
    cwd: undefined,
    timeoutSeconds: undefined,
  };
  const has = (await runner.tier()) === tier;
  return {
    tier,
    has,
    once: () =>
      timed(async () =>
        gate.withWriteLock(
          await gate.writerOf(call, undefined),
          { signal: undefined, waitMs: 1000, principal: undefined },
          (lock) => gate.pass(call, lock, undefined, (judged) => runner.runTogether([judged])),
        ),
      ),
    close: () => runner[Symbol.asyncDispose](),
  };
};

const addedMs = (results: readonly LaneResult[], name: string): { p50: number; quiet: number } => {
  const [base] = results;
  const lane = results.find((result) => result.name === name);
  if (base === undefined || lane === undefined) throw new Error(`no lane ${name}`);
  return { p50: lane.p50 - base.p50, quiet: lane.quiet - base.quiet };
};

export const commands: Benchmark = {
  name: "commands",
  summary:
    "milliseconds of a short command (ls) through the gate in each tier, and as run_cmd of a server, against a bare spawn",
  run: async ({ program, quick }) => {
    await using workspace = await createWorkspace();
    await furnish(workspace.path);
    const tiers = (await Promise.all(TIERS.map((tier) => openTier(tier, workspace.path)))).filter(
      ({ has }) => has,
    );
    const server = startServer(llmc(program, workspace.path));
    try {
      await server.handshake();
      const lanes: Lane[] = [
        { name: "spawn", once: () => timed(() => bareSpawn(workspace.path)) },
        ...tiers.map(({ tier, once }) => ({ name: tier, once })),
        { name: "run_cmd", once: () => server.call("run_cmd", { command: "ls src" }) },
      ];
      const results = await runLanes(lanes, { warmUp: 5, rounds: quick ? 5 : 40, batch: 3 });
      const notes = lanes.slice(1).map(({ name }) => {
        const { p50, quiet } = addedMs(results, name);
        const target =
          name === "bubblewrap" ? ` (target ${TARGET_MS} ms: ${p50 <= TARGET_MS ? "met" : "MISSED"})` : "";
        return `${name}: ${p50.toFixed(1)} ms above a bare spawn, ${quiet.toFixed(1)} ms on a quiet machine${target}`;
      });
      return {
        tables: [lanesTable(results, "way", 1)],
        notes,
        figures: { target_ms: TARGET_MS, lanes: lanesFigures(results) },
      };
    } finally {
      await server.close();
      for (const { close } of tiers) await close();
    }
  },
};
