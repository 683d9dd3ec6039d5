import type { ConfinedLimits, Held } from "../contract.ts";
import type { ConfinementOptions } from "../start-process.ts";
import { hasMachineCode } from "../system-call-program.ts";
import { exceedCpu, exceedMemory } from "./exceed-limits.ts";
import { type AttemptResult, runAttempts } from "./run-attempts.ts";

export interface SandboxReport {
  readonly tier: string;
  readonly held: Held;
  readonly results: readonly (Omit<AttemptResult, "kind"> & { readonly kind: string })[];
}

/**
 * Tries what is forbidden from inside the confinement that the front gets, with a program of plain system calls: every
 * answer is the kernel's own. Undefined where no such program can be made for this machine.
 */
export const testSandbox = async (
  limits: ConfinedLimits,
  options: ConfinementOptions = {},
): Promise<SandboxReport | undefined> => {
  if (process.platform !== "linux" || !hasMachineCode()) return undefined;
  const { tier, held, results } = await runAttempts(limits, options);
  const memory = await exceedMemory(limits, { ...options, tiers: [tier] });
  const cpu = await exceedCpu(limits, { ...options, tiers: [tier] });
  return {
    tier,
    held,
    results: [
      ...results,
      {
        kind: "memory",
        name: `take more than ${limits.memoryMb} MiB`,
        isRefused: memory.isHeld,
        answer: memory.answer,
      },
      {
        kind: "cpu",
        name: `use more than ${limits.cpuShare} of a CPU`,
        isRefused: cpu.isHeld,
        answer: cpu.answer,
      },
    ],
  };
};
