import { expect, test } from "vitest";
import type { FrontChild, HowEnded } from "./front-process.ts";
import { createFrontWatch, type FrontSize } from "./front-watch.ts";

const MIB = 1024 * 1024;

const watchOne = (maxSize: FrontSize) => {
  const size = { residentBytes: 85 * MIB, descriptors: 30 };
  const seen = { checks: 0, replaced: 0, lines: [] as string[], failed: [] as unknown[] };
  const watch = createFrontWatch({
    fronts: () => ({
      pid: 7,
      replace: async () => {
        seen.replaced++;
      },
    }),
    maxSize: () => maxSize,
    log: (line) => seen.lines.push(line),
    onNeverWell: (error) => seen.failed.push(error),
    measure: () => {
      seen.checks++;
      return { ...size };
    },
    checkMs: 1,
  });
  const checked = async (): Promise<void> => {
    const { checks } = seen;
    await expect.poll(() => seen.checks).toBeGreaterThan(checks + 3);
  };
  return { watch, size, seen, checked };
};

const child = { pid: 7, socketPath: "" } as FrontChild;

test("REQ-I9 a front that has grown is replaced, and not one that is as large as it was when it was well", async () => {
  const { watch, size, seen, checked } = watchOne({ residentBytes: 51 * MIB, descriptors: 100 });
  watch.well(child);
  await checked();
  size.residentBytes += 20 * MIB;
  await checked();
  expect(seen.replaced).toBe(0);
  size.residentBytes += 20 * MIB;
  await expect.poll(() => seen.replaced).toBeGreaterThan(0);
  watch.stop();
});

test("REQ-I9 a front that nears its limit of descriptors is replaced", async () => {
  const { watch, size, seen, checked } = watchOne({ residentBytes: 400 * MIB, descriptors: 100 });
  watch.well(child);
  size.descriptors = 100;
  await checked();
  expect(seen.replaced).toBe(0);
  size.descriptors = 101;
  await expect.poll(() => seen.replaced).toBeGreaterThan(0);
  watch.stop();
});

test("FAIL-H4 three fronts that end by themselves before one was well cannot run here; what is killed does not count", () => {
  const { watch, seen } = watchOne({ residentBytes: 400 * MIB, descriptors: 100 });
  const how: HowEnded = { child, isRetired: false, isHealthy: false, fits: undefined, wasActive: true };
  for (const signal of [null, "SIGKILL", null, "SIGKILL"] as const) watch.ended({ code: 1, signal }, how);
  expect(seen.failed).toEqual([]);
  watch.ended({ code: 1, signal: null }, how);
  expect(seen.failed).toMatchObject([{ code: "unavailable" }]);
  expect(seen.lines).toHaveLength(4);
  watch.stop();
});
