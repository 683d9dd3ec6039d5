import { expect, it } from "vitest";
import { exceedCpu } from "../../src/host/confine/self-test/exceed-limits.ts";

const LIMITS = { memoryMb: 512, cpuShare: 0.5 };

it.each([
  ["by pausing", false],
  ["by a control group, where one can be made", true],
] as const)("FAIL-H1 a busy loop is held to half a CPU %s", async (_, usesGroups) => {
  const { isHeld, answer } = await exceedCpu(LIMITS, { usesGroups });
  expect(isHeld, answer).toBe(true);
});
