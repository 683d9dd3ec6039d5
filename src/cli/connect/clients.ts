import { posix, win32 } from "node:path";
import { LlmcError } from "../../base/error.ts";
import { nearest, quoteForMessage } from "../../base/text.ts";

export type ClientName =
  | "claude-code"
  | "claude-desktop"
  | "cursor"
  | "vscode"
  | "codex"
  | "zed"
  | "opencode"
  | "gemini"
  | "windsurf"
  | "cline"
  | "jetbrains";

/** `project`: a file in the workspace. `user`: a file of the user, for all workspaces. */
export type Scope = "project" | "user";

/** Facts about the machine, so that nothing here asks the operating system. */
export interface Machine {
  readonly home: string;
  readonly platform: NodeJS.Platform;
  /** Read for the folders of the system and of clients, such as APPDATA, XDG_CONFIG_HOME and CODEX_HOME. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** What a client runs to start a server over stdio. */
export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export interface Client {
  readonly name: ClientName;
  readonly description: string;
  /** The first one is the default. */
  readonly scopes: readonly [Scope, ...Scope[]];
  readonly format: "json" | "toml";
  /** The key that holds the servers. */
  readonly serversKey: string;
  /** The entry of a server, in the client's own shape. */
  readonly entry: (launch: Launch) => object;
  /** Servers are started in the folder of the project, so that an entry needs no `--root`. */
  readonly startsInProject: boolean;
  /** A program of the terminal, which has the shell's PATH. Desktop programs often have the system's only. */
  readonly hasShellPath: boolean;
  /** The variable that the client replaces by the open workspace, in project files. */
  readonly workspaceVariable: string | undefined;
  /** The client replaces `${…}` in commands and arguments. */
  readonly expandsVariables: boolean;
  /** The file that exists is used; the first one where none does. */
  readonly userFiles: (machine: Machine) => readonly [string, ...string[]];
  /** In the same way, relative to the workspace. */
  readonly projectFiles: readonly [string, ...string[]] | undefined;
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

/** opencode keeps to the XDG folders on every system. */
const opencodeFolder = (machine: Machine): string => {
  const { join } = pathsOf(machine.platform);
  return join(folder(machine, "XDG_CONFIG_HOME") ?? join(machine.home, ".config"), "opencode");
};

const join = (machine: Machine, ...parts: readonly string[]): string =>
  pathsOf(machine.platform).join(...parts);

/** The variable of VS Code and Cursor. */
const WORKSPACE_FOLDER = `\${workspaceFolder}`;

/** An environment is left out where there is none to set. */
const withEnv = (env: Launch["env"], name = "env"): object =>
  Object.keys(env).length === 0 ? {} : { [name]: env };

const plainEntry = ({ command, args, env }: Launch): object => ({ command, args, ...withEnv(env) });
const typedEntry = (launch: Launch): object => ({ type: "stdio", ...plainEntry(launch) });

const PLAIN = {
  format: "json",
  serversKey: "mcpServers",
  entry: plainEntry,
  startsInProject: false,
  hasShellPath: false,
  workspaceVariable: undefined,
  expandsVariables: false,
} as const;

/** Each one is tried with the client itself (`npm run clients`) where npm has it, else by its documented format. */
export const CLIENTS: readonly Client[] = [
  {
    ...PLAIN,
    name: "claude-code",
    description: "Claude Code: .mcp.json of the workspace, or ~/.claude.json with user scope.",
    scopes: ["project", "user"],
    entry: typedEntry,
    startsInProject: true,
    hasShellPath: true,
    expandsVariables: true,
    userFiles: (machine) => [
      join(machine, folder(machine, "CLAUDE_CONFIG_DIR") ?? machine.home, ".claude.json"),
    ],
    projectFiles: [".mcp.json"],
  },
  {
    ...PLAIN,
    name: "claude-desktop",
    description: "Claude Desktop: the app's claude_desktop_config.json; restart the app afterwards.",
    scopes: ["user"],
    userFiles: (machine) => [join(machine, settingsFolder(machine), "Claude", "claude_desktop_config.json")],
    projectFiles: undefined,
  },
  {
    ...PLAIN,
    name: "cursor",
    description: "Cursor: .cursor/mcp.json of the workspace, or of the home folder with user scope.",
    scopes: ["project", "user"],
    entry: typedEntry,
    workspaceVariable: WORKSPACE_FOLDER,
    expandsVariables: true,
    userFiles: (machine) => [join(machine, machine.home, ".cursor", "mcp.json")],
    projectFiles: [".cursor/mcp.json"],
  },
  {
    ...PLAIN,
    name: "vscode",
    description:
      "VS Code: .vscode/mcp.json of the workspace, or the user profile's mcp.json with user scope.",
    scopes: ["project", "user"],
    serversKey: "servers",
    entry: typedEntry,
    workspaceVariable: WORKSPACE_FOLDER,
    expandsVariables: true,
    userFiles: (machine) => [join(machine, settingsFolder(machine), "Code", "User", "mcp.json")],
    projectFiles: [".vscode/mcp.json"],
  },
  {
    ...PLAIN,
    name: "codex",
    description: "Codex: config.toml in ~/.codex, for the command line and the editor extension.",
    scopes: ["user"],
    format: "toml",
    serversKey: "mcp_servers",
    startsInProject: true,
    hasShellPath: true,
    userFiles: (machine) => [
      join(machine, folder(machine, "CODEX_HOME") ?? join(machine, machine.home, ".codex"), "config.toml"),
    ],
    projectFiles: undefined,
  },
  {
    ...PLAIN,
    name: "zed",
    description:
      "Zed: context_servers in the user's settings.json, or in .zed/settings.json of the workspace.",
    scopes: ["user", "project"],
    serversKey: "context_servers",
    // Zed does not read an entry without an environment.
    entry: ({ command, args, env }) => ({ command, args, env }),
    startsInProject: true,
    userFiles: (machine) => [join(machine, zedFolder(machine), "settings.json")],
    projectFiles: [".zed/settings.json"],
  },
  {
    ...PLAIN,
    name: "opencode",
    description: "opencode: opencode.json of the workspace, or in ~/.config/opencode with user scope.",
    scopes: ["project", "user"],
    serversKey: "mcp",
    entry: ({ command, args, env }) => ({
      type: "local",
      command: [command, ...args],
      enabled: true,
      ...withEnv(env, "environment"),
    }),
    startsInProject: true,
    hasShellPath: true,
    userFiles: (machine) => {
      const at = (name: string) => join(machine, opencodeFolder(machine), name);
      return [at("opencode.json"), at("opencode.jsonc"), at("config.json")];
    },
    projectFiles: ["opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"],
  },
  {
    ...PLAIN,
    name: "gemini",
    description: "Gemini CLI: .gemini/settings.json of the workspace, or of the home folder with user scope.",
    scopes: ["project", "user"],
    startsInProject: true,
    hasShellPath: true,
    expandsVariables: true,
    userFiles: (machine) => [join(machine, machine.home, ".gemini", "settings.json")],
    projectFiles: [".gemini/settings.json"],
  },
  {
    ...PLAIN,
    name: "windsurf",
    description: "Windsurf: mcp_config.json in ~/.codeium/windsurf.",
    scopes: ["user"],
    userFiles: (machine) => [join(machine, machine.home, ".codeium", "windsurf", "mcp_config.json")],
    projectFiles: undefined,
  },
  {
    ...PLAIN,
    name: "cline",
    description: "Cline: cline_mcp_settings.json in ~/.cline, or of its extension of VS Code.",
    scopes: ["user"],
    userFiles: (machine) => {
      const own = folder(machine, "CLINE_DIR") ?? join(machine, machine.home, ".cline");
      const storage = join(machine, settingsFolder(machine), "Code", "User", "globalStorage");
      return [
        join(machine, own, "data", "settings", "cline_mcp_settings.json"),
        join(machine, storage, "saoudrizwan.claude-dev", "settings", "cline_mcp_settings.json"),
      ];
    },
    projectFiles: undefined,
  },
  {
    ...PLAIN,
    name: "jetbrains",
    description:
      "JetBrains (Junie): .junie/mcp/mcp.json of the workspace, or of the home folder with user scope; AI Assistant takes the same text, printed with --print, in its settings.",
    scopes: ["project", "user"],
    userFiles: (machine) => [join(machine, machine.home, ".junie", "mcp", "mcp.json")],
    projectFiles: [".junie/mcp/mcp.json"],
  },
];

export const findClient = (name: string): Client => {
  const client = CLIENTS.find((candidate) => candidate.name === name);
  if (client !== undefined) return client;
  const names = CLIENTS.map((candidate) => candidate.name);
  const meant = name === "" ? undefined : nearest(name, names);
  const message = name === "" ? "No client was named." : `Unknown client ${quoteForMessage(name)}.`;
  throw new LlmcError("invalid_args", message, {
    hint: meant === undefined ? `Known clients: ${names.join(", ")}.` : `Did you mean ${meant}?`,
  });
};
