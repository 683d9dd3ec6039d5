import type { Confined, ConfinedProgram } from "./contract.ts";
import { nodePlan, resolveProgram } from "./node-arguments.ts";
import { nodeFiles } from "./node-files.ts";
import { type ConfinementOptions, startProcess } from "./start-process.ts";

/**
 * Starts a Node program of ours in the best confinement that works here. When this returns, all of its bounds are in force:
 * it must not receive anything from a client before that.
 */
export const startConfined = (
  wanted: ConfinedProgram,
  options: ConfinementOptions = {},
): Promise<Confined> => {
  const files = nodeFiles();
  const resolved = resolveProgram(wanted);
  return startProcess(
    { wanted, files, resolved, plan: (boundByData) => nodePlan(files.file, wanted, resolved, boundByData) },
    options,
  );
};
