import type { ServerContext } from "@modelcontextprotocol/server";
import { expect, test } from "vitest";
import { openTestApp } from "../../test/app.ts";
import { originOf } from "./origin.ts";

const CLIENT_INFO = "io.modelcontextprotocol/clientInfo";

const { signal } = new AbortController();

const originWith = async (envelope: Record<string, unknown> | undefined, ofSession?: string) => {
  const { core, newId } = await openTestApp();
  const connection = {
    transport: "stdio",
    principal: "local",
    id: newId(),
    may: new Set<string>(),
    newCorrelationId: newId,
  } as const;
  const mcpReq = { envelope, signal, requestState: () => undefined };
  return originOf(core, connection, { mcpReq } as unknown as ServerContext, ofSession, undefined);
};

test.each([
  ["a request of 2026-07-28 says it itself", { [CLIENT_INFO]: { name: "cursor" } }, undefined, "cursor"],
  ["a session of 2025-11-25 said it at its start", undefined, "zed", "zed"],
  ["nobody said it", undefined, undefined, "unknown"],
  ["it is no name", { [CLIENT_INFO]: { name: 7 } }, undefined, "unknown"],
  ["it holds what a log must not", { [CLIENT_INFO]: { name: "a\nb" } }, undefined, "a?b"],
])("REQ-D10 the agent of a call, where %s", async (_where, envelope, ofSession, agent) => {
  expect((await originWith(envelope, ofSession)).caller.agentId).toBe(agent);
});

test("REQ-I5 a request of 2025-11-25 can be given up while its user is asked; since 2026 each round is a request of its own", async () => {
  expect((await originWith(undefined)).requestSignal).toBe(signal);
  expect((await originWith({})).requestSignal).toBeUndefined();
});
