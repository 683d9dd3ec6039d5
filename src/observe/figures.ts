interface ToolFigures {
  calls: number;
  readonly byCode: Map<string, number>;
  /** The last `RECENT` durations, for exact percentiles. */
  readonly recentMs: number[];
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
  readonly characters: { in: number; out: number };
  readonly tokens: { in: number; out: number };
  /** By name, which comes from the configuration. */
  readonly models: Map<string, ModelFigures>;
  authFailures: number;
  /** HTTP requests by route and status. */
  readonly requests: Map<string, Map<number, number>>;
  readonly drops: Map<string, number>;
}

/** Durations that are kept for each tool; older ones are overwritten. */
const RECENT = 1024;

export const createFigures = (): Figures => ({
  tools: new Map(),
  characters: { in: 0, out: 0 },
  tokens: { in: 0, out: 0 },
  models: new Map(),
  authFailures: 0,
  requests: new Map(),
  drops: new Map(),
});

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
    calls: 0,
    byCode: new Map<string, number>(),
    recentMs: [],
  }));
  figures.recentMs[figures.calls++ % RECENT] = ms;
  increment(figures.byCode, code);
};

export const addRequest = ({ requests }: Figures, route: string, status: number): void =>
  increment(
    getOrCreate(requests, route, () => new Map<number, number>()),
    status,
  );

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
export const summarize = ({ calls, byCode, recentMs }: ToolFigures) => {
  const sorted = recentMs.toSorted((a, b) => a - b);
  const ms = (p: number) => Math.round(percentile(sorted, p) * 100) / 100;
  const errors = Object.fromEntries([...byCode].filter(([code]) => code !== "ok"));
  return { calls, errors, p50_ms: ms(0.5), p95_ms: ms(0.95), p99_ms: ms(0.99) };
};
