import { join } from "node:path";
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
export const TABLES = {
  "mcp.te": { ...TE_DEFAULTS, script_path: "scripts/te", json_mode: true },
  "mcp.session": { default_agent_id: "claude-desktop-mcp", default_model: "unknown" },
  "mcp.handles": { ttl_seconds: 86_400, max_total_mb: 256, max_each_mb: 64 },
} as const;

type Tables = { readonly [P in keyof typeof TABLES]: Readonly<Record<keyof (typeof TABLES)[P], unknown>> };

const configOf = (tables: Tables): TeConfig => ({
  te: tables["mcp.te"] as unknown as TeValues,
  defaultAgentId: String(tables["mcp.session"].default_agent_id),
  defaultModel: String(tables["mcp.session"].default_model),
  handles: tables["mcp.handles"] as TeConfig["handles"],
});

const VARIABLES = /^LLMC_(MCP_(TE|SESSION|HANDLES)_|CONFIG$)/;

const loadAll = async (root: string): Promise<TeConfig> => {
  const [{ loadConfig }, { createDisk }] = await Promise.all([
    import("./config/load.ts"),
    import("./host/disk.ts"),
  ]);
  const { config } = await loadConfig({
    disk: createDisk(),
    env: process.env,
    root,
    configPath: process.env["LLMC_CONFIG"],
    overrides: {},
    lines: false,
  });
  const { te, session, handles } = config.mcp;
  return { te, defaultAgentId: session.default_agent_id, defaultModel: session.default_model, handles };
};

const glance = async (root: string): Promise<TeConfig | undefined> => {
  const [{ glanceAt }, { createDisk }] = await Promise.all([
    import("./config/glance.ts"),
    import("./host/disk.ts"),
  ]);
  const text = await createDisk().readText(join(root, "llmc.toml"));
  const tables = text === undefined ? TABLES : glanceAt(text, TABLES);
  return tables === undefined ? undefined : configOf(tables);
};

/** A broken configuration is the server's concern and `llmc config validate`'s: a command is run all the same. */
export const loadTeConfig = async (workspace: FoundWorkspace | undefined): Promise<TeConfig> => {
  const root = workspace?.root ?? process.cwd();
  try {
    if (Object.keys(process.env).some((name) => VARIABLES.test(name))) return await loadAll(root);
    if (workspace?.hasConfig !== true) return configOf(TABLES);
    return (await glance(root)) ?? (await loadAll(root));
  } catch {
    process.stderr.write(
      "te: llmc's configuration has an error (llmc config validate); its defaults are used\n",
    );
    return configOf(TABLES);
  }
};
