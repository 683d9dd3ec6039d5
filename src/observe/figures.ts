/** Seconds; chosen around the targets of the design documents (15, 150 and 200 ms). */
export const BUCKETS = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.015, 0.025, 0.05, 0.1, 0.15, 0.2, 0.5, 1, 2, 5, 10, 30,
];

/** A histogram. */
export interface Durations {
  count: number;
  seconds: number;
  /** Each duration is counted once, in the first bucket that holds it; the last bucket is for all longer ones. */
  readonly buckets: number[];
}

interface ToolFigures extends Durations {
  readonly byCode: Map<string, number>;
  /** The last `RECENT` durations, for exact percentiles. */
  readonly recentMs: number[];
}

interface RouteFigures extends Durations {
  readonly byStatus: Map<number, number>;
}

interface ModelFigures {
  calls: number;
  in: number;
  out: number;
  costUsd: number;
}

/** What is counted, in plain numbers. */
export interface Figures {
  readonly tools: Map<string, ToolFigures>;
  /** Commands in the Tool Envelope, by mode. */
  readonly envelope: Map<string, Durations>;
  readonly characters: { in: number; out: number };
  readonly tokens: { in: number; out: number };
  /** By name, which comes from the configuration. */
  readonly models: Map<string, ModelFigures>;
  authFailures: number;
  /** HTTP requests by route. */
  readonly requests: Map<string, RouteFigures>;
  readonly drops: Map<string, number>;
}

/** Durations that are kept for each tool; older ones are overwritten. */
const RECENT = 1024;

export const createFigures = (): Figures => ({
  tools: new Map(),
  envelope: new Map(),
  characters: { in: 0, out: 0 },
  tokens: { in: 0, out: 0 },
  models: new Map(),
  authFailures: 0,
  requests: new Map(),
  drops: new Map(),
});

const emptyDurations = (): Durations => ({
  count: 0,
  seconds: 0,
  buckets: new Array(BUCKETS.length + 1).fill(0),
});

const addDuration = (durations: Durations, ms: number): void => {
  const seconds = ms / 1000;
  durations.count++;
  durations.seconds += seconds;
  let bucket = 0;
  while (seconds > (BUCKETS[bucket] ?? Number.POSITIVE_INFINITY)) bucket++;
  durations.buckets[bucket] = (durations.buckets[bucket] ?? 0) + 1;
};

const getOrCreate = <T>(map: Map<string, T>, key: string, create: () => T): T => {
  const known = map.get(key);
  if (known !== undefined) return known;
  const fresh = create();
  map.set(key, fresh);
  return fresh;
};

const increment = <K>(map: Map<K, number>, key: K): void => void map.set(key, (map.get(key) ?? 0) + 1);

export const addCall = ({ tools }: Figures, tool: string, code: string, ms: number): void => {
  const figures = getOrCreate(tools, tool, () => ({
    ...emptyDurations(),
    byCode: new Map<string, number>(),
    recentMs: [],
  }));
  figures.recentMs[figures.count % RECENT] = ms;
  addDuration(figures, ms);
  increment(figures.byCode, code);
};

export const addEnvelope = ({ envelope }: Figures, mode: string, ms: number): void =>
  addDuration(getOrCreate(envelope, mode, emptyDurations), ms);

export const addRequest = ({ requests }: Figures, route: string, status: number, ms: number): void => {
  const figures = getOrCreate(requests, route, () => ({
    ...emptyDurations(),
    byStatus: new Map<number, number>(),
  }));
  addDuration(figures, ms);
  increment(figures.byStatus, status);
};

export const addDrop = ({ drops }: Figures, reason: string): void => increment(drops, reason);

export const addModelCall = (
  { models }: Figures,
  model: string,
  { in: input, out, costUsd }: Omit<ModelFigures, "calls">,
): void => {
  const figures = getOrCreate(models, model, () => ({ calls: 0, in: 0, out: 0, costUsd: 0 }));
  figures.calls++;
  figures.in += input;
  figures.out += out;
  figures.costUsd += costUsd;
};

const percentile = (sorted: readonly number[], p: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))] ?? 0;

/** Calls, errors and latencies of one tool. */
export const summarize = ({ count, byCode, recentMs }: ToolFigures) => {
  const sorted = recentMs.toSorted((a, b) => a - b);
  const ms = (p: number) => Math.round(percentile(sorted, p) * 100) / 100;
  const errors = Object.fromEntries([...byCode].filter(([code]) => code !== "ok"));
  return { calls: count, errors, p50_ms: ms(0.5), p95_ms: ms(0.95), p99_ms: ms(0.99) };
};
