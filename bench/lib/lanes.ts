import { setTimeout } from "node:timers/promises";
import type { Figures, Table } from "./report.ts";
import { median, percentile, round } from "./stats.ts";

/** One of several things that are measured side by side. */
export interface Lane {
  readonly name: string;
  /** Does it once; resolves to its milliseconds. */
  readonly once: () => Promise<number>;
  /** Processor time that the thing has used so far, in milliseconds. */
  readonly cpuMs?: () => number;
  /** Where it needs others than the plan's. */
  readonly warmUp?: number;
  readonly batch?: number;
  readonly restMs?: number;
}

export interface Plan {
  /** Unmeasured runs of each lane, before the first round. */
  readonly warmUp: number;
  readonly rounds: number;
  /** Measured runs of a lane before the next lane has its turn. */
  readonly batch: number;
  /** Rest after each batch, in milliseconds, for lanes that work on after their answers. */
  readonly restMs?: number;
}

export interface LaneResult {
  readonly name: string;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  /** The 10th percentile of the rounds' medians: what the median would be if the machine did nothing else. */
  readonly quiet: number;
  /** Median over the first lane's median. */
  readonly ratio: number;
  /** Median of the rounds' own ratios: a load that comes and goes strikes both sides of each. */
  readonly paired: number;
  readonly quietRatio: number;
  /** The median of each round. */
  readonly rounds: readonly number[];
  /** Processor time of the server per run, in milliseconds: it holds what was put off until after the answer. */
  readonly cpuMs: number | undefined;
}

/**
 * Lanes take turns, and the one that starts changes from round to round: a machine that is busy for a while is busy
 * for all of them, so the ratios hold where the times do not.
 */
export const runLanes = async (lanes: readonly Lane[], plan: Plan): Promise<readonly LaneResult[]> => {
  for (const lane of lanes) for (let i = 0; i < (lane.warmUp ?? plan.warmUp); i++) await lane.once();

  const cpuBefore = lanes.map((lane) => lane.cpuMs?.());
  const batches = new Map<Lane, number[][]>(lanes.map((lane) => [lane, []]));
  for (let turn = 0; turn < plan.rounds; turn++) {
    const first = turn % lanes.length;
    for (const lane of [...lanes.slice(first), ...lanes.slice(0, first)]) {
      const batch: number[] = [];
      for (let i = 0; i < (lane.batch ?? plan.batch); i++) batch.push(await lane.once());
      batches.get(lane)?.push(batch);
      const restMs = lane.restMs ?? plan.restMs;
      if (restMs !== undefined) await setTimeout(restMs);
    }
  }

  const cpuMs = lanes.map((lane, at) => {
    const before = cpuBefore[at];
    const after = lane.cpuMs?.();
    return before === undefined || after === undefined
      ? undefined
      : (after - before) / (plan.rounds * (lane.batch ?? plan.batch));
  });
  const medians = lanes.map((lane) => (batches.get(lane) ?? []).map(median));
  const quiet = medians.map((own) => percentile(own, 0.1));
  const [base = []] = medians;
  const [baseQuiet = Number.NaN] = quiet;
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
      quiet: quiet[at] ?? Number.NaN,
      ratio: p50 / baseP50,
      paired: median(own.map((value, turn) => value / (base[turn] ?? Number.NaN))),
      quietRatio: (quiet[at] ?? Number.NaN) / baseQuiet,
      rounds: own,
      cpuMs: cpuMs[at],
    };
  });
};

/** The paired ratio to any other lane of the same run. */
export const pairedRatio = (lane: LaneResult, base: LaneResult): number =>
  median(lane.rounds.map((value, turn) => value / (base.rounds[turn] ?? Number.NaN)));

export const lanesTable = (results: readonly LaneResult[], what: string, digits: number): Table => {
  const withCpu = results.some(({ cpuMs }) => cpuMs !== undefined);
  return {
    head: [
      what,
      "p50 ms",
      "p95 ms",
      "p99 ms",
      "quiet ms",
      ...(withCpu ? ["cpu ms"] : []),
      "ratio",
      "paired",
      "quiet",
    ],
    rows: results.map(({ name, p50, p95, p99, quiet, cpuMs, ratio, paired, quietRatio }) => [
      name,
      ...[p50, p95, p99, quiet].map((ms) => ms.toFixed(digits)),
      ...(withCpu ? [cpuMs?.toFixed(digits) ?? "–"] : []),
      ...[ratio, paired, quietRatio].map((value) => value.toFixed(2)),
    ]),
  };
};

export const lanesFigures = (results: readonly LaneResult[]): Figures =>
  Object.fromEntries(
    results.map(({ name, p50, p95, p99, quiet, cpuMs, ratio, paired, quietRatio }) => [
      name,
      {
        p50_ms: round(p50, 4),
        p95_ms: round(p95, 4),
        p99_ms: round(p99, 4),
        quiet_ms: round(quiet, 4),
        ...(cpuMs === undefined ? {} : { cpu_ms: round(cpuMs, 4) }),
        ratio: round(ratio, 3),
        paired_ratio: round(paired, 3),
        quiet_ratio: round(quietRatio, 3),
      },
    ]),
  );

/** Says whether a lane meets its target, by the paired ratio; the quiet one tells how much of a miss is the machine's. */
export const laneVerdict = ({ name, paired, quietRatio }: LaneResult, target: number): string =>
  `${name}: ${paired.toFixed(2)} times the first (quiet ${quietRatio.toFixed(2)}), target ≤ ${target}: ${paired <= target ? "met" : "MISSED"}`;
