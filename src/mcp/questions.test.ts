import { Server, type ServerContext } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import { UNANSWERED } from "../core/contract.ts";
import { askAndWait } from "./questions.ts";

describe("REQ-I5: a question that fails", () => {
  // Without a client, every question fails.
  const server = new Server({ name: "test", version: "1" }, { capabilities: {} });
  const ask = (signal: AbortSignal) =>
    askAndWait(server, { roots: { kind: "roots" } }, { mcpReq: { id: 1, signal } } as ServerContext);

  it("counts as one that nobody answered", async () => {
    expect(await ask(new AbortController().signal)).toEqual({ roots: UNANSWERED });
  });

  it("ends a request that was cancelled, so that its work is not done again", async () => {
    await expect(ask(AbortSignal.abort())).rejects.toThrow();
  });
});
