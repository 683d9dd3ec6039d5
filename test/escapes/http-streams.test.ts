import { describe, expect, test } from "vitest";
import { ANN, BOB, initialize, openSocket, openTokenDoor, ping, postMcp } from "../doors/two-tokens.ts";
import { toolModule } from "../workspace.ts";

const SSE = { accept: "text/event-stream" };

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
    const limits = "[mcp.limits]\nconcurrency_per_token = 2\nqueue_per_token = 0\n";
    await using door = await openTokenDoor(`[mcp.tools]\ncustom_modules = "mods"\n${limits}`, {
      "mods/m.mjs": toolModule(`
        tool("wait", (args, ports, { signal }) =>
          new Promise((resolve) => signal.addEventListener("abort", () => resolve("ended"))));
      `),
    });
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
