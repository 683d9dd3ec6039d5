import type { ConfinedLimits, ConfinementTier, Held, Resource } from "./contract.ts";
import { installHint, missingHolds } from "./holds.ts";
import { nodeFiles } from "./node-files.ts";
import { type ConfinementOptions, startProcess } from "./start-process.ts";

export interface Confinement {
  readonly tier: ConfinementTier;
  readonly held: Held;
  /** What `mcp.sandbox_enabled = true` asks of the kernel and this machine does not hold. */
  readonly missing: readonly Resource[];
  /** What to install or to allow, where something is missing. */
  readonly hint: string | undefined;
}

/**
 * What this machine can hold, found by starting a program: Node itself, which prints its version and ends. Whether a kernel
 * allows namespaces cannot be read anywhere.
 */
export const confinement = async (
  limits: ConfinedLimits,
  options: Omit<ConfinementOptions, "isRequired"> = {},
): Promise<Confinement> => {
  const files = nodeFiles();
  const confined = await startProcess(
    {
      wanted: { limits, stdio: ["ignore", "ignore", "ignore"] },
      files,
      resolved: { program: files.file, readable: [] },
      plan: (boundByData) => ({
        argv: [files.file, ...(boundByData ? ["--jitless"] : []), "--version"],
        dataMb: boundByData ? limits.memoryMb : undefined,
        isExact: true,
      }),
    },
    options,
  );
  const { code } = await confined.gone;
  if (code !== 0) throw new Error(`Node ended with ${code} in its sandbox (${confined.tier}).`);
  const { tier, held } = confined;
  const missing = missingHolds(held);
  return { tier, held, missing, hint: missing.length === 0 ? undefined : installHint([]) };
};
