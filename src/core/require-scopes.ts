import { LlmcError } from "../base/error.ts";
import { decideCall } from "../policy/calls.ts";

/** Refuses a caller that lacks a scope. The pipe and every door ask here; none compares scopes itself. */
export const requireScopes = (name: string, needs: readonly string[], granted: ReadonlySet<string>): void => {
  const decision = decideCall({ name, needs, granted });
  if (decision.allowed) return;
  throw new LlmcError("forbidden", decision.reason, {
    hint: "The operator grants scopes in mcp.auth.tokens.",
  });
};
