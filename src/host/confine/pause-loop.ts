import { readProcStat } from "../os/proc-stat.ts";

/** Clock ticks in a second, as the kernel reports CPU time to every program on Linux. */
const TICKS_PER_SECOND = 100;
/** CPU time that may be used at once, beyond the share: a program that starts needs a tenth of a second. */
const BURST_MS = 250;
/** How often a busy program is measured, and an idle one. */
const BUSY_MS = 25;
const IDLE_MS = 200;

export interface PauseLoop {
  /** Lets the program run on, unmeasured. */
  stop(): void;
}

interface Budget {
  /** CPU milliseconds left; negative while it pays back. */
  left: number;
  measuredAt: number;
  cpuMs: number;
  isPaused: boolean;
}

/** What it may still use after the time that passed, and whether it is to be paused. */
export const spend = (budget: Budget, nowMs: number, cpuMs: number, share: number): Budget => {
  const earned = (nowMs - budget.measuredAt) * share;
  const left = Math.min(BURST_MS, budget.left + earned - (cpuMs - budget.cpuMs));
  // It runs again only with something to spend, so that it is not stopped and continued all the time.
  return { left, measuredAt: nowMs, cpuMs, isPaused: budget.isPaused ? left < BUSY_MS : left <= 0 };
};

/**
 * Holds a process to its share of one CPU where no control group does: it is stopped for as long as it has used more. The
 * process is ours and ends with us, also while it is stopped.
 */
export const holdCpuShare = (
  pid: number,
  share: number,
  now: () => number = () => performance.now(),
): PauseLoop => {
  const first = readProcStat(pid);
  let budget: Budget = { left: BURST_MS, measuredAt: now(), cpuMs: 0, isPaused: false };
  let timer: NodeJS.Timeout | undefined;
  const send = (signal: "SIGSTOP" | "SIGCONT"): void => {
    try {
      process.kill(pid, signal);
    } catch {
      // It ended meanwhile.
    }
  };
  const measure = (): void => {
    const stat = readProcStat(pid);
    // Ended, or another process has its number by now.
    if (stat === undefined || stat.startedAt !== first?.startedAt) return;
    const before = budget;
    budget = spend(before, now(), (stat.cpuTicks * 1000) / TICKS_PER_SECOND, share);
    if (budget.isPaused !== before.isPaused) send(budget.isPaused ? "SIGSTOP" : "SIGCONT");
    const isBusy = budget.left < BURST_MS / 2;
    timer = setTimeout(measure, isBusy ? BUSY_MS : IDLE_MS).unref();
  };
  measure();
  return {
    stop: () => {
      clearTimeout(timer);
      if (budget.isPaused) send("SIGCONT");
    },
  };
};
