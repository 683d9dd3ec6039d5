import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAuditTrail } from "../src/host/audit/audit-trail.ts";
import { recordFiles } from "../src/host/audit/record-files.ts";
import { openAuditStore } from "../src/host/audit/store.ts";
import { verifyAudit } from "../src/host/audit/verify.ts";
import { AUDIT_SETTINGS, auditEntry } from "../test/audit-entry.ts";
import type { Benchmark } from "./lib/report.ts";

const RECORDS = 1_000_000;
/** The optimising compiler has settled by then. */
const WARM_UP = 5000;
const TARGET_MS = 0.1;

const quantile = (sorted: Float64Array, q: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? 0;

const openTrail = (workspace: string, sync = false) =>
  createAuditTrail({
    workspace,
    userState: join(workspace, "state"),
    settings: () => ({ ...AUDIT_SETTINGS, sync }),
    log: { error: () => {}, warn: () => {} },
    server: "bench",
    pid: process.pid,
    today: () => new Date(),
  });

type Trail = ReturnType<typeof openTrail>;

/** What a call waits for: a change has a record before and one after, a read is recorded after its answer. */
const CALLS: readonly (readonly [string, (trail: Trail) => void])[] = [
  ["read", (trail) => trail.recordRead(() => auditEntry(1, { effect: "read" }))],
  [
    "change",
    (trail) => {
      trail.record(auditEntry(3, { kind: "decision", effect: "write" }));
      trail.record(auditEntry(3, { effect: "write" }));
    },
  ],
];

const measure = async (workspace: string, call: (trail: Trail) => void, count: number) => {
  const trail = openTrail(workspace);
  const times = new Float64Array(count);
  for (let i = -WARM_UP; i < count; i++) {
    const startedAt = performance.now();
    call(trail);
    if (i >= 0) times[i] = performance.now() - startedAt;
    // Timers and rotations get their turns, as between calls.
    if (i % 500 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  await trail.close();
  times.sort();
  return { p50: quantile(times, 0.5), p95: quantile(times, 0.95), p99: quantile(times, 0.99) };
};

const fill = async (workspace: string, count: number): Promise<void> => {
  const trail = openTrail(workspace);
  for (let i = 0; i < count - 2; i++) {
    trail.record(auditEntry(i));
    if (i % 5000 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  await trail.close();
};

const sizeOf = (workspace: string): number => {
  const store = openAuditStore({ workspace, userState: join(workspace, "state") });
  try {
    return recordFiles(store).reduce(
      (sum, { name }) => sum + statSync(`${store.records?.at}/${name}`).size,
      0,
    );
  } finally {
    store.close();
  }
};

const withFolder = async <T>(work: (folder: string) => Promise<T>): Promise<T> => {
  const folder = mkdtempSync(join(tmpdir(), "llmc-bench-audit-"));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

export const audit: Benchmark = {
  name: "audit",
  summary: "what the audit trail adds to a call, and how long a million records take to verify",
  run: async ({ quick }) => {
    const calls = new Map<string, Awaited<ReturnType<typeof measure>>>();
    for (const [name, call] of CALLS)
      calls.set(name, await withFolder((folder) => measure(folder, call, quick ? 5000 : 50_000)));
    const count = quick ? RECORDS / 20 : RECORDS;
    const verified = await withFolder(async (workspace) => {
      await fill(workspace, count);
      const startedAt = performance.now();
      const { ok, records } = await verifyAudit({ workspace, userState: join(workspace, "state") });
      if (!ok || records !== count) throw new Error(`${records} of ${count} records verified`);
      return { records, seconds: (performance.now() - startedAt) / 1000, megabytes: sizeOf(workspace) / 1e6 };
    });
    const worst = Math.max(...[...calls.values()].map(({ p50 }) => p50));
    return {
      tables: [
        {
          head: ["call", "p50 ms", "p95 ms", "p99 ms"],
          rows: [...calls].map(([name, { p50, p95, p99 }]) => [
            name,
            ...[p50, p95, p99].map((ms) => ms.toFixed(4)),
          ]),
        },
        {
          head: ["verified", "MB", "seconds"],
          rows: [[verified.records, verified.megabytes.toFixed(0), verified.seconds.toFixed(1)]],
        },
      ],
      notes: [
        `at most ${worst.toFixed(4)} ms a call, target < ${TARGET_MS}: ${worst < TARGET_MS ? "met" : "MISSED"}`,
      ],
      figures: { target_ms: TARGET_MS, calls: Object.fromEntries(calls), verified },
    };
  },
};
