import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BOUNDS, createMinuteSeries } from "./minute-series.ts";

const open = () => {
  const clock = { ms: 1_000_000_000 };
  return { clock, series: createMinuteSeries(() => clock.ms) };
};

describe("REQ-O6: figures of the last day", () => {
  it("counts within the range that is asked for, by prefix", () => {
    const { clock, series } = open();
    series.count("calls{tool=a}");
    clock.ms += 30 * 60_000;
    series.count("calls{tool=a}", 2);
    series.count("drops");
    expect(series.since(15, "calls").counters).toEqual({ "calls{tool=a}": 2 });
    expect(series.since(60, "").counters).toEqual({ "calls{tool=a}": 3, drops: 1 });
  });

  it("forgets what is older than a day", () => {
    const { clock, series } = open();
    series.count("x");
    clock.ms += 24 * 3_600_000;
    series.count("y");
    expect(series.since(24 * 60, "").counters).toEqual({ y: 1 });
  });

  it("quantiles are the upper bound of the bucket that they lie in", () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(...[0.01, 1, 500].map((max) => fc.double({ min: 0, max, noNaN: true }))), {
          minLength: 1,
          maxLength: 200,
        }),
        (values) => {
          const { series } = open();
          for (const value of values) series.observe("t", value);
          const { count, p50, p99 } = series.since(1, "").histograms["t"] ?? { count: 0, p50: -1, p99: -1 };
          const sorted = values.toSorted((a, b) => a - b);
          const boundOf = (share: number): number | undefined =>
            BOUNDS.find((bound) => bound >= (sorted[Math.ceil(values.length * share) - 1] ?? 0));
          expect([count, p50, p99]).toEqual([values.length, boundOf(0.5), boundOf(0.99)]);
        },
      ),
    );
  });

  it("a flood of names is bounded", () => {
    const { series } = open();
    for (let at = 0; at < 2000; at++) series.count(`n${at}`);
    expect(Object.keys(series.since(1, "").counters).length).toBeLessThanOrEqual(601);
  });

  it("of a flood of labels, everything is counted under its metric", () => {
    const { series } = open();
    for (let at = 0; at < 600; at++) series.count(`llmc_x{label="${at}"}`);
    const { counters } = series.since(1, "llmc_x");
    expect(Object.values(counters).reduce((sum, value) => sum + value, 0)).toBe(600);
    expect(counters["llmc_x{other}"]).toBe(100);
  });
});
