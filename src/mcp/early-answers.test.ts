import { describe, expect, it } from "vitest";
import { createWorkspace } from "../../test/workspace.ts";
import { VERSION } from "../wiring/version.ts";
import { answerEarly } from "./early-answers.ts";

const CLIENT = { name: "test", version: "1" };
const known = { version: VERSION, instructions: "Read the manual.", tools: [] };

const early = (
  message: object | string,
  isInitialized = false,
  facts: Parameters<typeof answerEarly>[1] = known,
) =>
  answerEarly(
    Buffer.from(typeof message === "string" ? message : JSON.stringify({ jsonrpc: "2.0", ...message })),
    facts,
    isInitialized,
  );

const initialize = (params: object = {}) => ({
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: CLIENT, ...params },
});

describe("REQ-I1 the first answers of a front, without the MCP library", () => {
  it.each(["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])(
    "REQ-D10 are those of the library: %s",
    async (protocolVersion) => {
      await using workspace = await createWorkspace();
      const server = await workspace.serve({ handshake: false, args: ["--mode", "classic"] });
      const capabilities = { roots: { listChanged: true }, sampling: {}, elicitation: { form: {} } };
      const request = { protocolVersion, capabilities, clientInfo: CLIENT };
      const shaken = await server.request("initialize", request);
      server.send({ method: "notifications/initialized" });
      const listed = await server.request("tools/list");
      const facts = {
        version: VERSION,
        instructions: String(shaken.result?.["instructions"]),
        tools: listed.result?.["tools"] as never,
      };
      const first = early({ id: shaken.id, method: "initialize", params: request }, false, facts);
      expect(first).toEqual({ kind: "initialize", answer: JSON.stringify(shaken) });
      expect(early({ id: listed.id, method: "tools/list" }, true, facts)).toEqual({
        kind: "list",
        answer: JSON.stringify(listed),
      });
    },
  );

  it("know the end of the handshake", () => {
    expect(early({ method: "notifications/initialized" }, true)).toEqual({ kind: "initialized" });
  });

  it.each([
    ["a revision without a handshake", initialize({ protocolVersion: "2026-07-28" })],
    ["an unknown revision", initialize({ protocolVersion: "1999-01-01" })],
    ["capabilities of the wrong type", initialize({ capabilities: { sampling: 5 } })],
    ["a client without a name", initialize({ clientInfo: { version: "1" } })],
    ["a further parameter", initialize({ _meta: { progressToken: 1 } })],
    ["an id of the wrong type", { ...initialize(), id: null }],
    ["a further field", { ...initialize(), result: {} }],
    ["a list before the handshake", { id: 2, method: "tools/list" }],
    ["no JSON", "{"],
    ["a batch", "[]"],
  ])("leave everything else to the library: %s", (_, message) => {
    expect(early(message)).toBeUndefined();
  });

  it.each([
    ["a cursor", { id: 2, method: "tools/list", params: { cursor: "x" } }],
    ["a second handshake", initialize()],
    ["a call", { id: 2, method: "tools/call", params: { name: "stat", arguments: {} } }],
  ])("after the handshake, too: %s", (_, message) => {
    expect(early(message, true)).toBeUndefined();
  });

  it("do not list where the core decides for each caller", () => {
    expect(early({ id: 2, method: "tools/list" }, true, { ...known, tools: undefined })).toBeUndefined();
  });
});
