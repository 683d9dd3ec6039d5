import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { trustWorkspace } from "../app.ts";
import { connectVersion2 } from "../conformance/peers.ts";
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
import { toolModule } from "../workspace.ts";

/** `wait` leaves a file where it was ended. */
const MODULE = `
import { writeFileSync } from "node:fs";
${toolModule(`
  tool("wait", async ({ mark }, ports, call) => {
    writeFileSync(import.meta.dirname + "/begun-" + mark, "");
    await new Promise((resolve) => call.signal.addEventListener("abort", resolve));
    writeFileSync(import.meta.dirname + "/ended-" + mark, "");
  }, kit.z.strictObject({ mark: kit.z.string() }));
`)}`;

const MORE = `[mcp.tools]
enable_run_cmd = true
run_cmd_allowlist = ["cat", "sleep"]
custom_modules = "mods"
`;

const open = (): Promise<TokenDoor> => openTokenDoor(MORE, { "mods/m.mjs": MODULE, "a.txt": "hello\n" });

const marked = (door: TokenDoor, name: string) =>
  expect.poll(() => existsSync(join(door.root, "mods", name)), { timeout: 5000, interval: 5 }).toBe(true);

/** Resolves with what happened, or with "still open" a second later. */
const withinASecond = <T>(happens: Promise<T>): Promise<T | "still open"> =>
  Promise.race([
    happens,
    new Promise<"still open">((resolve) => setTimeout(() => resolve("still open"), 1000)),
  ]);

const alive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

const SSE = { accept: "text/event-stream" };

/** Everything that a token can have open, each with a promise of its end. */
const openAll = async (door: TokenDoor, who: typeof BOB, name: string) => {
  const wait = (mark: string) => ({ session_id: "s", name: "wait", args: { mark: `${name}-${mark}` } });
  const { socket, closed } = await openSocket(door, who);
  socket.send(JSON.stringify({ id: 1, ...wait("socket") }));
  const session = await initialize(door, who);
  const listening = await door.get("/mcp", { ...SSE, ...who, "mcp-session-id": session });
  const begun = (mark: string) => marked(door, `begun-${name}-${mark}`);
  const plain = door
    .post("/tool", wait("plain"), who)
    .then(({ status }) => status)
    .catch(() => "cut");
  const streamed = door
    .post("/tool", wait("stream"), { ...SSE, ...who })
    .then((answer) => answer.text())
    .catch(() => "cut");
  const params = { name: "wait", arguments: { mark: `${name}-mcp` } };
  const mcp = postMcp(door, who, { id: 4, method: "tools/call", params }, { "mcp-session-id": session })
    .then((answer) => answer.text())
    .catch(() => "cut");
  const peer = await connectVersion2(new URL(`${door.url}/mcp`), "modern", who);
  const modern = peer.call("wait", { mark: `${name}-modern` }).catch(() => "cut");
  await Promise.all(["socket", "plain", "stream", "mcp", "modern"].map(begun));
  return {
    socket,
    session,
    ends: {
      socket: closed,
      listening: listening.text().then(
        () => "ended",
        () => "cut",
      ),
      plain,
      streamed,
      mcp,
      modern,
    },
    marks: ["socket", "plain", "stream", "mcp", "modern"].map((mark) => `ended-${name}-${mark}`),
  };
};

describe("FAIL-J8: a token that is taken out of the file", () => {
  test("REQ-D25 ends its sockets, streams, calls, sessions and processes within a second; the other's go on", async () => {
    await using door = await open();
    const { pid } = await door.ask(BOB, "linux_proc_start", { command: "cat" });
    const { proc_id: kept, pid: keptPid } = await door.ask(ANN, "linux_proc_start", { command: "cat" });
    const ann = await openAll(door, ANN, "ann");
    const bob = await openAll(door, BOB, "bob");
    await door.setBob(undefined);

    expect(await withinASecond(bob.ends.socket)).toBe(1008);
    expect(await withinASecond(bob.ends.listening)).not.toBe("still open");
    expect(await withinASecond(bob.ends.plain)).toBe(401);
    expect(await withinASecond(bob.ends.streamed)).toMatch(/event: error\ndata: .*AUTH_FAILED/);
    expect(await withinASecond(bob.ends.mcp)).not.toBe("still open");
    expect(await withinASecond(bob.ends.modern)).not.toBe("still open");
    for (const mark of bob.marks) await marked(door, mark);
    await expect.poll(() => alive(Number(pid)), { timeout: 1000, interval: 10 }).toBe(false);
    expect(await ping(door, BOB, bob.session)).toBe(401);

    expect(alive(Number(keptPid))).toBe(true);
    expect(await ping(door, ANN, ann.session)).toBe(200);
    expect(ann.socket.readyState).toBe(ann.socket.OPEN);
    expect(ann.marks.some((mark) => existsSync(join(door.root, "mods", mark)))).toBe(false);
    expect(await door.ask(ANN, "linux_proc_list")).toMatchObject({ processes: [{ proc_id: kept }] });
  });

  test("REQ-D25 a token that is issued anew under the same name is somebody else", async () => {
    const { writeFileSync } = await import("node:fs");
    const { createHash } = await import("node:crypto");
    await using door = await openTokenDoor("", { "long.txt": "line\n".repeat(3000) });
    const { handle } = await door.ask(BOB, "linux_fs_read", { path: "long.txt", max_lines: 3 });
    const digest = createHash("sha256").update("another-secret").digest("hex");
    const tokens = ["ann read env:ANN", `bob read sha256:${digest}`];
    writeFileSync(
      join(door.root, "llmc.toml"),
      `[mcp]\nmode = "classic"\n[mcp.auth]\ntokens = ${JSON.stringify(tokens)}\n`,
    );
    await trustWorkspace(door.root);
    const again = { "x-llmc-token": "another-secret" };
    await expect
      .poll(async () => (await door.get("/openapi.json", again)).status, { timeout: 5000 })
      .toBe(200);
    expect(await door.ask(again, "linux_handle_read", { handle })).toMatchObject({ code: "NOT_FOUND" });
    expect(await door.ask(BOB, "linux_handle_read", { handle })).toMatchObject({ code: "AUTH_FAILED" });
  });
});

describe("FAIL-J8: a token whose scopes are narrowed", () => {
  test("loses what runs with them, and may do no more at the next message", async () => {
    await using door = await open();
    const { pid } = await door.ask(BOB, "linux_proc_start", { command: "cat" });
    const bob = await openAll(door, BOB, "bob");
    await door.setBob("read");
    expect(await withinASecond(bob.ends.socket)).toBe(1008);
    expect(await withinASecond(bob.ends.plain)).toBe(401);
    await expect.poll(() => alive(Number(pid)), { timeout: 1000, interval: 10 }).toBe(false);
    const { socket } = await openSocket(door, BOB);
    const call = { id: 1, session_id: "s", name: "linux_proc_start", args: { command: "cat" } };
    expect(await askSocket(socket, call)).toMatchObject({ event: "error", data: { code: "FORBIDDEN" } });
    const read = { id: 2, session_id: "s", name: "read_file", args: { path: "a.txt" } };
    expect(await askSocket(socket, read)).toMatchObject({ event: "result" });
    socket.close();
  });

  test("keeps its processes where it may still run some, and loses its programs", async () => {
    await using door = await open();
    const { pid, proc_id } = await door.ask(BOB, "linux_proc_start", { command: "cat" });
    const program = (code: string) =>
      door.ask(BOB, "execute_code", { language: "javascript", code, session: "s" });
    await program("globalThis.n = 1");
    await door.setBob("read,execute");
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(alive(Number(pid))).toBe(true);
    expect(await program("typeof n")).toMatchObject({ data: { result: "undefined" } });
    expect(await door.ask(BOB, "linux_proc_stop", { proc_id })).toMatchObject({ state: "ended" });
  });
});
