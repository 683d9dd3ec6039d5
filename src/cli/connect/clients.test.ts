import { describe, expect, it } from "vitest";
import { CLIENTS, findClient, type Machine } from "./clients.ts";
import { buildEntry, type ConnectionRequest, locateTarget } from "./target.ts";

const HOMES = { linux: "/home/u", darwin: "/Users/u", win32: "C:\\Users\\u" } as const;
const WORKSPACES = { linux: "/srv/app", darwin: "/srv/app", win32: "D:\\app" } as const;

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
  command: platform === "win32" ? "C:\\llmc\\bin\\llmc.cmd" : "/opt/llmc/bin/llmc",
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
  ] as const)("%s, scope %s, on %s: %s", (client, scope, platform, file) => {
    expect(locateTarget(request(platform, client, scope)).file).toBe(file);
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
  ] as const)("%s on %s with %o: %s", (client, platform, environment, file) => {
    expect(locateTarget(request(platform, client, "user", environment)).file).toBe(file);
  });

  it("describes each client in a sentence", () => {
    expect(CLIENTS.map((client) => client.name)).toEqual([
      "claude-desktop",
      "claude-code",
      "cursor",
      "vscode",
      "codex",
      "zed",
    ]);
    for (const client of CLIENTS) expect(client.description).toMatch(/^[A-Z].*\.$/);
  });
});

describe("what is refused", () => {
  it("an unknown client, with the likely one", () => {
    expect(() => findClient("vs-code")).toThrowError(
      expect.objectContaining({ code: "invalid_args", hint: "Did you mean vscode?" }),
    );
    expect(() => findClient("something else")).toThrowError(
      expect.objectContaining({ hint: expect.stringContaining("claude-desktop, claude-code") }),
    );
  });

  it.each(["claude-desktop", "codex", "zed"])("a project scope for %s", (client) => {
    expect(() => locateTarget(request("linux", client, "project"))).toThrowError(
      expect.objectContaining({ code: "invalid_args", message: `${client} has no project scope.` }),
    );
  });

  it.each(["", "__proto__", "a b", 'a"b', "a.b", "-a", "x".repeat(65)])("the server name %o", (name) => {
    expect(() => locateTarget({ ...request("linux", "codex", undefined), name })).toThrowError(
      expect.objectContaining({ code: "invalid_args" }),
    );
  });

  it("paths that are not absolute, or that the client would rewrite", () => {
    const valid = request("linux", "claude-code", undefined);
    const refusal = expect.objectContaining({ code: "invalid_args" });
    expect(() => buildEntry({ ...valid, command: "llmc" })).toThrowError(refusal);
    expect(() => buildEntry({ ...valid, workspace: "app" })).toThrowError(refusal);
    expect(() => buildEntry({ ...valid, workspace: `/\${HOME}` })).toThrowError(refusal);
    expect(() => buildEntry({ ...valid, client: "codex", workspace: `/\${HOME}` })).not.toThrow();
  });
});

describe("the entry of each client (REQ-P3)", () => {
  const root = (variable: string) => ["serve", "--stdio", "--root", variable];
  const command = "/opt/llmc/bin/llmc";

  it.each([
    ["claude-desktop", undefined, { command, args: root("/srv/app") }],
    ["claude-code", "project", { type: "stdio", command, args: root("/srv/app") }],
    ["claude-code", "user", { type: "stdio", command, args: root("/srv/app") }],
    ["cursor", "project", { type: "stdio", command, args: root(`\${workspaceFolder}`) }],
    ["cursor", "user", { type: "stdio", command, args: root("/srv/app") }],
    ["vscode", "project", { type: "stdio", command, args: root(`\${workspaceFolder}`) }],
    ["vscode", "user", { type: "stdio", command, args: root("/srv/app") }],
    ["codex", undefined, { command, args: root("/srv/app") }],
    ["zed", undefined, { command, args: root("/srv/app"), env: {} }],
  ] as const)("%s, scope %s", (client, scope, entry) => {
    expect(buildEntry(request("linux", client, scope))).toEqual(entry);
  });

  it("carries further arguments and an environment", () => {
    const entry = buildEntry({
      ...request("linux", "codex", undefined),
      extraArgs: ["--mode", "full"],
      env: { LLMC_LOG: "debug" },
    });
    expect(entry.args.slice(-3)).toEqual(["/srv/app", "--mode", "full"]);
    expect(entry.env).toEqual({ LLMC_LOG: "debug" });
  });
});
