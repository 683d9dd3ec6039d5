import type { Finding } from "../cli/doctor-command.ts";
import type { Loaded } from "../config/load.ts";
import { isBroken } from "../knowledge/flows/flow.ts";

const NAME = "flows";

/** Whether what the folder of flows declares can be used. */
export const examineFlows = async (
  root: string,
  config: Loaded["config"] | undefined,
): Promise<readonly Finding[]> => {
  if (config === undefined || config.mcp.kb.flows === "") return [];
  const { createFlows } = await import("./flow-wiring.ts");
  const declared = await createFlows({ root, config: () => config, onBroken: () => {} })();
  const broken = declared.filter(isBroken);
  if (broken.length === 0) return [{ name: NAME, state: "good", detail: `${declared.length} can be used` }];
  return broken.map(({ error }) => ({ name: NAME, state: "weak", detail: error.message, fix: error.hint }));
};
