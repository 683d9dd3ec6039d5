import { describe, expect, it } from "vitest";
import { CLIENTS, findClient, type Machine } from "./clients.ts";
import { buildEntry, type ConnectionRequest, locateTarget, type ProgramLaunch } from "./target.ts";

const HOMES = { linux: "/home/u", darwin: "/Users/u", win32: "C:\\Users\\u" } as const;
const WORKSPACES = { linux: "/srv/app", darwin: "/srv/app", win32: "D:\\app" } as const;

/** A program with another Node than the one of the PATH. */
const programAt = (folder: string): ProgramLaunch => {
  const command = `${folder}/bin/llmc`;
  return {
    withPath: { command, args: [], env: {} },
    withoutPath: { command, args: [], env: { LLMC_NODE: "/opt/node24/bin/node" } },
    folder,
  };
};

const request = (
  platform: keyof typeof HOMES,
  client: string,
  scope: "project" | "user" | undefined,
  environment: Machine["environment"] = {},
): ConnectionRequest => ({
  client,
  ...(scope === undefined ? {} : { scope }),
  platform,
  environment,
  home: HOMES[platform],
  workspace: WORKSPACES[platform],
  program: programAt(platform === "win32" ? "C:\\llmc" : "/opt/llmc"),
});

describe("where each client keeps its servers (REQ-P3)", () => {
  it.each([
    ["claude-desktop", undefined, "linux", "/home/u/.config/Claude/claude_desktop_config.json"],
    [
      "claude-desktop",
      undefined,
      "darwin",
      "/Users/u/Library/Application Support/Claude/claude_desktop_config.json",
    ],
    [
      "claude-desktop",
      undefined,
      "win32",
      "C:\\Users\\u\\AppData\\Roaming\\Claude\\claude_desktop_config.json",
    ],
    ["claude-code", undefined, "linux", "/srv/app/.mcp.json"],
    ["claude-code", "user", "linux", "/home/u/.claude.json"],
    ["claude-code", "user", "darwin", "/Users/u/.claude.json"],
    ["claude-code", undefined, "win32", "D:\\app\\.mcp.json"],
    ["claude-code", "user", "win32", "C:\\Users\\u\\.claude.json"],
    ["cursor", undefined, "linux", "/srv/app/.cursor/mcp.json"],
    ["cursor", "user", "linux", "/home/u/.cursor/mcp.json"],
    ["cursor", "user", "darwin", "/Users/u/.cursor/mcp.json"],
    ["cursor", "user", "win32", "C:\\Users\\u\\.cursor\\mcp.json"],
    ["vscode", undefined, "linux", "/srv/app/.vscode/mcp.json"],
    ["vscode", undefined, "win32", "D:\\app\\.vscode\\mcp.json"],
    ["vscode", "user", "linux", "/home/u/.config/Code/User/mcp.json"],
    ["vscode", "user", "darwin", "/Users/u/Library/Application Support/Code/User/mcp.json"],
    ["vscode", "user", "win32", "C:\\Users\\u\\AppData\\Roaming\\Code\\User\\mcp.json"],
    ["codex", undefined, "linux", "/home/u/.codex/config.toml"],
    ["codex", undefined, "darwin", "/Users/u/.codex/config.toml"],
    ["codex", undefined, "win32", "C:\\Users\\u\\.codex\\config.toml"],
    ["zed", undefined, "linux", "/home/u/.config/zed/settings.json"],
    ["zed", undefined, "darwin", "/Users/u/.config/zed/settings.json"],
    ["zed", undefined, "win32", "C:\\Users\\u\\AppData\\Roaming\\Zed\\settings.json"],
    ["zed", "project", "linux", "/srv/app/.zed/settings.json"],
    ["opencode", undefined, "linux", "/srv/app/opencode.json"],
    ["opencode", "user", "linux", "/home/u/.config/opencode/opencode.json"],
    ["opencode", "user", "darwin", "/Users/u/.config/opencode/opencode.json"],
    ["gemini", undefined, "linux", "/srv/app/.gemini/settings.json"],
    ["gemini", "user", "win32", "C:\\Users\\u\\.gemini\\settings.json"],
    ["windsurf", undefined, "linux", "/home/u/.codeium/windsurf/mcp_config.json"],
    ["windsurf", undefined, "win32", "C:\\Users\\u\\.codeium\\windsurf\\mcp_config.json"],
    ["cline", undefined, "linux", "/home/u/.cline/data/settings/cline_mcp_settings.json"],
    ["jetbrains", undefined, "linux", "/srv/app/.junie/mcp/mcp.json"],
    ["jetbrains", "user", "darwin", "/Users/u/.junie/mcp/mcp.json"],
  ] as const)("%s, scope %s, on %s: %s", (client, scope, platform, file) => {
    expect(locateTarget(request(platform, client, scope)).files[0]).toBe(file);
  });

  it.each([
    ["zed", "linux", { XDG_CONFIG_HOME: "/cfg" }, "/cfg/zed/settings.json"],
    ["zed", "linux", { XDG_CONFIG_HOME: "relative" }, "/home/u/.config/zed/settings.json"],
    ["zed", "darwin", { XDG_CONFIG_HOME: "/cfg" }, "/Users/u/.config/zed/settings.json"],
    ["vscode", "linux", { XDG_CONFIG_HOME: "/cfg" }, "/cfg/Code/User/mcp.json"],
    ["vscode", "win32", { APPDATA: "E:\\Roam" }, "E:\\Roam\\Code\\User\\mcp.json"],
    ["claude-code", "linux", { CLAUDE_CONFIG_DIR: "/cc" }, "/cc/.claude.json"],
    ["codex", "linux", { CODEX_HOME: "/cx" }, "/cx/config.toml"],
    ["codex", "linux", { CODEX_HOME: "" }, "/home/u/.codex/config.toml"],
    ["opencode", "darwin", { XDG_CONFIG_HOME: "/cfg" }, "/cfg/opencode/opencode.json"],
    ["cline", "linux", { CLINE_DIR: "/cl" }, "/cl/data/settings/cline_mcp_settings.json"],
  ] as const)("%s on %s with %o: %s", (client, platform, environment, file) => {
    expect(locateTarget(request(platform, client, "user", environment)).files[0]).toBe(file);
  });

  it("describes each client in a sentence", () => {
    expect(CLIENTS.map((client) => client.name)).toEqual([
      "claude-code",
      "claude-desktop",
      "cursor",
      "vscode",
      "codex",
      "zed",
      "opencode",
      "gemini",
      "windsurf",
      "cline",
      "jetbrains",
    ]);
    for (const client of CLIENTS) expect(client.description).toMatch(/^[A-Za-z].*\.$/);
  });
});

describe("what is refused", () => {
  it("an unknown client, with the likely one", () => {
    expect(() => findClient("vs-code")).toThrowError(
      expect.objectContaining({ code: "invalid_args", hint: "Did you mean vscode?" }),
    );
    expect(() => findClient("something else")).toThrowError(
      expect.objectContaining({ hint: expect.stringContaining("claude-code, claude-desktop") }),
    );
  });

  it.each(["claude-desktop", "codex", "windsurf", "cline"])("a project scope for %s", (client) => {
    expect(() => locateTarget(request("linux", client, "project"))).toThrowError(
      expect.objectContaining({ code: "invalid_args", message: `${client} has no project scope.` }),
    );
  });

  it.each(["", "__proto__", "a b", 'a"b', "a.b", "-a", "x".repeat(65)])("the server name %o", (name) => {
    expect(() => locateTarget({ ...request("linux", "codex", undefined), name })).toThrowError(
      expect.objectContaining({ code: "invalid_args" }),
    );
  });

  it("a workspace that is not absolute, or that the client would rewrite", () => {
    const refusal = expect.objectContaining({ code: "invalid_args" });
    const cursor = { ...request("linux", "cursor", "user") };
    expect(() => buildEntry({ ...cursor, workspace: "app" })).toThrowError(refusal);
    expect(() => buildEntry({ ...cursor, workspace: `/\${HOME}` })).toThrowError(refusal);
    expect(() => buildEntry({ ...cursor, client: "windsurf", workspace: `/\${HOME}` })).not.toThrow();
  });

  it("llmc's own folder, unless it is named", () => {
    for (const workspace of ["/opt/llmc", "/opt/llmc/src"]) {
      const own = (client: string) => ({ ...request("linux", client, undefined), workspace });
      expect(() => buildEntry(own("claude-code"))).toThrowError("llmc's own folder");
      expect(() => buildEntry(own("claude-desktop"))).toThrowError("llmc's own folder");
      expect(() => buildEntry({ ...own("claude-code"), isWorkspaceNamed: true })).not.toThrow();
      // The entry is about no folder.
      expect(() => buildEntry(own("codex"))).not.toThrow();
    }
    expect(() =>
      buildEntry({ ...request("linux", "claude-code", undefined), workspace: "/opt/llmc-2" }),
    ).not.toThrow();
  });
});

describe("the entry of each client (REQ-P3)", () => {
  const command = "/opt/llmc/bin/llmc";
  const args = ["serve", "--stdio"];
  const rooted = (root: string) => [...args, "--root", root];
  const env = { LLMC_NODE: "/opt/node24/bin/node" };
  const variable = `\${workspaceFolder}`;

  it.each([
    ["claude-code", "project", { type: "stdio", command, args }],
    ["claude-code", "user", { type: "stdio", command, args }],
    ["claude-desktop", undefined, { command, args: rooted("/srv/app"), env }],
    ["cursor", "project", { type: "stdio", command, args: rooted(variable), env }],
    ["cursor", "user", { type: "stdio", command, args: rooted("/srv/app"), env }],
    ["vscode", "project", { type: "stdio", command, args: rooted(variable), env }],
    ["vscode", "user", { type: "stdio", command, args: rooted("/srv/app"), env }],
    ["codex", undefined, { command, args }],
    ["zed", "user", { command, args, env }],
    ["zed", "project", { command, args, env }],
    ["opencode", "project", { type: "local", command: [command, ...args], enabled: true }],
    ["opencode", "user", { type: "local", command: [command, ...args], enabled: true }],
    ["gemini", "project", { command, args }],
    ["gemini", "user", { command, args }],
    ["windsurf", undefined, { command, args: rooted("/srv/app"), env }],
    ["cline", undefined, { command, args: rooted("/srv/app"), env }],
    ["jetbrains", "project", { command, args: rooted("/srv/app"), env }],
    ["jetbrains", "user", { command, args: rooted("/srv/app"), env }],
  ] as const)("%s, scope %s", (client, scope, entry) => {
    expect(buildEntry(request("linux", client, scope))).toEqual(entry);
  });

  it("a workspace that was named stays named in a file for all workspaces", () => {
    const named = (client: string, scope: "project" | "user") =>
      buildEntry({ ...request("linux", client, scope), isWorkspaceNamed: true });
    expect(named("codex", "user")).toMatchObject({ args: rooted("/srv/app") });
    expect(named("claude-code", "user")).toMatchObject({ args: rooted("/srv/app") });
    expect(named("claude-code", "project")).toMatchObject({ args });
  });

  it("carries further arguments", () => {
    expect(
      buildEntry({ ...request("linux", "codex", undefined), extraArgs: ["--mode", "classic"] }),
    ).toMatchObject({ args: [...args, "--mode", "classic"] });
  });
});
