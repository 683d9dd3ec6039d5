import { randomBytes } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import { openTestApp } from "../../test/app.ts";
import { createStateCodec } from "./questions.ts";
import { createSessions } from "./sessions.ts";

const MINUTES = 60_000;
const ACCEPT = { accept: "application/json, text/event-stream" };
const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "0" } },
};

const openSessions = async (onError: (error: Error) => void = () => {}) => {
  const { core, newId } = await openTestApp();
  let nowMs = 0;
  const sessions = createSessions({
    core,
    version: "0",
    codec: createStateCodec(() => randomBytes(32)),
    newId,
    now: () => nowMs,
    onError,
  });
  const post = (message: object, session?: string) =>
    sessions.handle(
      new Request("http://127.0.0.1/mcp", {
        method: "POST",
        headers: {
          ...ACCEPT,
          "content-type": "application/json",
          ...(session === undefined ? {} : { "mcp-session-id": session }),
        },
        body: JSON.stringify(message),
      }),
      { parsedBody: message },
    );
  const initialize = async (): Promise<string> => {
    const answer = await post(INITIALIZE);
    await answer.text();
    return answer.headers.get("mcp-session-id") ?? "";
  };
  return {
    initialize,
    /** Status of a request that does nothing. */
    ping: async (session: string): Promise<number> => {
      const answer = await post({ jsonrpc: "2.0", id: 2, method: "ping" }, session);
      await answer.text();
      return answer.status;
    },
    listen: (session: string, signal: AbortSignal, headers: Readonly<Record<string, string>> = {}) =>
      sessions.handle(
        new Request("http://127.0.0.1/mcp", {
          headers: { ...ACCEPT, "mcp-session-id": session, ...headers },
          signal,
        }),
        {},
      ),
    /** Ids of the events that a call was answered with. */
    call: async (session: string, name: string): Promise<readonly string[]> => {
      const params = { name, arguments: {} };
      const answer = await post({ jsonrpc: "2.0", id: 3, method: "tools/call", params }, session);
      return [...(await answer.text()).matchAll(/^id: (.+)$/gm)].map(([, id]) => id ?? "");
    },
    /** Moves the clock, once what is under way has come to its end. */
    pass: async (ms: number): Promise<void> => {
      await setImmediate();
      nowMs += ms;
    },
  };
};

describe("a session of 2025-11-25", () => {
  test("REQ-D10 ends when nothing was heard of its client for long", async () => {
    const { initialize, ping, pass } = await openSessions();
    const session = await initialize();
    await pass(29 * MINUTES);
    expect(await ping(session)).toBe(200);
    await pass(31 * MINUTES);
    await initialize();
    expect(await ping(session)).toBe(404);
  });

  test("REQ-D10 lives as long as its client listens", async () => {
    const { initialize, ping, listen, pass } = await openSessions();
    const session = await initialize();
    const client = new AbortController();
    const stream = await listen(session, client.signal);
    await pass(31 * MINUTES);
    await initialize();
    expect(await ping(session)).toBe(200);
    client.abort();
    await stream.text().catch(() => {});
    await pass(31 * MINUTES);
    await initialize();
    expect(await ping(session)).toBe(404);
  });

  test("REQ-D10 sends the first bytes of a stream at once, and with them its headers", async () => {
    const { initialize, listen } = await openSessions();
    const client = new AbortController();
    const { body } = await listen(await initialize(), client.signal);
    const first = await body?.getReader().read();
    expect(new TextDecoder().decode(first?.value)).toBe(": open\n\n");
    client.abort();
  });

  test("REQ-D10 tells a client that resumes after what is no longer kept to ask again", async () => {
    const { initialize, listen, call } = await openSessions();
    const session = await initialize();
    const { signal } = new AbortController();
    const [first = ""] = await call(session, "health");
    expect((await listen(session, signal, { "last-event-id": first })).status).toBe(200);
    for (let at = 0; at < 256; at++) await call(session, "health");
    const answer = await listen(session, signal, { "last-event-id": first });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({
      error: { code: -32000, message: "The events after this one are no longer kept: ask again." },
    });
  });

  test("REQ-D10 lets a client whose connection broke listen again", async () => {
    const reported: string[] = [];
    const { initialize, listen } = await openSessions((error) => void reported.push(error.message));
    const session = await initialize();
    const broken = new AbortController();
    await listen(session, broken.signal);
    expect((await listen(session, new AbortController().signal)).status).toBe(409);
    // It is an answer to the client, and nothing that an operator has to read about.
    expect(reported).toEqual([]);
    broken.abort();
    const again = new AbortController();
    await vi.waitFor(async () => expect((await listen(session, again.signal)).status).toBe(200));
    again.abort();
  });
});
