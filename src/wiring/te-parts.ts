import { homedir } from "node:os";
import { resolve } from "node:path";
import { userFolders } from "../config/user-folders.ts";
import type { KeptReader, TeParts } from "../te/parts.ts";
import { LOCAL } from "../tools/contract.ts";
import { loadFor } from "./load.ts";
import { VERSION } from "./version.ts";

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** What the `te` program is handed at its start. */
export const tePartsOf = (env: TeParts["env"]): TeParts => {
  const folders = userFolders(env, homedir());
  const configPath = env["LLMC_CONFIG"] === undefined ? undefined : resolve(env["LLMC_CONFIG"]);
  return {
    env,
    version: VERSION,
    userState: folders.state,
    principal: LOCAL,
    load: (root) => loadFor({ env, root, folders, configPath }, false),
    openKept: async (root, { config, lookedAt }): Promise<KeptReader> => {
      const { createEngines } = await import("./engines.ts");
      return createEngines({ root, config: () => config, configFile: () => lookedAt, folders, log: silent });
    },
  };
};
