import type { Server } from "node:net";
import type { Caches } from "../base/caches.ts";
import type { BreakerState } from "../base/circuit-breaker.ts";
import { LlmcError } from "../base/error.ts";
import { plural } from "../base/text.ts";
import type { Core } from "../core/core.ts";
import type { HealthProbe } from "../core/health.ts";
import { processFigures } from "../host/os/process-figures.ts";
import { processUse } from "../host/os/process-use.ts";
import type { AuditTrail } from "../observe/audit/entry.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { Engines } from "./engines.ts";
import type { PolicyStore } from "./policy-store.ts";

/** As the documents of Prometheus advise for states: the higher, the worse. */
const BREAKER_VALUES: Readonly<Record<BreakerState, number>> = { closed: 0, half_open: 1, open: 2 };

/** How busy the core is, which of its backends fail, and what the audit trail is missing. */
export const addCoreGauges = (metrics: Metrics, core: Pick<Core, "load" | "breakers">, audit: AuditTrail) => {
  metrics.addGauge("llmc_calls_running", "Calls under way.", () => core.load().running);
  metrics.addGauge("llmc_calls_waiting", "Calls that wait for a slot.", () => core.load().waiting);
  metrics.addGauge(
    "llmc_circuit_breaker_state",
    "Circuit breakers by backend: 0 closed, 1 half open, 2 open.",
    () =>
      Object.fromEntries(
        Object.entries(core.breakers()).map(([backend, state]) => [backend, BREAKER_VALUES[state]]),
      ),
    "backend",
  );
  metrics.addGauge(
    "llmc_audit_missed_records",
    "Audit records that could not be written since the last one that was.",
    audit.missed,
  );
};

/** `counted`: by a front, where one has the connections. */
export const addConnectionGauge = (metrics: Metrics, server: Server, counted?: () => number): void => {
  let open = 0;
  server.on("connection", (socket) => {
    open++;
    socket.once("close", () => open--);
  });
  metrics.addGauge("llmc_http_connections", "Open connections to the HTTP port.", counted ?? (() => open));
};

/** Of processes beside this one: what parses input, and what holds the client's streams. They are named by the door. */
export const addPartGauges = (metrics: Metrics, pids: () => Readonly<Record<string, number>>): void => {
  const over = (of: (figures: NonNullable<ReturnType<typeof processFigures>>) => number) => () =>
    Object.fromEntries(
      Object.entries(pids()).flatMap(([name, pid]) => {
        const figures = processFigures(pid);
        return figures === undefined ? [] : [[name, of(figures)]];
      }),
    );
  metrics.addGauge(
    "llmc_part_memory_bytes",
    "Resident memory of the server's other processes.",
    over(({ residentBytes }) => residentBytes),
    "part",
  );
  metrics.addGauge(
    "llmc_part_cpu_seconds",
    "Processor time that the server's other processes have used.",
    over(({ cpuSeconds }) => cpuSeconds),
    "part",
  );
};

interface ProbeParts {
  /** Undefined as long as nobody needed them: asking how they are must not load them. Throws if they could not be. */
  readonly engines: () => Engines | undefined;
  readonly caches: Caches;
  readonly maxCacheBytes: () => number;
  readonly audit: AuditTrail;
  readonly metrics: Metrics;
  readonly policy: PolicyStore;
}

/** With less left of the heap, the next large answer may end the process. */
const MIN_HEAP_LEFT = 0.05;

const MIB = 1024 * 1024;

export const addCacheGauges = (metrics: Metrics, caches: Caches): void => {
  metrics.addGauge("llmc_cache_bytes", "Memory of the caches.", () => caches.stats().bytes);
  metrics.addGauge("llmc_cache_hit_ratio", "Share of questions that the caches answered.", () => {
    const { hits, misses } = caches.stats();
    return hits + misses === 0 ? 0 : hits / (hits + misses);
  });
};

/** What `/health` and `admin_get_status` check, and the figures that belong to it. */
export const healthProbes = ({
  engines,
  caches,
  maxCacheBytes,
  audit,
  metrics,
  policy,
}: ProbeParts): readonly HealthProbe[] => {
  metrics.addGauge("llmc_memory_bytes", "Resident memory of the server.", () => processUse().residentBytes);
  metrics.addGauge(
    "llmc_cpu_seconds",
    "Processor time that the server has used.",
    () => processUse().cpuSeconds,
  );
  return [
    {
      name: "state_database",
      check: async () => {
        const loaded = engines();
        if (loaded === undefined) return "not opened yet";
        loaded.checkState();
        return "";
      },
    },
    {
      // Where it cannot be written, every change is refused.
      name: "audit",
      check: async () => {
        audit.check();
        return "";
      },
    },
    {
      name: "caches",
      check: async () => {
        const { entries, bytes } = caches.stats();
        const detail = `${plural(entries, "entry", "entries")}, ${Math.ceil(bytes / MIB)} of ${Math.round(maxCacheBytes() / MIB)} MiB`;
        return bytes > maxCacheBytes() ? { degraded: detail } : detail;
      },
    },
    {
      name: "policies",
      check: async () => {
        const { policies } = policy.report();
        const [first] = policy.problems();
        if (first !== undefined) {
          if (policy.isBroken()) throw new LlmcError("unavailable", first);
          return { degraded: `the last good ones are in force: ${first}` };
        }
        return policies.length === 0 ? "defaults" : `${policies.length} besides the defaults`;
      },
    },
    {
      name: "memory",
      check: async () => {
        const { residentBytes, heapBytes, heapLimitBytes } = processUse();
        if (heapBytes > heapLimitBytes * (1 - MIN_HEAP_LEFT))
          throw new LlmcError("unavailable", "The server's heap is nearly full.");
        return `${Math.round(residentBytes / MIB)} MiB`;
      },
    },
  ];
};
