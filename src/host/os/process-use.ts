export interface ProcessUse {
  readonly residentBytes: number;
  readonly cpuSeconds: number;
  readonly heapBytes: number;
  readonly heapLimitBytes: number;
}

/** What this process takes of the machine; some microseconds. */
export const processUse = (): ProcessUse => {
  const { rss, heapUsed } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  // Loaded when it is first asked for: see lazy-builtins.ts.
  const { heap_size_limit: heapLimitBytes } = process.getBuiltinModule("node:v8").getHeapStatistics();
  return { residentBytes: rss, cpuSeconds: (user + system) / 1e6, heapBytes: heapUsed, heapLimitBytes };
};
