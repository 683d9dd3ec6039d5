import { parse } from "smol-toml";
import { describe, expect, it } from "vitest";
import { readJsonc } from "./jsonc-edit.ts";
import { applyConnection, type ConnectDisk, planConnection, planRemoval, printEntry } from "./plan.ts";
import { buildEntry, type ProgramLaunch } from "./target.ts";

interface Stored {
  readonly text: string;
  readonly mode: number | undefined;
}

/** The disk as a map: files of other systems' paths can be tested on any. */
const memoryDisk = (files: Readonly<Record<string, string>> = {}) => {
  const stored = new Map<string, Stored>(
    Object.entries(files).map(([path, text]) => [path, { text, mode: undefined }]),
  );
  const emptied: string[] = [];
  const disk: ConnectDisk = {
    readText: async (path) => stored.get(path)?.text,
    writeText: async (path, text, mode) => {
      stored.set(path, { text, mode });
    },
    exists: async (path) => stored.has(path),
    removeFile: async (path) => void stored.delete(path),
    removeEmptyFolders: async (path, end) => void emptied.push(`${path} up to ${end}`),
  };
  return { disk, stored, emptied };
};

const programAt = (folder: string): ProgramLaunch => {
  const launch = { command: `${folder}/bin/llmc`, args: [], env: { A: "1" } };
  return { withPath: launch, withoutPath: launch, folder };
};

const base = {
  workspace: "/srv/app",
  program: programAt("/opt/llmc"),
  home: "/home/u",
  platform: "linux",
  environment: {},
} as const;

const CASES = [
  {
    client: "claude-desktop",
    scope: "user",
    file: "/home/u/.config/Claude/claude_desktop_config.json",
    key: "mcpServers",
  },
  { client: "claude-code", scope: "project", file: "/srv/app/.mcp.json", key: "mcpServers" },
  { client: "claude-code", scope: "user", file: "/home/u/.claude.json", key: "mcpServers" },
  { client: "cursor", scope: "project", file: "/srv/app/.cursor/mcp.json", key: "mcpServers" },
  { client: "cursor", scope: "user", file: "/home/u/.cursor/mcp.json", key: "mcpServers" },
  { client: "vscode", scope: "project", file: "/srv/app/.vscode/mcp.json", key: "servers" },
  { client: "vscode", scope: "user", file: "/home/u/.config/Code/User/mcp.json", key: "servers" },
  { client: "codex", scope: "user", file: "/home/u/.codex/config.toml", key: "mcp_servers" },
  { client: "zed", scope: "user", file: "/home/u/.config/zed/settings.json", key: "context_servers" },
  { client: "zed", scope: "project", file: "/srv/app/.zed/settings.json", key: "context_servers" },
  { client: "opencode", scope: "project", file: "/srv/app/opencode.json", key: "mcp" },
  { client: "opencode", scope: "user", file: "/home/u/.config/opencode/opencode.json", key: "mcp" },
  { client: "gemini", scope: "project", file: "/srv/app/.gemini/settings.json", key: "mcpServers" },
  { client: "gemini", scope: "user", file: "/home/u/.gemini/settings.json", key: "mcpServers" },
  { client: "windsurf", scope: "user", file: "/home/u/.codeium/windsurf/mcp_config.json", key: "mcpServers" },
  {
    client: "cline",
    scope: "user",
    file: "/home/u/.cline/data/settings/cline_mcp_settings.json",
    key: "mcpServers",
  },
  { client: "jetbrains", scope: "project", file: "/srv/app/.junie/mcp/mcp.json", key: "mcpServers" },
  { client: "jetbrains", scope: "user", file: "/home/u/.junie/mcp/mcp.json", key: "mcpServers" },
] as const;

const existing = (client: string, key: string): string =>
  client === "codex"
    ? '# my model\nmodel = "m" # keep\n\n[mcp_servers.docs] # theirs\ncommand = "docs"\n'
    : `// mine\n{\n  "theme": "dark", // keep\n  "${key}": {\n    "docs": { "command": "docs" } /* theirs */\n  },\n  "last": [1, 2,],\n}\n`;

const read = (client: string, text = ""): object =>
  Object(client === "codex" ? parse(text) : readJsonc(text, "f"));

describe.each(CASES)("connecting $client, $scope scope (REQ-P3)", ({ client, scope, file, key }) => {
  const request = { ...base, client, scope };
  const entry = buildEntry(request);

  it("makes the file where there is none", async () => {
    const { disk, stored } = memoryDisk();
    const plan = await planConnection({ ...request, disk });
    expect(plan).toMatchObject({ file, before: undefined, changed: true, entry });
    expect(read(client, plan.after)).toEqual({ [key]: { llmc: entry } });
    expect(plan.after).toBe(printEntry(client, entry));
    if (client !== "codex") expect(JSON.parse(plan.after ?? "")).toEqual({ [key]: { llmc: entry } });

    expect(stored.size).toBe(0);
    expect(await applyConnection(plan, disk)).toEqual({ file, written: true, backup: undefined });
    expect([...stored]).toEqual([[file, { text: plan.after, mode: scope === "user" ? 0o600 : 0o644 }]]);
  });

  it("keeps other servers, settings and comments, makes one backup, and is done after once", async () => {
    const before = existing(client, key);
    const { disk, stored } = memoryDisk({ [file]: before });
    const plan = await planConnection({ ...request, disk });
    expect(read(client, plan.after)).toEqual({
      ...read(client, before),
      [key]: { docs: { command: "docs" }, llmc: entry },
    });
    for (const comment of before.match(/(?:\/\/|#).*|\/\*.*\*\//g) ?? [])
      expect(plan.after).toContain(comment);

    const backup = `${file}.llmc-backup`;
    expect(await applyConnection(plan, disk)).toEqual({ file, written: true, backup });
    expect(stored.get(backup)).toEqual({ text: before, mode: 0o600 });

    const second = await planConnection({ ...request, disk });
    expect(second).toMatchObject({ changed: false, before: plan.after, after: plan.after });
    expect(await applyConnection(second, disk)).toEqual({ file, written: false, backup: undefined });

    const third = await planConnection({ ...request, extraArgs: ["--more"], disk });
    expect(await applyConnection(third, disk)).toEqual({ file, written: true, backup: undefined });
    expect(stored.get(backup)?.text).toBe(before);
  });

  it("replaces an old entry and nothing else", async () => {
    const { disk, stored } = memoryDisk({ [file]: existing(client, key) });
    const old = await planConnection({ ...request, program: programAt("/old/llmc"), disk });
    await applyConnection(old, disk);
    const plan = await planConnection({ ...request, disk });
    expect(plan.changed).toBe(true);
    expect(plan.after).not.toContain("/old/llmc");
    await applyConnection(plan, disk);
    expect(stored.get(file)?.text).toContain("/opt/llmc/bin/llmc");
  });

  it("refuses a broken file, naming it and the line, and writes nothing", async () => {
    const broken = client === "codex" ? "a = 1\nb = \n" : '{\n  "a": ,\n}\n';
    const { disk, stored } = memoryDisk({ [file]: broken });
    const refusal = {
      code: "invalid_args",
      message: expect.stringContaining(`${file}:2:`),
      details: { file, line: 2 },
    };
    await expect(planConnection({ ...request, disk })).rejects.toMatchObject(refusal);
    await expect(planRemoval({ ...request, disk })).rejects.toMatchObject(refusal);
    expect([...stored.keys()]).toEqual([file]);
  });

  it("removes what it added, and leaves nothing else of its own", async () => {
    const texts = client === "codex" ? ["", "model = 1\n"] : ["", "{}", '{"theme":1}', `{ "${key}": {} }\n`];
    for (const before of [existing(client, key), ...texts]) {
      const { disk, stored } = memoryDisk({ [file]: before });
      await applyConnection(await planConnection({ ...request, disk }), disk);
      expect(stored.size).toBe(2);
      const plan = await planRemoval({ ...request, disk });
      expect(plan).toMatchObject({ file, changed: true, entry: undefined });
      await applyConnection(plan, disk);
      expect([...stored].map(([path, { text }]) => [path, text])).toEqual([[file, before]]);
    }
  });

  it("removes a file that it made, and its folders", async () => {
    const { disk, stored, emptied } = memoryDisk();
    await applyConnection(await planConnection({ ...request, disk }), disk);
    const plan = await planRemoval({ ...request, disk });
    expect(plan.after).toBeUndefined();
    await applyConnection(plan, disk);
    expect(stored.size).toBe(0);
    expect(emptied).toEqual([
      `${file.slice(0, file.lastIndexOf("/"))} up to ${scope === "user" ? "/home/u" : "/srv/app"}`,
    ]);
  });

  it.skipIf(client === "codex")(
    "keeps what was added since, and drops the servers' key that it made",
    async () => {
      const { disk, stored } = memoryDisk({ [file]: '{ "theme": "dark" }' });
      await applyConnection(await planConnection({ ...request, disk }), disk);
      await disk.writeText(file, stored.get(file)?.text.replace('"dark"', '"light"') ?? "");
      await applyConnection(await planRemoval({ ...request, disk }), disk);
      expect([...stored.keys()]).toEqual([file]);
      expect(read(client, stored.get(file)?.text)).toEqual({ theme: "light" });
    },
  );

  it("has nothing to remove where it is not", async () => {
    const before = existing(client, key);
    const { disk } = memoryDisk({ [file]: before });

    expect(await planRemoval({ ...request, disk })).toMatchObject({ changed: false, after: before });
    expect(await planRemoval({ ...request, disk: memoryDisk().disk })).toMatchObject({
      before: undefined,
      changed: false,
    });
  });
});

describe("care with the file", () => {
  const request = { ...base, client: "zed" };
  const file = "/home/u/.config/zed/settings.json";

  it("keeps a byte order mark", async () => {
    const { disk } = memoryDisk({ [file]: "\uFEFF{}" });
    const { after } = await planConnection({ ...request, disk });
    expect(after?.startsWith("\uFEFF{\n")).toBe(true);
  });

  it("refuses text that was not UTF-8", async () => {
    const { disk } = memoryDisk({ [file]: '{ "a": "\uFFFD" }' });
    await expect(planConnection({ ...request, disk })).rejects.toMatchObject({ code: "invalid_args" });
  });

  it("refuses TOML that holds the servers in one inline table", async () => {
    const codex = "/home/u/.codex/config.toml";
    const inline = 'mcp_servers = { llmc = { command = "x" }, b = { command = "b" } }\n';
    const { disk } = memoryDisk({ [codex]: inline });
    const refusal = { code: "invalid_args", message: expect.stringContaining(codex) };
    await expect(planConnection({ ...request, client: "codex", disk })).rejects.toMatchObject(refusal);
    await expect(planRemoval({ ...request, client: "codex", disk })).rejects.toMatchObject(refusal);
  });

  it("uses another name on request", async () => {
    const { disk } = memoryDisk({ [file]: '{ "context_servers": { "llmc": 1 } }' });
    const { after } = await planConnection({ ...request, name: "llmc-2", disk });
    expect(readJsonc(after ?? "", file)).toMatchObject({
      context_servers: { llmc: 1, "llmc-2": { args: ["serve", "--stdio"] } },
    });
  });

  it("writes nothing over a change that came in between", async () => {
    const { disk, stored } = memoryDisk({ [file]: "{}" });
    const plan = await planConnection({ ...request, disk });
    await disk.writeText(file, '{ "new": 1 }');
    await expect(applyConnection(plan, disk)).rejects.toMatchObject({ code: "busy", retryable: true });
    expect(stored.get(file)?.text).toBe('{ "new": 1 }');
    expect(stored.size).toBe(1);
  });

  it("writes behind a link, and keeps the mode, where the disk can tell", async () => {
    const { disk, stored } = memoryDisk({ [file]: "{}" });
    const plan = await planConnection({ ...request, disk });
    const linked: ConnectDisk = {
      ...disk,
      resolveFile: async () => ({ path: "/dotfiles/zed.json", mode: 0o640 }),
    };
    await applyConnection(plan, linked);
    expect(stored.get("/dotfiles/zed.json")).toEqual({ text: plan.after, mode: 0o640 });
    expect(stored.get(file)?.text).toBe("{}");
  });

  it.each([
    ["EACCES", "permission_denied"],
    ["EISDIR", "is_directory"],
    ["ENOTREG", "path_denied"],
    ["ENOTDIR", "not_a_directory"],
    ["ELOOP", "path_denied"],
    ["EFBIG", "file_too_large"],
    ["EROFS", "permission_denied"],
  ])("says what %s means", async (code, expected) => {
    const fail = async () => {
      throw Object.assign(new Error("no"), { code });
    };
    await expect(
      planConnection({ ...request, disk: { readText: fail, exists: async () => true } }),
    ).rejects.toMatchObject({
      code: expected,
      message: expect.stringContaining(file),
    });
    const { disk } = memoryDisk();
    const plan = await planConnection({ ...request, disk });
    await expect(applyConnection(plan, { ...disk, writeText: fail })).rejects.toMatchObject({
      code: expected,
    });
  });
});
