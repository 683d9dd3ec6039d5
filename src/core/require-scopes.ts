import { LlmcError } from "../base/error.ts";
import type { AuditDecision } from "../observe/audit/entry.ts";
import { decideCall } from "../policy/calls.ts";

/** What the audit names as the policy that decides by scopes. */
const SCOPES_POLICY = "builtin:scopes";

/** Refuses a caller that lacks a scope. The pipe and every door ask here; none compares scopes itself. */
export const requireScopes = (
  name: string,
  needs: readonly string[],
  granted: ReadonlySet<string>,
  onDecision?: (decision: AuditDecision) => void,
): void => {
  const decision = decideCall({ name, needs, granted });
  onDecision?.({ allowed: decision.allowed, policies: [SCOPES_POLICY] });
  if (decision.allowed) return;
  throw new LlmcError("forbidden", decision.reason, {
    hint: "The operator grants scopes in mcp.auth.tokens.",
  });
};
