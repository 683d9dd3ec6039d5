import { expect, test } from "vitest";
import { createMetrics } from "../observe/metrics.ts";
import { addPartGauges } from "./health-probes.ts";

test("REQ-O1 front and supervisor have memory and processor time of their own; a process that is gone has none", () => {
  const metrics = createMetrics(Date.now);
  addPartGauges(metrics, () => ({ front: process.pid, gone: 2 ** 30 }));
  const { metrics: figures } = metrics.over(15, "llmc_part");
  expect(Object.keys(figures)).toEqual([
    'llmc_part_memory_bytes{part="front"}',
    'llmc_part_cpu_seconds{part="front"}',
  ]);
  expect(figures['llmc_part_memory_bytes{part="front"}']).toBeGreaterThan(10_000_000);
  expect(figures['llmc_part_cpu_seconds{part="front"}']).toBeGreaterThan(0);
});
