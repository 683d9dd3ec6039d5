import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { openHttpDoor, UNLIMITED } from "../doors/http-door.ts";
import { connectVersion1, connectVersion2, type Peer } from "./peers.ts";

const MODULES = fileURLToPath(new URL("modules", import.meta.url));
const SIDECAR = "DOCS/agents.core.min.md";
const SIDECAR_URI = "llmc://docs/agents.core.min.md";

const PEERS = [
  { library: "1.x", revision: "2025-11-25", connect: connectVersion1 },
  { library: "2.x", revision: "2025-11-25", connect: (url: URL) => connectVersion2(url, "legacy") },
  { library: "2.x", revision: "2026-07-28", connect: (url: URL) => connectVersion2(url, "modern") },
] as const;

const config = (mode: string): string => `[mcp]\nmode = "${mode}"\n`;

interface Opened extends AsyncDisposable {
  readonly url: URL;
  /** Writes a file of the workspace. */
  write(path: string, text: string): void;
}

const open = async (): Promise<Opened> => {
  const door = await openHttpDoor({
    args: ["--set", "mcp.auth.mode=none", "--set", `mcp.tools.custom_modules=${MODULES}`, ...UNLIMITED],
    files: { "llmc.toml": config("classic"), [SIDECAR]: "# First\n" },
  });
  return {
    url: new URL(`${door.url}/mcp`),
    write: (path, text) => writeFileSync(join(door.root, path), text),
    [Symbol.asyncDispose]: door[Symbol.asyncDispose],
  };
};

/** Longer than a watch, its settling and a busy machine need together. */
const NEWS = { timeout: 10_000, interval: 20 };

describe.each(PEERS)("a $library client of $revision over HTTP", ({ revision, connect }) => {
  describe("in one session", () => {
    let opened: Opened;
    let peer: Peer;
    beforeAll(async () => {
      opened = await open();
      peer = await connect(opened.url);
    });
    afterAll(async () => {
      await peer.close();
      await opened[Symbol.asyncDispose]();
    });

    test("REQ-D10 connects, lists, calls and sees progress", async () => {
      expect(peer.revision).toBe(revision);
      expect(peer.serverName).toBe("llmc");
      expect(await peer.tools()).toEqual(expect.arrayContaining(["read_file", "list_dir", "00_INIT"]));
      expect(await peer.call("read_file", { path: SIDECAR })).toContain("# First");
      const steps: number[] = [];
      await peer.call("test_tool_with_progress", {}, (done) => steps.push(done));
      expect(steps).toEqual([0, 50, 100]);
    });

    test("REQ-D10 answers a question of a tool in the middle of a call", async () => {
      expect(await peer.call("test_elicitation", { message: "Who?" })).toContain('"username":"ada"');
    });

    test("REQ-D10 calls a tool whose argument is mirrored in a header", async () => {
      // A client learns from the list which arguments it must mirror.
      await peer.tools();
      expect(await peer.call("test_mirrored_argument", { region: "Zürich" })).toBe('{"region":"Zürich"}');
    });

    test("REQ-D10 REQ-T9 finds a process again that an earlier request started", async () => {
      const [id = ""] = (await peer.call("linux_proc_start", { command: "cat" })).split(" ");
      expect(await peer.call("linux_proc_send", { proc_id: id, input: "still there" })).toContain(
        "still there",
      );
      expect(await peer.call("linux_proc_stop", { proc_id: id })).not.toContain("error");
    });

    test("REQ-D10 gets the result of a call whose stream ended early", async () => {
      expect(await peer.call("test_reconnection")).toBe("Reconnection test completed.");
    });
  });

  test("REQ-M8 learns that an edit of the configuration changed the tool list", async () => {
    await using opened = await open();
    const peer = await connect(opened.url);
    expect(await peer.tools()).toContain("stat");
    opened.write("llmc.toml", config("hybrid"));
    await vi.waitFor(() => expect(peer.news).toContain("tools"), NEWS);
    const names = await peer.tools();
    expect(names).toContain("read_file");
    expect(names).not.toContain("stat");
    await expect(peer.call("stat", { path: SIDECAR })).rejects.toThrow(/stat exists, but is not listed/);
    await peer.close();
  });

  test("REQ-T10 is told of a changed sidecar document while it is subscribed", async () => {
    await using opened = await open();
    const peer = await connect(opened.url);
    expect(await peer.resources()).toContain(SIDECAR_URI);
    expect(await peer.read(SIDECAR_URI)).toBe("# First\n");
    await peer.watch(SIDECAR_URI);
    opened.write(SIDECAR, "# Second\n");
    await vi.waitFor(() => expect(peer.news).toContain(SIDECAR_URI), NEWS);
    expect(await peer.read(SIDECAR_URI)).toBe("# Second\n");

    await peer.unwatch(SIDECAR_URI);
    const heard = peer.news.length;
    opened.write(SIDECAR, "# Third\n");
    // The tool list's news come after the document's: once they are here, the document's would have been, too.
    opened.write("llmc.toml", config("hybrid"));
    await vi.waitFor(() => expect(peer.news.length).toBeGreaterThan(heard), NEWS);
    expect(peer.news.slice(heard)).toEqual(["tools"]);
    await peer.close();
  });
});

const firstEventId = async (body: ReadableStream<Uint8Array> | null): Promise<string> => {
  let text = "";
  for await (const chunk of body?.pipeThrough(new TextDecoderStream()).values({ preventCancel: true }) ??
    []) {
    text += chunk;
    const id = /^id: (\S+)$/m.exec(text)?.[1];
    if (id !== undefined) return id;
  }
  throw new Error(`no event had an id:\n${text}`);
};

describe("a client of 2025-11-25 whose connection breaks", () => {
  const connect = async (url: URL) => {
    const headers: Record<string, string> = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    };
    const post = (message: object, signal?: AbortSignal) =>
      fetch(url, {
        method: "POST",
        headers,
        body: JSON.stringify({ jsonrpc: "2.0", ...message }),
        signal: signal ?? null,
      });
    const params = {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "raw", version: "0" },
    };
    const answer = await post({ id: 1, method: "initialize", params });
    await answer.text();
    headers["mcp-session-id"] = answer.headers.get("mcp-session-id") ?? "";
    headers["mcp-protocol-version"] = "2025-11-25";
    await (await post({ method: "notifications/initialized" })).text();
    const listen = (signal: AbortSignal, more: Record<string, string> = {}) =>
      fetch(url, { headers: { ...headers, ...more }, signal });
    return { post, listen };
  };

  test("REQ-D10 listens again at once", async () => {
    await using opened = await open();
    const { listen } = await connect(opened.url);
    const first = new AbortController();
    expect((await listen(first.signal)).status).toBe(200);
    first.abort();
    const second = new AbortController();
    await vi.waitFor(async () => expect((await listen(second.signal)).status).toBe(200), {
      timeout: 1000,
      interval: 50,
    });
    second.abort();
  });

  test("REQ-D10 comes back for the rest of a call", async () => {
    await using opened = await open();
    const { post, listen } = await connect(opened.url);
    const broken = new AbortController();
    const params = { name: "test_tool_with_logging", arguments: {} };
    const { body } = await post({ id: 2, method: "tools/call", params }, broken.signal);
    const lastSeen = await firstEventId(body);
    broken.abort();
    const rest = await vi.waitFor(
      async () => {
        const answer = await listen(AbortSignal.timeout(5000), { "last-event-id": lastSeen });
        expect(answer.status).toBe(200);
        return answer.text();
      },
      { timeout: 1000, interval: 20 },
    );
    expect(rest).toContain("Tool execution completed");
    expect(rest).toContain("Logged three messages.");
  });
});
