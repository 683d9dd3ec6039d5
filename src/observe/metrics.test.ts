import { expect, it } from "vitest";
import { createMetrics } from "./metrics.ts";

it("REQ-O6: percentiles of the last calls are nearest ranks", async () => {
  const percentiles = async (durations: readonly number[]) => {
    const metrics = createMetrics(() => 0);
    for (const durationMs of durations)
      metrics.recordCall({ tool: "t", durationMs } as Parameters<typeof metrics.recordCall>[0], 0, 0);
    return metrics.snapshot();
  };
  expect(JSON.stringify(await percentiles([1, 9]))).toContain('"p50_ms":1,"p95_ms":9,"p99_ms":9');
  const hundred = Array.from({ length: 100 }, (_, at) => at + 1);
  expect(JSON.stringify(await percentiles(hundred))).toContain('"p50_ms":50,"p95_ms":95,"p99_ms":99');
});
