import { posix, win32 } from "node:path";
import { LlmcError } from "../../base/error.ts";
import { nearest, quoteForMessage } from "../../base/text.ts";

export type ClientName = "claude-desktop" | "claude-code" | "cursor" | "vscode" | "codex" | "zed";

/** `project`: a file in the workspace. `user`: a file of the user, for all workspaces. */
export type Scope = "project" | "user";

/** Facts about the machine, so that nothing here asks the operating system. */
export interface Machine {
  readonly home: string;
  readonly platform: NodeJS.Platform;
  /** Read for APPDATA, XDG_CONFIG_HOME, CLAUDE_CONFIG_DIR and CODEX_HOME only. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export interface Client {
  readonly name: ClientName;
  readonly description: string;
  /** The first one is the default. */
  readonly scopes: readonly [Scope, ...Scope[]];
  readonly format: "json" | "toml";
  /** The key that holds the servers. */
  readonly serversKey: string;
  readonly hasType: boolean;
  readonly alwaysHasEnv: boolean;
  /** The variable that the client replaces by the open workspace, in project files. */
  readonly workspaceVariable: string | undefined;
  /** The client replaces `${…}` in commands and arguments. */
  readonly expandsVariables: boolean;
  readonly userFile: (machine: Machine) => string;
  readonly projectFile: readonly string[] | undefined;
}

export const pathsOf = (platform: NodeJS.Platform) => (platform === "win32" ? win32 : posix);

/** The folder in a variable; a relative one is ignored, as the clients do. */
const folder = ({ environment, platform }: Machine, variable: string): string | undefined => {
  const value = environment[variable];
  return value !== undefined && pathsOf(platform).isAbsolute(value) ? value : undefined;
};

/** The folder of desktop programs' settings: Electron's `appData`. */
const settingsFolder = (machine: Machine): string => {
  const { join } = pathsOf(machine.platform);
  if (machine.platform === "win32")
    return folder(machine, "APPDATA") ?? join(machine.home, "AppData", "Roaming");
  if (machine.platform === "darwin") return join(machine.home, "Library", "Application Support");
  return folder(machine, "XDG_CONFIG_HOME") ?? join(machine.home, ".config");
};

const zedFolder = (machine: Machine): string => {
  const { join } = pathsOf(machine.platform);
  // On macOS Zed always uses ~/.config, whatever XDG_CONFIG_HOME is.
  if (machine.platform === "darwin") return join(machine.home, ".config", "zed");
  return join(settingsFolder(machine), machine.platform === "win32" ? "Zed" : "zed");
};

const join = (machine: Machine, ...parts: readonly string[]): string =>
  pathsOf(machine.platform).join(...parts);

/** The variable of VS Code and Cursor. */
const WORKSPACE_FOLDER = `\${workspaceFolder}`;

export const CLIENTS: readonly Client[] = [
  {
    name: "claude-desktop",
    description: "Claude Desktop: the app's claude_desktop_config.json; restart the app afterwards.",
    scopes: ["user"],
    format: "json",
    serversKey: "mcpServers",
    hasType: false,
    alwaysHasEnv: false,
    workspaceVariable: undefined,
    expandsVariables: false,
    userFile: (machine) => join(machine, settingsFolder(machine), "Claude", "claude_desktop_config.json"),
    projectFile: undefined,
  },
  {
    name: "claude-code",
    description: "Claude Code: .mcp.json of the workspace, or ~/.claude.json with user scope.",
    scopes: ["project", "user"],
    format: "json",
    serversKey: "mcpServers",
    hasType: true,
    alwaysHasEnv: false,
    // ${CLAUDE_PROJECT_DIR} is not replaced in every launch (anthropics/claude-code#69123).
    workspaceVariable: undefined,
    expandsVariables: true,
    userFile: (machine) =>
      join(machine, folder(machine, "CLAUDE_CONFIG_DIR") ?? machine.home, ".claude.json"),
    projectFile: [".mcp.json"],
  },
  {
    name: "cursor",
    description: "Cursor: .cursor/mcp.json of the workspace, or of the home folder with user scope.",
    scopes: ["project", "user"],
    format: "json",
    serversKey: "mcpServers",
    hasType: true,
    alwaysHasEnv: false,
    workspaceVariable: WORKSPACE_FOLDER,
    expandsVariables: true,
    userFile: (machine) => join(machine, machine.home, ".cursor", "mcp.json"),
    projectFile: [".cursor", "mcp.json"],
  },
  {
    name: "vscode",
    description:
      "VS Code: .vscode/mcp.json of the workspace, or the user profile's mcp.json with user scope.",
    scopes: ["project", "user"],
    format: "json",
    serversKey: "servers",
    hasType: true,
    alwaysHasEnv: false,
    workspaceVariable: WORKSPACE_FOLDER,
    expandsVariables: true,
    userFile: (machine) => join(machine, settingsFolder(machine), "Code", "User", "mcp.json"),
    projectFile: [".vscode", "mcp.json"],
  },
  {
    name: "codex",
    description: "Codex: config.toml in ~/.codex, for the command line and the editor extension.",
    scopes: ["user"],
    format: "toml",
    serversKey: "mcp_servers",
    hasType: false,
    alwaysHasEnv: false,
    workspaceVariable: undefined,
    expandsVariables: false,
    userFile: (machine) =>
      join(machine, folder(machine, "CODEX_HOME") ?? join(machine, machine.home, ".codex"), "config.toml"),
    projectFile: undefined,
  },
  {
    name: "zed",
    description: "Zed: context_servers in the user's settings.json.",
    scopes: ["user"],
    format: "json",
    serversKey: "context_servers",
    hasType: false,
    alwaysHasEnv: true,
    workspaceVariable: undefined,
    expandsVariables: false,
    userFile: (machine) => join(machine, zedFolder(machine), "settings.json"),
    projectFile: undefined,
  },
];

export const findClient = (name: string): Client => {
  const client = CLIENTS.find((candidate) => candidate.name === name);
  if (client !== undefined) return client;
  const names = CLIENTS.map((candidate) => candidate.name);
  const meant = nearest(name, names);
  throw new LlmcError("invalid_args", `Unknown client ${quoteForMessage(name)}.`, {
    hint: meant === undefined ? `Known clients: ${names.join(", ")}.` : `Did you mean ${meant}?`,
  });
};
