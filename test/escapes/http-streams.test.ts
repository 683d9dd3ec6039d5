import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ANN, BOB, initialize, openSocket, openTokenDoor, ping, postMcp } from "../doors/two-tokens.ts";
import { toolModule } from "../workspace.ts";

const SSE = { accept: "text/event-stream" };

/** Each token has two places for calls and so many to wait; the tool `wait` ends when it is cancelled. */
const openWaitingDoor = (queue = 0) => {
  const limits = `[mcp.limits]\nconcurrency_per_token = 2\nqueue_per_token = ${queue}\n`;
  return openTokenDoor(`[mcp.tools]\ncustom_modules = "mods"\n${limits}`, {
    "mods/m.mjs": toolModule(`
      tool("wait", (args, ports, { signal }) =>
        new Promise((resolve) => signal.addEventListener("abort", () => resolve("ended"))));
    `),
  });
};

describe("FAIL-J8 FAIL-J9 one token leaves room for the others", () => {
  test("REQ-D25 a batch is refused: it would pass every limit as one request", async () => {
    await using door = await openTokenDoor();
    const session = await initialize(door, BOB);
    const call = { jsonrpc: "2.0", id: 3, method: "tools/call", params: { name: "health", arguments: {} } };
    const answer = await door.post("/mcp", [call, { ...call, id: 4 }], {
      accept: "application/json, text/event-stream",
      ...BOB,
      "mcp-session-id": session,
    });
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(await answer.text()).toContain("Batches are not supported");
    expect(await ping(door, BOB, session)).toBe(200);
  });

  test("REQ-H3 calls whose client has left keep their places until they end", async () => {
    await using door = await openWaitingDoor();
    const headers = { "mcp-session-id": await initialize(door, BOB) };
    const call = (name: string, id: number, signal?: AbortSignal) =>
      postMcp(door, BOB, { id, method: "tools/call", params: { name, arguments: {} } }, headers, signal);
    for (const id of [11, 12]) {
      const client = new AbortController();
      expect((await call("wait", id, client.signal)).status).toBe(200);
      client.abort();
    }
    // An answer to ann comes after the server has seen bob leave.
    expect(await door.ask(ANN, "health")).toMatchObject({ data: { ok: true } });
    expect((await call("health", 13)).status).toBe(429);
    await postMcp(door, BOB, { method: "notifications/cancelled", params: { requestId: 11 } }, headers);
    await expect.poll(async () => (await call("health", 14)).status).toBe(200);
  });

  test("FAIL-D5 REQ-H3 a call that is cancelled gives its place back, and its stream ends without an answer", async () => {
    await using door = await openWaitingDoor();
    const headers = { "mcp-session-id": await initialize(door, BOB) };
    const call = (name: string, id: number | string) =>
      postMcp(door, BOB, { id, method: "tools/call", params: { name, arguments: {} } }, headers);
    const ids = [11, "11"];
    const streams = await Promise.all(ids.map((id) => call("wait", id)));
    expect((await call("health", 13)).status).toBe(429);
    for (const id of ids)
      await postMcp(door, BOB, { method: "notifications/cancelled", params: { requestId: id } }, headers);
    for (const stream of streams) expect(await stream.text()).not.toMatch(/"id":"?11\b/);
    const again = await call("health", 11);
    expect(await again.text()).toMatch(/"id":11\b/);
  });

  test("FAIL-D5 a call that is cancelled while it waits for its place is not done later", async () => {
    await using door = await openWaitingDoor(1);
    const headers = { "mcp-session-id": await initialize(door, BOB) };
    const call = (id: number, name: string, args: object = {}) =>
      postMcp(door, BOB, { id, method: "tools/call", params: { name, arguments: args } }, headers);
    const cancel = (requestId: number) =>
      postMcp(door, BOB, { method: "notifications/cancelled", params: { requestId } }, headers);
    await Promise.all([call(11, "wait"), call(12, "wait")]);
    const waits = call(13, "linux_fs_write", { path: "log.txt", content: "x" });
    // It has come when there is no room behind it.
    await expect.poll(async () => (await call(14, "health")).status).toBe(429);
    // Cancelling it must not be about another one with its id.
    expect((await call(13, "health")).status).toBe(400);
    await cancel(13);
    expect((await waits).status).not.toBe(200);
    await Promise.all([cancel(11), cancel(12)]);
    await expect.poll(async () => (await call(15, "health")).status).toBe(200);
    expect(existsSync(join(door.root, "log.txt"))).toBe(false);
  });

  test("FAIL-D2 a request with the id of another one that has no answer yet is refused, and nothing is lost", async () => {
    await using door = await openTokenDoor();
    const headers = { "mcp-session-id": await initialize(door, BOB) };
    const append = { name: "linux_fs_write", arguments: { path: "log.txt", content: "x", mode: "append" } };
    const answers = await Promise.all(
      Array.from({ length: 8 }, async () => {
        const answer = await postMcp(door, BOB, { id: 9, method: "tools/call", params: append }, headers);
        return { status: answer.status, text: await answer.text() };
      }),
    );
    const done = answers.filter(({ status }) => status === 200);
    expect(answers.filter(({ status }) => status === 400)).toHaveLength(8 - done.length);
    for (const { text } of done) expect(text).toContain("ok: 1 bytes");
    expect(readFileSync(join(door.root, "log.txt"), "utf8")).toHaveLength(done.length);
  });

  test("REQ-D25 open streams are bounded, and another token's are not affected", async () => {
    await using door = await openTokenDoor();
    const sockets = await Promise.all(Array.from({ length: 64 }, () => openSocket(door, BOB)));
    const streams: Response[] = [];
    for (let at = 0; at < 64; at++) {
      const session = await initialize(door, BOB);
      streams.push(await door.get("/mcp", { ...SSE, ...BOB, "mcp-session-id": session }));
    }
    expect(streams.map(({ status }) => status)).toEqual(Array(64).fill(200));
    const session = await initialize(door, BOB);
    const refused = await door.get("/mcp", { ...SSE, ...BOB, "mcp-session-id": session });
    expect(refused.status).toBe(429);
    expect(await refused.text()).toContain("Too many streams");
    const ann = await door.get("/mcp", { ...SSE, ...ANN, "mcp-session-id": await initialize(door, ANN) });
    expect(ann.status).toBe(200);
    await Promise.all([ann, ...streams].map(({ body }) => body?.cancel()));
    for (const { socket } of sockets) socket.close();
  });
});
