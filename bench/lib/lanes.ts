import type { Figures, Table } from "./report.ts";
import { median, percentile, round } from "./stats.ts";

/** One of several things that are measured side by side. */
export interface Lane {
  readonly name: string;
  /** Does it once; resolves to its milliseconds. */
  readonly once: () => Promise<number>;
}

export interface Plan {
  /** Unmeasured runs of each lane, before the first round. */
  readonly warmUp: number;
  readonly rounds: number;
  /** Measured runs of a lane before the next lane has its turn. */
  readonly batch: number;
}

export interface LaneResult {
  readonly name: string;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly best: number;
  /** Median of this lane over median of the base. */
  readonly ratio: number;
  /** Median of the rounds' own ratios: a load that comes and goes strikes both sides of each. */
  readonly paired: number;
}

/**
 * Lanes take turns, and the one that starts changes from round to round: a machine that is busy for a while is busy
 * for all of them, so the ratios hold where the times do not.
 */
export const runLanes = async (lanes: readonly Lane[], plan: Plan): Promise<readonly LaneResult[]> => {
  for (const lane of lanes) for (let i = 0; i < plan.warmUp; i++) await lane.once();

  const batches = new Map<Lane, number[][]>(lanes.map((lane) => [lane, []]));
  for (let turn = 0; turn < plan.rounds; turn++) {
    const first = turn % lanes.length;
    for (const lane of [...lanes.slice(first), ...lanes.slice(0, first)]) {
      const batch: number[] = [];
      for (let i = 0; i < plan.batch; i++) batch.push(await lane.once());
      batches.get(lane)?.push(batch);
    }
  }

  const medians = lanes.map((lane) => (batches.get(lane) ?? []).map(median));
  const [baseMedians = []] = medians;
  const baseP50 = median([...batches.values()][0]?.flat() ?? []);
  return lanes.map((lane, at) => {
    const all = (batches.get(lane) ?? []).flat();
    const p50 = median(all);
    const own = medians[at] ?? [];
    return {
      name: lane.name,
      p50,
      p95: percentile(all, 0.95),
      p99: percentile(all, 0.99),
      best: Math.min(...all),
      ratio: p50 / baseP50,
      paired: median(own.map((value, turn) => value / (baseMedians[turn] ?? Number.NaN))),
    };
  });
};

export const lanesTable = (results: readonly LaneResult[], what: string, digits: number): Table => ({
  head: [what, "p50 ms", "p95 ms", "p99 ms", "best ms", "ratio", "paired"],
  rows: results.map(({ name, p50, p95, p99, best, ratio, paired }) => [
    name,
    ...[p50, p95, p99, best].map((ms) => ms.toFixed(digits)),
    ratio.toFixed(2),
    paired.toFixed(2),
  ]),
});

export const lanesFigures = (results: readonly LaneResult[]): Figures =>
  Object.fromEntries(
    results.map(({ name, p50, p95, p99, best, ratio, paired }) => [
      name,
      {
        p50_ms: round(p50, 4),
        p95_ms: round(p95, 4),
        p99_ms: round(p99, 4),
        best_ms: round(best, 4),
        ratio: round(ratio, 3),
        paired_ratio: round(paired, 3),
      },
    ]),
  );
