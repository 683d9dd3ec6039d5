import { TE_DEFAULTS, type TeValues } from "./envelope/settings.ts";
import type { FoundWorkspace } from "./host/find-workspace.ts";

/** What te needs to know of the configuration. */
export interface TeConfig {
  readonly te: TeValues;
  readonly defaultAgentId: string;
  readonly defaultModel: string;
  readonly handles: {
    readonly ttl_seconds: number;
    readonly max_total_mb: number;
    readonly max_each_mb: number;
  };
}

/** Those of the rooms' options, which a test compares: reading all options costs more than most commands. */
export const UNCONFIGURED: TeConfig = {
  te: TE_DEFAULTS,
  defaultAgentId: "claude-desktop-mcp",
  defaultModel: "unknown",
  handles: { ttl_seconds: 86_400, max_total_mb: 256, max_each_mb: 64 },
};

const VARIABLES = /^LLMC_(MCP_(TE|SESSION|HANDLES)_|CONFIG$)/;

/** A broken configuration is the server's concern and `llmc config validate`'s: a command is run all the same. */
export const loadTeConfig = async (workspace: FoundWorkspace | undefined): Promise<TeConfig> => {
  const isSaid =
    workspace?.hasConfig === true || Object.keys(process.env).some((name) => VARIABLES.test(name));
  if (!isSaid) return UNCONFIGURED;
  try {
    const [{ loadConfig }, { createDisk }] = await Promise.all([
      import("./config/load.ts"),
      import("./host/disk.ts"),
    ]);
    const { config } = await loadConfig({
      disk: createDisk(),
      env: process.env,
      root: workspace?.root ?? process.cwd(),
      configPath: process.env["LLMC_CONFIG"],
      overrides: {},
      lines: false,
    });
    const { te, session, handles } = config.mcp;
    return {
      te,
      defaultAgentId: session.default_agent_id,
      defaultModel: session.default_model,
      handles,
    };
  } catch {
    process.stderr.write(
      "te: llmc's configuration has an error (llmc config validate); its defaults are used\n",
    );
    return UNCONFIGURED;
  }
};
