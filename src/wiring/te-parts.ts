import { resolve } from "node:path";
import { userFolders } from "../config/user-folders.ts";
import type { KeptReader, TeParts } from "../te/parts.ts";
import { LOCAL } from "../tools/contract.ts";
import { loadFor } from "./load.ts";
import { VERSION } from "./version.ts";

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Where, by whom and with which streams `te` was started. */
type TeStart = Pick<TeParts, "cwd" | "env" | "streams"> & { readonly home: string };

/** What the `te` program is handed at its start. */
export const tePartsOf = ({ cwd, env, home, streams }: TeStart): TeParts => {
  const folders = userFolders(env, home);
  const configPath = env["LLMC_CONFIG"] === undefined ? undefined : resolve(cwd, env["LLMC_CONFIG"]);
  return {
    cwd,
    env,
    streams,
    version: VERSION,
    userState: folders.state,
    principal: LOCAL,
    load: (root) => loadFor({ env, root, folders, configPath }, false),
    openKept: async (root, { config, lookedAt, alsoFrom }): Promise<KeptReader> => {
      const { createEngines } = await import("./engines.ts");
      return createEngines({
        root,
        config: () => config,
        configFiles: () => [lookedAt, ...alsoFrom],
        folders,
        env,
        flowDigests: () => ({}),
        log: silent,
      });
    },
  };
};
