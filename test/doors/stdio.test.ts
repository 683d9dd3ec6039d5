import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { openTestApp, shareTestApp } from "../app.ts";
import { failureOf, textOf } from "../server.ts";
import { createWorkspace, type Workspace } from "../workspace.ts";
import { STDIO_PEERS, type StdioPeer } from "./stdio-peers.ts";

const SIDECAR = "DOCS/agents.core.min.md";
const SIDECAR_URI = "llmc://docs/agents.core.min.md";

const namesOf = async (peer: StdioPeer): Promise<readonly string[]> =>
  (await peer.tools()).map(({ name }) => name);

/** Longer than a watch, its settling and a busy machine need together. */
const NEWS = { timeout: 10_000, interval: 20 };

const FORMS = [
  { form: "one process", args: ["--set", "mcp.subprocess=false"] },
  { form: "front and core", args: [] },
] as const;

const CLIENTS = FORMS.flatMap((form) => STDIO_PEERS.map((peer) => ({ ...form, ...peer })));

// One server for each: its tests follow one another through the modes, as a user who edits the configuration does.
describe.each(CLIENTS)("a $library client of $revision over stdio, $form", ({ revision, connect, args }) => {
  let workspace: Workspace;
  let peer: StdioPeer;
  beforeAll(async () => {
    workspace = await createWorkspace({ "a.txt": "one\ntwo\n", "sub/b.txt": "b", [SIDECAR]: "# Agents\n" });
    peer = await connect(workspace.root, args);
  });
  afterAll(async () => {
    await peer.close();
    await workspace.remove();
  });

  test("REQ-D10 REQ-T1 REQ-D13 no config: hybrid, and text alone", async () => {
    expect(peer.revision).toBe(revision);
    const tools = await peer.tools();
    expect(tools.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["00_INIT", "read_file", "list_dir"]),
    );
    expect(tools.filter((tool) => tool.outputSchema !== undefined)).toEqual([]);

    const read = await peer.call("read_file", { path: "a.txt" });
    expect(read.content).toEqual([{ type: "text", text: "one\ntwo\n" }]);
    expect(read.structuredContent).toBeUndefined();
    expect(textOf(await peer.call("list_dir")).split("\n")).toEqual(["DOCS/", "a.txt", "sub/"]);
    expect(await peer.call("list_dir", { path: "sub" })).not.toHaveProperty("structuredContent");
  });

  test("REQ-M6 the instructions come at the start, and again from 00_INIT", async () => {
    expect(peer.instructions).toContain("Hybrid mode");
    for (const name of await namesOf(peer)) expect(peer.instructions).toContain(name);
    expect(textOf(await peer.call("00_INIT"))).toBe(peer.instructions);
  });

  test("REQ-T10 sidecar documents are resources; those that do not exist are left out", async () => {
    expect(await peer.resources()).toEqual([SIDECAR_URI]);
    expect(await peer.read(SIDECAR_URI)).toBe("# Agents\n");
    await expect(peer.read("llmc://docs/contracts.env.min.md")).rejects.toThrow(/no resource/);
  });

  test("REQ-M8 the client is told when a config appears", async () => {
    expect(await namesOf(peer)).not.toContain("stat");
    await workspace.write("llmc.toml", "[mcp]\n");
    await vi.waitFor(() => expect(peer.toolNews()).toBe(1), NEWS);
    expect(await namesOf(peer)).toContain("stat");
    expect(textOf(await peer.call("00_INIT"))).toContain("Classic mode");
  });

  test("REQ-D5 REQ-D13 REQ-T8 a config that names no mode: classic, with schemas and structured content", async () => {
    const tools = await peer.tools();
    for (const tool of tools) expect(tool.outputSchema, tool.name).toMatchObject({ type: "object" });
    const read = await peer.call("read_file", { path: "a.txt", limit: 1 });
    expect(read.structuredContent).toMatchObject({
      data: "one\n",
      meta: { path: "a.txt", length: 8, truncated: true },
    });
    expect((await peer.call("health")).structuredContent).toMatchObject({
      data: { ok: true },
      meta: { mode: "classic" },
    });
    expect((await peer.call("get_metrics")).structuredContent).toHaveProperty("data");
    expect((await peer.call("stat", { path: "a.txt" })).structuredContent).toMatchObject({
      data: { size: 8, type: "file" },
    });
  });

  test("REQ-D2 a failure reaches the caller as a result, also where the tool has an output schema", async () => {
    // The libraries check structured content against the schemas that they saw in the list.
    await peer.tools();
    const { error, meta } = failureOf(await peer.call("read_file", { path: "missing.txt" }));
    expect(meta.error_code).toBe("file_not_found");
    expect(error).toContain("missing.txt");
    expect(failureOf(await peer.call("stat", { path: "../outside" })).meta.error_code).toBe("path_denied");
  });

  test("REQ-M8 the client is told when the mode of its config changes", async () => {
    const before = peer.toolNews();
    await workspace.write("llmc.toml", '[mcp]\nmode = "hybrid"\n');
    await vi.waitFor(() => expect(peer.toolNews()).toBe(before + 1), NEWS);
    expect(await namesOf(peer)).not.toContain("stat");
    await expect(peer.call("stat", { path: "a.txt" })).rejects.toThrow(/stat exists, but is not listed/);
  });
});

test.each([
  { title: "no config", config: undefined, mode: "Hybrid" },
  { title: "an empty config", config: "", mode: "Classic" },
  { title: "a config with other keys", config: "[mcp.tools]\nread_timeout = 5\n", mode: "Classic" },
  { title: "a config that names one", config: '[mcp]\nmode = "hybrid"\n', mode: "Hybrid" },
])("REQ-D5 REQ-M1 $title: $mode", async ({ config, mode }) => {
  const app = await openTestApp(config === undefined ? {} : { config });
  expect(await app.text("00_INIT")).toContain(`${mode} mode`);
});

describe.concurrent("modes over stdio", () => {
  test("REQ-M1 --mode without config", async () => {
    await using workspace = await createWorkspace();
    const server = await workspace.start({ args: ["--mode", "code_execution"] });
    expect(textOf(await server.call("00_INIT"))).toContain("Code execution mode");
  });

  test("REQ-M1 --mode over a config: it stays in force when the config is edited", async () => {
    await using workspace = await createWorkspace({ "llmc.toml": '[mcp]\nmode = "classic"\n' });
    const server = await workspace.start({ args: ["--mode", "hybrid"] });
    expect(textOf(await server.call("00_INIT"))).toContain("Hybrid mode");
    const before = await server.toolNames();
    await workspace.write("llmc.toml", '[mcp]\nmode = "classic"\nconfig_version = "v1"\n');
    await server.until(() => server.stderr.includes("configuration reloaded"), "the reload");
    expect(await server.toolNames()).toEqual(before);
    expect(server.messages.filter(({ method }) => method === "notifications/tools/list_changed")).toEqual([]);
  });

  test("REQ-M4 a promoted tool with nothing behind it is warned about and left out", async () => {
    await using workspace = await createWorkspace({
      "llmc.toml": '[mcp]\nmode = "hybrid"\n[mcp.hybrid]\npromoted_tools = ["stat", "no_such_tool"]\n',
    });
    const server = await workspace.serve();
    expect(await server.toolNames()).toEqual(
      expect.arrayContaining(["00_INIT", "read_file", "list_dir", "stat"]),
    );
    expect(await server.toolNames()).not.toContain("no_such_tool");
    await server.until(() => /"no_such_tool".*left out/.test(server.stderr), "the warning");
  });

  test("REQ-M5 REQ-M7 a tool list over the budget is warned about; hybrid's is under 5 KB", async () => {
    await using workspace = await createWorkspace();
    const over = await workspace.serve({ args: ["--set", "mcp.hybrid.bootstrap_budget_warning=100"] });
    await over.until(
      () => over.stderr.includes("is over mcp.hybrid.bootstrap_budget_warning"),
      "the warning",
    );
    const within = await workspace.serve();
    expect(within.stderr).not.toContain("is over mcp.hybrid.bootstrap_budget_warning");
    const { result } = await within.request("tools/list");
    expect(JSON.stringify(result?.["tools"]).length).toBeLessThan(5 * 1024);
  });
});

/** Tools that a text names; `stat` in the list of allowed programs is the program. */
const namedIn = (text: string, known: readonly string[]): readonly string[] => {
  const prose = text.replace(/Allowed programs: [^.]*\./, "");
  return known
    .filter((name) => new RegExp(`(?<![A-Za-z0-9_])${name}(?![A-Za-z0-9_])`).test(prose))
    .toSorted();
};

describe.concurrent("FAIL-D1 REQ-D1 listed = callable = named in the prompt", () => {
  const classic = shareTestApp({ overrides: { "mcp.mode": "classic" } });

  test.each([
    { title: "classic", args: ["--mode", "classic"] },
    { title: "hybrid", args: ["--mode", "hybrid"] },
    {
      title: "hybrid with promotions",
      args: ["--mode", "hybrid", "--set", 'mcp.hybrid.promoted_tools=["stat","health"]'],
    },
    { title: "code_execution", args: ["--mode", "code_execution"] },
  ])("$title", async ({ args }) => {
    await using workspace = await createWorkspace({ "a.txt": "x" });
    // Names of tools that exist in other modes or will exist one day must not be promised, either.
    const everything = classic()
      .core.listTools()
      .map(({ name }) => name);
    const known = [...new Set([...everything, "linux_fs_write", "linux_fs_edit", "run_cmd", "execute_code"])];

    const server = await workspace.serve({ args, handshake: false });
    const { result } = await server.handshake();
    const listed = await server.toolNames();
    const callable: string[] = [];
    for (const name of known) {
      const { error } = await server.request("tools/call", { name, arguments: {} });
      if (error === undefined) callable.push(name);
      else expect(error, name).toMatchObject({ code: -32602, data: { error_code: "unknown_tool" } });
    }
    expect(callable.toSorted()).toEqual(listed.toSorted());
    const instructions = String(result?.["instructions"]);
    expect(namedIn(instructions, known)).toEqual(listed.toSorted());
    expect(namedIn(textOf(await server.call("00_INIT")), known)).toEqual(listed.toSorted());
  });
});

describe("REQ-D21: a configuration file that names no mode", () => {
  test("the start says so in its log, with both prices", async () => {
    await using workspace = await createWorkspace({ "llmc.toml": "[mcp]\n" });
    const server = await workspace.serve();
    const notified =
      /names no mode, so the mode is classic \(\d+ tools, \d+ tokens\).*hybrid.*\(8 tools, \d+ tokens\)/;
    await server.until(() => notified.test(server.stderr), "both prices");
    expect(await server.toolNames()).toContain("stat");
  });
});
