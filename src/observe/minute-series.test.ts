import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createMinuteSeries } from "./minute-series.ts";

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
        fc.array(fc.double({ min: 0, max: 500, noNaN: true }), { minLength: 1, maxLength: 200 }),
        (values) => {
          const { series } = open();
          for (const value of values) series.observe("t", value);
          const { count, p50, p99 } = series.since(1, "").histograms["t"] ?? { count: 0, p50: -1, p99: -1 };
          const sorted = values.toSorted((a, b) => a - b);
          expect(count).toBe(values.length);
          expect(p50).toBeGreaterThanOrEqual(sorted[Math.ceil(values.length * 0.5) - 1] ?? 0);
          expect(p99).toBeGreaterThanOrEqual(p50);
        },
      ),
    );
  });

  it("a flood of names is bounded", () => {
    const { series } = open();
    for (let at = 0; at < 2000; at++) series.count(`n${at}`);
    const { counters } = series.since(1, "");
    expect(Object.keys(counters).length).toBeLessThanOrEqual(501);
    expect(counters["other"]).toBe(1500);
  });
});
