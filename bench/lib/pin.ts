import { execFileSync } from "node:child_process";

/** Of util-linux; not a dependency. */
const PROGRAM = "taskset";

const taskset = (...args: readonly string[]): string =>
  execFileSync(PROGRAM, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });

/**
 * Puts this process and the servers on one core, with all their threads: client and server of a sequential call never
 * work at the same time, and where the scheduler places them changes the time of a short call threefold. Returns the
 * function that lets them go again, or undefined where there is no `taskset`.
 */
export const pinTogether = (pids: readonly number[]): (() => void) | undefined => {
  const all = [process.pid, ...pids].map(String);
  let allowed: string;
  try {
    allowed = taskset("-cp", String(process.pid)).trim().split(" ").at(-1) ?? "";
    const last = /\d+$/.exec(allowed)?.[0] ?? "0";
    for (const pid of all) taskset("-acp", last, pid);
  } catch {
    return undefined;
  }
  return () => {
    for (const pid of all) taskset("-acp", allowed, pid);
  };
};
