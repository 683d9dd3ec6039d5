import type { IncomingHttpHeaders } from "node:http";
import { givenCorrelationId } from "../../base/correlation-id.ts";
import { cleanName } from "../../base/text.ts";
import type { Caller } from "../../core/contract.ts";
import type { CoreSettings } from "../../core/core.ts";
import type { Origin } from "../../core/origin.ts";
import { headerOf } from "../../link/header-of.ts";
import { type Identity, isNamed } from "../auth/token-registry.ts";

interface OriginFacts {
  readonly identity: Identity;
  readonly headers: IncomingHttpHeaders;
  readonly correlationId: string;
  readonly route: string;
  readonly sessionId: string;
  readonly signal: Origin["signal"];
  readonly progress?: Origin["progress"];
  readonly mayNow?: Origin["mayNow"];
}

/** The client's own name for its request, where it may be used in logs and answers. */
export const correlationIdOf = (headers: IncomingHttpHeaders): string | undefined =>
  givenCorrelationId(headers["x-correlation-id"], headers["x-request-id"]);

/** Who calls. A token with a name is an agent of that name by default. */
export const callerOf = (
  settings: CoreSettings,
  identity: Identity,
  headers: IncomingHttpHeaders = {},
  sessionId = "",
): Caller => {
  const defaultAgent = isNamed(identity) ? identity.name : settings.defaultAgentId;
  return {
    agentId: cleanName(headerOf(headers, "x-llmc-agent") ?? defaultAgent),
    sessionId: cleanName(sessionId),
    model: cleanName(headerOf(headers, "x-llmc-model") ?? settings.defaultModel),
    budgetProfile: cleanName(headerOf(headers, "x-llmc-budget-profile") ?? settings.defaultBudgetProfile),
    transport: "http",
    principal: identity.principal,
    owner: identity.principal,
    may: identity.scopes,
  };
};

/** What the core needs to know about an HTTP request. */
export const originOf = (settings: CoreSettings, facts: OriginFacts): Origin => {
  const { identity, headers } = facts;
  return {
    caller: callerOf(settings, identity, headers, facts.sessionId),
    correlationId: facts.correlationId,
    route: facts.route,
    signal: facts.signal,
    traceparent: headerOf(headers, "traceparent"),
    progress: facts.progress,
    mayNow: facts.mayNow,
  };
};
