import type { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { readProcStat } from "../../os/proc-stat.ts";
import { callNumber } from "../../os/system-calls.ts";
import type { ConfinedLimits } from "../contract.ts";
import { programFolder } from "../landlock-rules.ts";
import { inProgramFile } from "../program-file.ts";
import { type ConfinementOptions, startProcess } from "../start-process.ts";
import { buildProgram, type Datum, readFailure, type SystemCall } from "../system-call-program.ts";
import { callsExecutable } from "./run-attempts.ts";

export interface LimitResult {
  readonly isHeld: boolean;
  readonly answer: string;
}

const PROT_READ_WRITE = 3;
/** MAP_PRIVATE, MAP_ANONYMOUS and MAP_POPULATE: the memory is there when the call returns. */
const MAP_FLAGS = 0x2 | 0x20 | 0x8000;
/** Of what is allowed. */
const EXCESS = 1.2;
const REPORT = 1;

const exit = (): SystemCall => ({ step: "exit", number: callNumber("exit_group"), args: [0] });

/** Takes a fifth more memory than it may: the kernel refuses, or ends it. */
export const exceedMemory = (
  limits: ConfinedLimits,
  options: ConfinementOptions = {},
): Promise<LimitResult> => {
  const bytes = Math.ceil(limits.memoryMb * EXCESS) * 1024 * 1024;
  const take: SystemCall = {
    step: "mmap",
    number: callNumber("mmap"),
    args: [0, bytes, PROT_READ_WRITE, MAP_FLAGS, -1, 0],
  };
  const calls = [take, exit()];
  return inProgramFile(
    programFolder(),
    () => buildProgram(calls, REPORT),
    async (file) => {
      const confined = await startProcess(
        callsExecutable(file, limits, ["ignore", "pipe", "ignore"]),
        options,
      );
      const report = await buffer(confined.child.stdout as Readable);
      const { code, signal } = await confined.gone;
      const failure = readFailure(report, calls);
      if (failure !== undefined) return { isHeld: true, answer: `mmap: errno ${failure.errno}` };
      return { isHeld: signal === "SIGKILL", answer: signal ?? `allowed (exit code ${code})` };
    },
  );
};

/** A program that computes for about ten seconds: random numbers, which the kernel makes on its account. */
const busyProgram = (): Buffer => {
  const memory: Datum = { bytes: Buffer.alloc(1024 * 1024) };
  const number = callNumber("getrandom");
  const work = Array.from({ length: 4000 }, () => ({
    step: "getrandom",
    number,
    args: [memory, memory.bytes.length, 0],
  }));
  return buildProgram([...work, exit()], 2);
};

/** After the burst that every program is allowed; then several periods of the kernel's accounting. */
const SETTLE_MS = 1000;
const MEASURE_MS = 2000;
/** Time is counted in hundredths of a second, and in periods of half a second. */
const TOLERANCE = 1.3;
const MS_PER_TICK = 10;

/** Computes all the time, and measures the share that it gets. */
export const exceedCpu = (limits: ConfinedLimits, options: ConfinementOptions = {}): Promise<LimitResult> =>
  inProgramFile(programFolder(), busyProgram, async (file) => {
    const confined = await startProcess(
      callsExecutable(file, limits, ["ignore", "ignore", "ignore"]),
      options,
    );
    try {
      await sleep(SETTLE_MS);
      const [before, start] = [readProcStat(confined.pid), performance.now()];
      await sleep(MEASURE_MS);
      const [after, end] = [readProcStat(confined.pid), performance.now()];
      if (before === undefined || after === undefined) return { isHeld: false, answer: "ended early" };
      const share = ((after.cpuTicks - before.cpuTicks) * MS_PER_TICK) / (end - start);
      return { isHeld: share <= limits.cpuShare * TOLERANCE, answer: `${share.toFixed(2)} of a CPU` };
    } finally {
      confined.kill();
      await confined.gone;
    }
  });
