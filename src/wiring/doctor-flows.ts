import type { Finding } from "../cli/doctor-command.ts";
import type { Loaded } from "../config/load.ts";
import { isBroken } from "../knowledge/flows/flow.ts";
import { FLOWS_KEY } from "./load.ts";
import { type ContentFolders, grantedDigests } from "./workspace-content.ts";

const NAME = "flows";

/** Whether what the folder of flows declares can be used. */
export const examineFlows = async (
  where: ContentFolders,
  loaded: Loaded | undefined,
): Promise<readonly Finding[]> => {
  if (loaded === undefined || loaded.config.mcp.kb.flows === "") return [];
  const { createFlows } = await import("./flow-wiring.ts");
  const all = await createFlows({
    root: where.root,
    config: () => loaded.config,
    digests: () => grantedDigests(loaded, where, FLOWS_KEY),
    onBroken: () => {},
  })();
  // What waits for trust is said with all that does.
  const declared = all.filter((one) => !isBroken(one) || one.error.code !== "forbidden");
  const broken = declared.filter(isBroken);
  if (broken.length === 0) return [{ name: NAME, state: "good", detail: `${declared.length} can be used` }];
  return broken.map(({ error }) => ({ name: NAME, state: "weak", detail: error.message, fix: error.hint }));
};
