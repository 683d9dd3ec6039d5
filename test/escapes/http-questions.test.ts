import { describe, expect, test } from "vitest";
import { ANN, BOB, initialize, openTokenDoor, postMcp, type TokenDoor } from "../doors/two-tokens.ts";
import { toolModule } from "../workspace.ts";

const YES = { action: "accept", content: {} };

const openAskingDoor = () =>
  openTokenDoor(
    '[mcp.tools]\ncustom_modules = "mods"\n[mcp.limits]\nconcurrency_per_token = 2\nqueue_per_token = 0\n',
    {
      "mods/m.mjs": toolModule(`
        const schema = { type: "object", properties: {} };
        tool("asks", (args, ports, { answers, ask }) =>
          answers?.q ?? ask({ q: { kind: "form", message: "Go on?", schema } }));
        tool("wait", (args, ports, { signal }) =>
          new Promise((resolve) => signal.addEventListener("abort", () => resolve("ended"))));
      `),
    },
  );

/** What has come of a stream so far, until it says something. */
const readUntil = async (stream: ReadableStreamDefaultReader<Uint8Array>, wanted: RegExp) => {
  const decoder = new TextDecoder();
  let text = "";
  while (!wanted.test(text)) {
    const { done, value } = await stream.read();
    if (done) throw new Error(`the stream ended: ${text}`);
    text += decoder.decode(value, { stream: true });
  }
  return text;
};

/** One session of bob's, whose client can be asked. */
const openSession = async (door: TokenDoor) => {
  const headers = { "mcp-session-id": await initialize(door, BOB, { elicitation: {} }) };
  const call = (id: number, name: string, signal?: AbortSignal): Promise<Response> =>
    postMcp(door, BOB, { id, method: "tools/call", params: { name, arguments: {} } }, headers, signal);
  return {
    headers,
    call,
    /** A call that waits for its user's answer. */
    asking: async (id: number, signal?: AbortSignal) => {
      const stream = (await call(id, "asks", signal)).body?.getReader();
      if (stream === undefined) throw new Error("no stream");
      const text = await readUntil(stream, /"method":"elicitation\/create".*\n/);
      const question = JSON.parse(/^data: (\{.*elicitation.*)$/m.exec(text)?.[1] ?? "{}") as { id: number };
      return { stream, question: question.id, firstEvent: /^id: (.*)$/m.exec(text)?.[1] ?? "" };
    },
    answer: (id: number, result: unknown): Promise<Response> => postMcp(door, BOB, { id, result }, headers),
  };
};

describe("REQ-D10 a call over HTTP whose user is asked in the middle of it", () => {
  test("REQ-H3 takes no place among the running calls of its token until it is answered", async () => {
    await using door = await openAskingDoor();
    const { headers, call, asking, answer } = await openSession(door);
    const calls = [await asking(11), await asking(12), await asking(13)];
    expect((await call(20, "health")).status).toBe(200);
    // The places of those that ask are taken by others: whoever is answered waits for one, and is not refused.
    await Promise.all([call(21, "wait"), call(22, "wait")]);
    for (const { question } of calls) expect((await answer(question, YES)).status).toBe(202);
    expect((await call(23, "health")).status).toBe(429);
    for (const id of [21, 22])
      await postMcp(door, BOB, { method: "notifications/cancelled", params: { requestId: id } }, headers);
    for (const { stream } of calls) expect(await readUntil(stream, /"result"/)).toContain("accept");
  });

  test("FAIL-H2 is done when its client has lost the stream, takes it up again and answers", async () => {
    await using door = await openAskingDoor();
    const { headers, asking, answer } = await openSession(door);
    const client = new AbortController();
    const { question, firstEvent } = await asking(11, client.signal);
    client.abort();
    // An answer to ann comes after the server has seen bob leave.
    expect(await door.ask(ANN, "health")).toMatchObject({ data: { ok: true } });
    const resumed = await door.get("/mcp", {
      ...{ ...BOB, ...headers },
      ...{ accept: "text/event-stream", "last-event-id": firstEvent },
    });
    const stream = resumed.body?.getReader();
    if (stream === undefined) throw new Error("no stream");
    expect((await answer(question, YES)).status).toBe(202);
    expect(await readUntil(stream, /"result":\{"content.*\n/)).toContain("accept");
  });

  test.each([
    ["a result that is no object", "yes"],
    ["no result at all", null],
    ["a list", [YES]],
  ])("FAIL-D2 ends its question where the answer is %s, and the client is told", async (_, result) => {
    await using door = await openAskingDoor();
    const { asking, answer } = await openSession(door);
    const { stream, question } = await asking(11);
    expect((await answer(question, result)).status).toBe(400);
    expect(await readUntil(stream, /"id":11\b/)).toContain("unanswered");
  });
});
