import type { Caches } from "../base/caches.ts";
import { LlmcError } from "../base/error.ts";
import type { HealthProbe } from "../core/health.ts";
import { processUse } from "../host/os/process-use.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { Engines } from "./engines.ts";
import type { PolicyStore } from "./policy-store.ts";

interface ProbeParts {
  /** Undefined as long as nobody needed them: asking how they are must not load them. */
  readonly engines: () => Engines | undefined;
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
export const healthProbes = ({ engines, metrics, policy }: ProbeParts): readonly HealthProbe[] => {
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
