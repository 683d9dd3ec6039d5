/** What one look into the history may take is used up. */
export class OutOfBudget extends Error {}

export interface BudgetLimits {
  /** Processor time; other work of the machine does not count. */
  readonly cpuMs: number;
  /** However slow the disk is. */
  readonly wallMs: number;
  /** Read and unpacked, which is also what may be held in memory. */
  readonly maxBytes: number;
}

/** Whoever made a repository chose how much work its objects are: everything that reads them asks here. */
export interface Budget {
  /** Before so many bytes are read, and, with 0, now and then in a loop. Throws `OutOfBudget`. */
  spend(bytes: number): void;
}

export const createBudget = ({ cpuMs, wallMs, maxBytes }: BudgetLimits): Budget => {
  const endMs = performance.now() + wallMs;
  const start = process.threadCpuUsage();
  let left = maxBytes;
  return {
    spend: (bytes) => {
      left -= bytes;
      const { user, system } = process.threadCpuUsage(start);
      if (left < 0 || (user + system) / 1000 > cpuMs || performance.now() > endMs) throw new OutOfBudget();
    },
  };
};
