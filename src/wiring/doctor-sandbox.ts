import type { Finding } from "../cli/doctor-command.ts";
import { confinement } from "../host/confine/confinement.ts";
import { FRONT_CPU_SHARE, RESOURCES } from "../host/confine/contract.ts";
import { testSandbox } from "../host/confine/self-test/test-sandbox.ts";
import type { AppRequest } from "./app.ts";
import { loadFor } from "./load.ts";

/** What holds a confined program here, and what became of everything that it must not do. */
export const examineSandbox = async (request: AppRequest): Promise<readonly Finding[]> => {
  const { config } = await loadFor(request);
  const limits = { memoryMb: config.mcp.max_memory_mb, cpuShare: FRONT_CPU_SHARE };
  const { tier, held, hint } = await confinement(limits);
  const holds = RESOURCES.map((resource): Finding => {
    const { byKernel, mechanism } = held[resource];
    return {
      name: `sandbox: ${resource}`,
      state: byKernel ? "good" : "weak",
      detail: `${tier}: ${mechanism}`,
      fix: byKernel || resource === "cpu" ? undefined : hint,
    };
  });
  const report = await testSandbox(limits, { tiers: [tier] });
  if (report === undefined)
    return [...holds, { name: "sandbox: attempts", state: "weak", detail: "cannot be tried on this system" }];
  const attempts = report.results.map(({ kind, name, isRefused, answer }): Finding => {
    // What no kernel holds was said above; an attempt that succeeds in spite of one is a hole.
    const isClaimed = !(kind in held) || held[kind as keyof typeof held].byKernel;
    const state = isRefused ? "good" : isClaimed ? "bad" : "weak";
    return { name: `inside, ${kind}: ${name}`, state, detail: isRefused ? `refused: ${answer}` : answer };
  });
  return [...holds, ...attempts];
};
