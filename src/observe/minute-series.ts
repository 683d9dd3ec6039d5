/** Names of counters and histograms that are kept per minute; beyond it, new ones of a metric are counted as one. */
const MAX_NAMES = 500;
/** Far more than there are metrics: what would be beyond is counted under no metric at all. */
const MAX_METRICS = 100;

const MINUTE_MS = 60_000;
const MINUTES_KEPT = 24 * 60;

/** Upper bounds in seconds; what lies beyond the last is counted with it. */
export const BOUNDS: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 600,
];

interface Histogram {
  count: number;
  sum: number;
  readonly buckets: Uint32Array;
}

interface Minute {
  readonly number: number;
  readonly counters: Map<string, number>;
  readonly histograms: Map<string, Histogram>;
}

export interface HistogramSummary {
  readonly count: number;
  readonly sum: number;
  /** Upper bounds of the buckets that the quantiles lie in, in seconds. */
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

const newHistogram = (): Histogram => ({ count: 0, sum: 0, buckets: new Uint32Array(BOUNDS.length) });

const bucketOf = (value: number): number => {
  const at = BOUNDS.findIndex((bound) => value <= bound);
  return at < 0 ? BOUNDS.length - 1 : at;
};

const quantile = ({ count, buckets }: Histogram, share: number): number => {
  let seen = 0;
  for (const [at, inBucket] of buckets.entries()) {
    seen += inBucket;
    if (seen >= count * share) return BOUNDS[at] ?? 0;
  }
  return BOUNDS.at(-1) ?? 0;
};

const addInto = (sum: Histogram, one: Histogram): void => {
  sum.count += one.count;
  sum.sum += one.sum;
  for (const [at, inBucket] of one.buckets.entries()) sum.buckets[at] = (sum.buckets[at] ?? 0) + inBucket;
};

const summarize = (histogram: Histogram): HistogramSummary => ({
  count: histogram.count,
  sum: Math.round(histogram.sum * 1e6) / 1e6,
  p50: quantile(histogram, 0.5),
  p95: quantile(histogram, 0.95),
  p99: quantile(histogram, 0.99),
});

/** There are few metrics; it is their labels that are many. */
const roomFor = (names: ReadonlyMap<string, unknown>, name: string): string => {
  if (names.has(name) || names.size < MAX_NAMES) return name;
  const other = `${name.replace(/\{.*$/s, "")}{other}`;
  return names.has(other) || names.size < MAX_NAMES + MAX_METRICS ? other : "other";
};

export type MinuteSeries = ReturnType<typeof createMinuteSeries>;

/** Counters and histograms of the last day, minute by minute, in memory. */
export const createMinuteSeries = (now: () => number) => {
  const minutes: Minute[] = [];
  const current = (): Minute => {
    const number = Math.floor(now() / MINUTE_MS);
    const last = minutes.at(-1);
    if (last?.number === number) return last;
    const minute: Minute = { number, counters: new Map(), histograms: new Map() };
    minutes.push(minute);
    while ((minutes[0]?.number ?? number) <= number - MINUTES_KEPT) minutes.shift();
    return minute;
  };
  return {
    count: (name: string, by = 1): void => {
      const { counters } = current();
      const key = roomFor(counters, name);
      counters.set(key, (counters.get(key) ?? 0) + by);
    },
    observe: (name: string, seconds: number): void => {
      const { histograms } = current();
      const key = roomFor(histograms, name);
      const histogram = histograms.get(key) ?? newHistogram();
      histograms.set(key, histogram);
      histogram.count++;
      histogram.sum += seconds;
      const bucket = bucketOf(seconds);
      histogram.buckets[bucket] = (histogram.buckets[bucket] ?? 0) + 1;
    },
    /** What was counted in the last minutes, the running one included, of names that begin with the prefix. */
    since: (rangeMinutes: number, prefix: string) => {
      const first = Math.floor(now() / MINUTE_MS) - rangeMinutes + 1;
      const counters = new Map<string, number>();
      const histograms = new Map<string, Histogram>();
      for (const minute of minutes.filter(({ number }) => number >= first)) {
        for (const [name, value] of minute.counters)
          if (name.startsWith(prefix)) counters.set(name, (counters.get(name) ?? 0) + value);
        for (const [name, histogram] of minute.histograms) {
          if (!name.startsWith(prefix)) continue;
          const sum = histograms.get(name) ?? newHistogram();
          histograms.set(name, sum);
          addInto(sum, histogram);
        }
      }
      return {
        counters: Object.fromEntries([...counters].toSorted()),
        histograms: Object.fromEntries(
          [...histograms]
            .toSorted(([a], [b]) => (a < b ? -1 : 1))
            .map(([name, one]) => [name, summarize(one)]),
        ),
      };
    },
  };
};
