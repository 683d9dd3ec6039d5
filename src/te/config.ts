import { homedir } from "node:os";
import { resolve } from "node:path";
import type { Loaded } from "../config/load.ts";
import { userFolders } from "../config/user-folders.ts";
import type { FoundWorkspace } from "../host/os/find-workspace.ts";
import { loadFor } from "../wiring/load.ts";

type Mcp = Loaded["config"]["mcp"];

/** What te needs to know of the configuration. */
export type TeConfig = Pick<Mcp, "te" | "session" | "handles">;

/** Only what te itself obeys is worth a line before a command's output. */
const OWN_KEYS = /^mcp\.(te|session|handles)\./;

export const teFolders = () => userFolders(process.env, homedir());

const requestFor = (root: string) => ({
  env: process.env,
  root,
  folders: teFolders(),
  configPath: process.env["LLMC_CONFIG"] === undefined ? undefined : resolve(process.env["LLMC_CONFIG"]),
});

export const loadForTe = (root: string): Promise<Loaded> => loadFor(requestFor(root), false);

/** A broken configuration is the server's concern and `llmc config validate`'s: a command is run all the same. */
export const loadTeConfig = async (workspace: FoundWorkspace | undefined): Promise<TeConfig> => {
  const root = workspace?.root ?? process.cwd();
  try {
    const { config, waiting } = await loadForTe(root);
    if (waiting.some(({ key }) => OWN_KEYS.test(key))) {
      const { describeWaiting } = await import("../config/waiting.ts");
      process.stderr.write(`te: ${describeWaiting(waiting)}\n`);
    }
    return config.mcp;
  } catch {
    process.stderr.write(
      "te: llmc's configuration has an error (llmc config validate); its defaults are used\n",
    );
    const { buildConfig } = await import("../config/sections.ts");
    return buildConfig(new Map()).mcp;
  }
};
