import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createWorkspace, type Workspace } from "../workspace.ts";
import { openDoor } from "./door.ts";
import { connectVersion1, connectVersion2, type Peer } from "./peers.ts";

const MODULES = fileURLToPath(new URL("modules", import.meta.url));
const SIDECAR = "DOCS/agents.core.min.md";
const SIDECAR_URI = "llmc://docs/agents.core.min.md";

const PEERS = [
  { library: "1.x", revision: "2025-11-25", connect: connectVersion1 },
  { library: "2.x", revision: "2025-11-25", connect: (url: URL) => connectVersion2(url, "legacy") },
  { library: "2.x", revision: "2026-07-28", connect: (url: URL) => connectVersion2(url, "modern") },
] as const;

const config = (mode: string): string =>
  `[mcp]\nmode = "${mode}"\n\n[mcp.tools]\ncustom_modules = ${JSON.stringify(MODULES)}\n`;

const open = async (
  connect: (url: URL) => Promise<Peer>,
): Promise<{ readonly peer: Peer; readonly workspace: Workspace }> => {
  const workspace = await createWorkspace({ "llmc.toml": config("classic"), [SIDECAR]: "# First\n" });
  onTestFinished(() => workspace.remove());
  const door = await openDoor(workspace.root);
  onTestFinished(() => door.close());
  const peer = await connect(door.url);
  onTestFinished(() => peer.close());
  return { peer, workspace };
};

/** Longer than a watch, its settling and a busy machine need together. */
const NEWS = { timeout: 10_000, interval: 20 };

describe.each(PEERS)("a $library client of $revision over HTTP", ({ revision, connect }) => {
  test("REQ-D10 connects, lists, calls and sees progress", async () => {
    const { peer } = await open(connect);
    expect(peer.revision).toBe(revision);
    expect(peer.serverName).toBe("llmc");
    expect(await peer.tools()).toEqual(expect.arrayContaining(["read_file", "list_dir", "00_INIT"]));
    expect(await peer.call("read_file", { path: SIDECAR })).toContain("# First");
    const steps: number[] = [];
    await peer.call("test_tool_with_progress", {}, (done) => steps.push(done));
    expect(steps).toEqual([0, 50, 100]);
  });

  test("REQ-D10 answers a question of a tool in the middle of a call", async () => {
    const { peer } = await open(connect);
    expect(await peer.call("test_elicitation", { message: "Who?" })).toContain('"username":"ada"');
  });

  test("REQ-D10 gets the result of a call whose stream ended early", async () => {
    const { peer } = await open(connect);
    expect(await peer.call("test_reconnection")).toBe("Reconnection test completed.");
  });

  test("REQ-M8 learns that an edit of the configuration changed the tool list", async () => {
    const { peer, workspace } = await open(connect);
    expect(await peer.tools()).toContain("stat");
    await workspace.write("llmc.toml", config("hybrid"));
    await vi.waitFor(() => expect(peer.news).toContain("tools"), NEWS);
    const names = await peer.tools();
    expect(names).toContain("read_file");
    expect(names).not.toContain("stat");
    await expect(peer.call("stat", { path: SIDECAR })).rejects.toThrow(/no tool "stat"/);
  });

  test("REQ-T10 is told of a changed sidecar document while it is subscribed", async () => {
    const { peer, workspace } = await open(connect);
    expect(await peer.resources()).toContain(SIDECAR_URI);
    expect(await peer.read(SIDECAR_URI)).toBe("# First\n");
    await peer.watch(SIDECAR_URI);
    await workspace.write(SIDECAR, "# Second\n");
    await vi.waitFor(() => expect(peer.news).toContain(SIDECAR_URI), NEWS);
    expect(await peer.read(SIDECAR_URI)).toBe("# Second\n");

    await peer.unwatch(SIDECAR_URI);
    const heard = peer.news.length;
    await workspace.write(SIDECAR, "# Third\n");
    // The tool list's news come after the document's: once they are here, the document's would have been, too.
    await workspace.write("llmc.toml", config("hybrid"));
    await vi.waitFor(() => expect(peer.news.length).toBeGreaterThan(heard), NEWS);
    expect(peer.news.slice(heard)).toEqual(["tools"]);
  });
});
