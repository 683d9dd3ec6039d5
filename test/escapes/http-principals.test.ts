import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connectVersion1, connectVersion2 } from "../conformance/peers.ts";
import {
  ANN,
  askSocket,
  BOB,
  initialize,
  openSocket,
  openTokenDoor,
  ping,
  postMcp,
  type TokenDoor,
} from "../doors/two-tokens.ts";
import { MODERN_META } from "../server.ts";
import { toolModule } from "../workspace.ts";

const ASKING = toolModule(`
  const ask = (name) => tool(name, async (args, ports, call) =>
    call.state === undefined
      ? call.ask({ q: { kind: "form", message: "?", schema: { type: "object", properties: {} } } }, "left by " + name)
      : call.state);
  ask("one");
  ask("other");
`);

const MORE = `[mcp.tools]
enable_run_cmd = true
run_cmd_allowlist = ["cat", "sleep", "seq", "echo"]
custom_modules = "mods"
[mcp.te]
session_token_budget = 3000
`;

const MISSING = "h_aaaaaaaaaaaa";

describe("FAIL-J7 REQ-D25: two tokens of one server", () => {
  let door: TokenDoor;
  beforeAll(async () => {
    door = await openTokenDoor(MORE, {
      "mods/m.mjs": ASKING,
      "long.txt": "a line of the file\n".repeat(3000),
    });
  });
  afterAll(() => door[Symbol.asyncDispose]());

  const handleOf = async (who: typeof ANN): Promise<string> => {
    const { handle } = await door.ask(who, "linux_fs_read", { path: "long.txt", max_lines: 3 });
    return String(handle);
  };

  test("a handle is found by its own token, whatever else a caller says of itself", async () => {
    const handle = await handleOf(ANN);
    expect(await door.ask(ANN, "linux_handle_read", { handle }, "another-name")).toHaveProperty("content");
    const labels = { "x-llmc-agent": "ann", "x-llmc-model": "ann", "x-forwarded-for": "127.0.0.1" };
    for (const [name, args] of [
      ["linux_handle_read", (id: string) => ({ handle: id })],
      ["linux_handle_read", (id: string) => ({ handle: `handle:${id}`, chunk: 0 })],
      ["read_file", (id: string) => ({ path: `handle:${id}` })],
    ] as const) {
      const refused = async (id: string) => {
        const answer = await door.post(
          "/tool",
          { session_id: "shared", name, args: args(id) },
          { ...BOB, ...labels },
        );
        const { correlation_id: _id, ...body } = (await answer.json()) as Record<string, unknown>;
        return { status: answer.status, body: JSON.stringify(body).replaceAll(id, "ID") };
      };
      const foreign = await refused(handle);
      expect(foreign.status).toBe(404);
      // Exactly as one that never was.
      expect(foreign).toEqual(await refused(MISSING));
    }
  });

  test("a handle to the same file is not shared between them", async () => {
    const [ann, again, bob] = [await handleOf(ANN), await handleOf(ANN), await handleOf(BOB)];
    expect(again).toBe(ann);
    expect(bob).not.toBe(ann);
  });

  test.each([
    ["1.x client of 2025-11-25", (url: URL, who: typeof ANN) => connectVersion1(url, who)],
    ["2.x client of 2025-11-25", (url: URL, who: typeof ANN) => connectVersion2(url, "legacy", who)],
    ["2.x client of 2026-07-28", (url: URL, who: typeof ANN) => connectVersion2(url, "modern", who)],
  ])("REQ-T10 resources are each token's own for a %s", async (_title, connect) => {
    const uri = `llmc://handles/${await handleOf(ANN)}`;
    const url = new URL(`${door.url}/mcp`);
    const [ann, bob] = [await connect(url, ANN), await connect(url, BOB)];
    expect(await ann.resources()).toContain(uri);
    expect(await ann.read(uri)).toContain("a line of the file");
    expect(await bob.resources()).not.toContain(uri);
    const reason = (missing: string) =>
      bob.read(missing).then(
        () => "was read",
        (error: Error) => error.message.replace(/h_\w+/g, "ID"),
      );
    expect(await reason(uri)).toBe(await reason(`llmc://handles/${MISSING}`));
    await Promise.all([ann.close(), bob.close()]);
  });

  test("REQ-T10 suggestions for the template name the token's own handles only", async () => {
    const handle = await handleOf(ANN);
    const suggested = async (who: typeof ANN): Promise<string> => {
      const session = await initialize(door, who);
      const params = {
        ref: { type: "ref/resource", uri: "llmc://handles/{id}" },
        argument: { name: "id", value: handle.slice(0, 5) },
      };
      const answer = await postMcp(
        door,
        who,
        { id: 3, method: "completion/complete", params },
        { "mcp-session-id": session },
      );
      return answer.text();
    };
    expect(await suggested(ANN)).toContain(handle);
    expect(await suggested(BOB)).not.toContain(handle);
  });

  test("REQ-T9 processes are the token's, over every door, and nobody else's by any verb", async () => {
    const { proc_id, pid } = await door.ask(ANN, "linux_proc_start", { command: "cat" });
    for (const [name, args] of [
      ["linux_proc_read", { proc_id }],
      ["linux_proc_send", { proc_id, input: "typed by bob" }],
      ["linux_proc_stop", { proc_id }],
      ["linux_proc_kill", { proc_id }],
      ["linux_proc_kill", { pid }],
    ] as const)
      expect(await door.ask(BOB, name, args)).toMatchObject({ code: "NOT_FOUND" });
    expect(await door.ask(BOB, "linux_proc_list")).toMatchObject({ processes: [] });

    const peer = await connectVersion2(new URL(`${door.url}/mcp`), "modern", ANN);
    expect(await peer.call("linux_proc_send", { proc_id, input: "one", wait_ms: 2000 })).toContain("one");
    await peer.close();
    const { socket } = await openSocket(door, ANN);
    const call = {
      id: 7,
      session_id: "s",
      name: "linux_proc_send",
      args: { proc_id, input: "two", wait_ms: 2000 },
    };
    expect(await askSocket(socket, call)).toMatchObject({ event: "result", data: { output: "two\n" } });
    socket.close();
    expect(await door.ask(ANN, "linux_proc_stop", { proc_id }, "any")).toMatchObject({ state: "ended" });
  });

  test("an MCP session is not found by its id with another token, to speak, listen, resume or end", async () => {
    const session = await initialize(door, ANN);
    const headers = { accept: "text/event-stream", "mcp-session-id": session };
    expect(await ping(door, BOB, session)).toBe(404);
    expect((await door.get("/mcp", { ...headers, ...BOB })).status).toBe(404);
    for (const lastEvent of ["_GET_stream_1", `${session}_1`, "1_1"])
      expect((await door.get("/mcp", { ...headers, ...BOB, "last-event-id": lastEvent })).status).toBe(404);
    const ended = await fetch(`${door.url}/mcp`, { method: "DELETE", headers: { ...headers, ...BOB } });
    expect(ended.status).toBe(404);
    expect(await ping(door, ANN, session)).toBe(200);
  });

  test("cancelling by id reaches the own connection only", async () => {
    const [ann, bob] = [await openSocket(door, ANN), await openSocket(door, BOB)];
    const running = askSocket(ann.socket, {
      id: 5,
      session_id: "s",
      name: "run_cmd",
      args: { command: "sleep 0.6" },
    });
    bob.socket.send(JSON.stringify({ id: 5, cancel: true }));
    expect(await running).toMatchObject({ event: "result" });
    ann.socket.close();
    bob.socket.close();
  });

  test("REQ-X8 a new session id does not fill the budget again, and a spent one is the other token's no loss", async () => {
    let refused: Record<string, unknown> | undefined;
    for (let i = 0; i < 60 && refused === undefined; i++) {
      const answer = await door.ask(BOB, "run_cmd", { command: `seq ${i} 3000` }, `fresh-${i}`);
      if ("code" in answer) refused = answer;
    }
    expect(refused).toMatchObject({ message: expect.stringContaining("3000 tokens") });
    expect(await door.ask(ANN, "run_cmd", { command: "echo still here" })).toMatchObject({
      data: { stdout: "still here\n" },
    });
    // Nor are the figures of a session shown to whoever names it.
    const stats = await door.ask(ANN, "te_run", { command: "te --stats" }, "fresh-1");
    expect(JSON.stringify(stats)).not.toContain("seq");
  });

  test("the state of a question is good for its own token and tool alone", async () => {
    const call = async (who: typeof ANN, name: string, state?: string) => {
      const params = {
        name,
        arguments: {},
        _meta: {
          ...MODERN_META,
          "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } },
        },
        ...(state === undefined
          ? {}
          : { requestState: state, inputResponses: { q: { action: "accept", content: {} } } }),
      };
      const answer = await postMcp(
        door,
        who,
        { id: 9, method: "tools/call", params },
        {
          "mcp-protocol-version": "2026-07-28",
          "mcp-method": "tools/call",
          "mcp-name": name,
        },
      );
      const text = await answer.text();
      return JSON.parse(text.startsWith("{") ? text : (/^data: (\{.*\})$/m.exec(text)?.[1] ?? "{}")) as {
        result?: { requestState?: string; content?: unknown };
        error?: { code: number };
      };
    };
    const state = (await call(ANN, "one")).result?.requestState;
    expect(state).toBeTypeOf("string");
    expect((await call(BOB, "one", state)).error).toMatchObject({ code: -32602 });
    expect((await call(ANN, "other", state)).error).toMatchObject({ code: -32602 });
    expect(JSON.stringify((await call(ANN, "one", state)).result)).toContain("left by one");
  });
});
