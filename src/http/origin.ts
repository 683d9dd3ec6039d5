import type { IncomingHttpHeaders } from "node:http";
import { cleanName } from "../base/text.ts";
import type { CoreSettings } from "../core/core.ts";
import type { Origin } from "../core/guard.ts";
import { ANYBODY, type Identity } from "./tokens.ts";

interface OriginFacts {
  readonly identity: Identity;
  readonly headers: IncomingHttpHeaders;
  readonly correlationId: string;
  readonly sessionId: string;
  readonly signal: Origin["signal"];
  readonly progress?: Origin["progress"];
}

const headerOf = (headers: IncomingHttpHeaders, name: string): string | undefined => {
  const value = headers[name];
  return typeof value === "string" && value !== "" ? value : undefined;
};

/** A named token is an agent of that name, unless the request says more. */
const agentOf = ({ name }: Identity, isNamed: boolean, settings: CoreSettings): string =>
  isNamed ? name : settings.defaultAgentId;

/** What the core needs to know about an HTTP request, and its ways back. */
export const originOf = (settings: CoreSettings, facts: OriginFacts): Origin => {
  const { identity, headers } = facts;
  const isNamed = identity.name !== "default" && identity.name !== ANYBODY.name;
  return {
    caller: {
      agentId: cleanName(headerOf(headers, "x-llmc-agent") ?? agentOf(identity, isNamed, settings)),
      sessionId: cleanName(facts.sessionId),
      model: cleanName(headerOf(headers, "x-llmc-model") ?? settings.defaultModel),
      transport: "http",
      principal: identity.principal,
      owner: identity.principal,
      may: identity.scopes,
    },
    correlationId: facts.correlationId,
    signal: facts.signal,
    traceparent: headerOf(headers, "traceparent"),
    progress: facts.progress,
  };
};
