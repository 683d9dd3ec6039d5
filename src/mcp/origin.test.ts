import type { ServerContext } from "@modelcontextprotocol/server";
import { expect, test } from "vitest";
import { openTestApp } from "../../test/app.ts";
import { originOf } from "./origin.ts";

const CLIENT_INFO = "io.modelcontextprotocol/clientInfo";

const agentOf = async (envelope: Record<string, unknown> | undefined, ofSession: string | undefined) => {
  const { core, newId } = await openTestApp();
  const connection = {
    transport: "stdio",
    principal: "local",
    id: newId(),
    may: new Set<string>(),
    newCorrelationId: newId,
  } as const;
  const context = { mcpReq: { envelope, requestState: () => undefined } } as unknown as ServerContext;
  return originOf(core, connection, context, ofSession, undefined).caller.agentId;
};

test.each([
  ["a request of 2026-07-28 says it itself", { [CLIENT_INFO]: { name: "cursor" } }, undefined, "cursor"],
  ["a session of 2025-11-25 said it at its start", undefined, "zed", "zed"],
  ["nobody said it", undefined, undefined, "unknown"],
  ["it is no name", { [CLIENT_INFO]: { name: 7 } }, undefined, "unknown"],
  ["it holds what a log must not", { [CLIENT_INFO]: { name: "a\nb" } }, undefined, "a?b"],
])("REQ-D10 the agent of a call, where %s", async (_where, envelope, ofSession, agent) => {
  expect(await agentOf(envelope, ofSession)).toBe(agent);
});
