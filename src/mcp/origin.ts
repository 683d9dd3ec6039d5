import {
  type AuthInfo,
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type ClientCapabilities,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { givenCorrelationId } from "../base/correlation-id.ts";
import { cleanName } from "../base/text.ts";
import type { Caller, LogLevel, Question } from "../core/contract.ts";
import type { CallerDefaults } from "../core/door-core.ts";
import type { Origin } from "../core/origin.ts";

/** One connection, session or stateless request. */
export interface Connection {
  readonly transport: "stdio" | "http";
  /** The principal of requests that come without a token. */
  readonly principal: string;
  /** Identifies the session in logs where the transport has no session id of its own. */
  readonly id: string;
  readonly may: ReadonlySet<string>;
  /** Of the request that opened it, over HTTP. */
  readonly authInfo?: AuthInfo | undefined;
  newCorrelationId(): string;
}

/** The 2026 revision sends the name with each request; before, it was sent once per session. */
const clientNameOf = (context: ServerContext, ofSession: string | undefined): string | undefined => {
  const envelope: Readonly<Record<string, unknown>> | undefined = context.mcpReq.envelope;
  const info = envelope?.[CLIENT_INFO_META_KEY];
  return typeof info === "object" && info !== null && "name" in info && typeof info.name === "string"
    ? info.name
    : ofSession;
};

/** The token's principal, which only the HTTP server sets: a client cannot choose it. */
export const principalOf = (authInfo: AuthInfo | undefined): string | undefined => authInfo?.clientId;

const labelOf = ({ extra, clientId }: AuthInfo): string => {
  const name = extra?.["name"];
  return `token-${typeof name === "string" ? name : clientId}`;
};

/** A call in a session goes on when its client leaves, and keeps its slot among the calls of its token. */
const slotOf = (authInfo: AuthInfo | undefined): Origin["slot"] =>
  authInfo?.extra?.["slot"] as Origin["slot"];

/** The scopes of the token by now. */
const mayNowOf = (authInfo: AuthInfo | undefined): Origin["mayNow"] =>
  authInfo?.extra?.["mayNow"] as Origin["mayNow"];

const callerOf = (
  core: { settings(): CallerDefaults },
  connection: Connection,
  context: ServerContext,
  clientName: string | undefined,
): Caller => {
  const { defaultAgentId, defaultModel, defaultBudgetProfile } = core.settings();
  const metaField = (name: string): string | undefined => {
    const value = context.mcpReq._meta?.[`llmc/${name}`];
    return typeof value === "string" && value !== "" ? value : undefined;
  };
  const authInfo = context.http?.authInfo;
  return {
    agentId: cleanName(metaField("agent_id") ?? clientNameOf(context, clientName) ?? defaultAgentId),
    // One connection can carry several conversations, which only the client can tell apart. It is a label for logs.
    sessionId: cleanName(
      metaField("session_id") ??
        context.sessionId ??
        (authInfo === undefined ? connection.id : labelOf(authInfo)),
    ),
    model: cleanName(metaField("model") ?? defaultModel),
    budgetProfile: cleanName(metaField("budget_profile") ?? defaultBudgetProfile),
    transport: connection.transport,
    principal: principalOf(authInfo) ?? connection.principal,
    owner: principalOf(authInfo) ?? `${connection.transport}:${connection.id}`,
    // Read with every request, because the scopes of a token may change during a session.
    may: authInfo === undefined ? connection.may : new Set(authInfo.scopes),
  };
};

/** Whom the instructions are for, which are written before the client has said anything; undefined where nobody is known. */
export const readerOf = (
  core: { settings(): CallerDefaults },
  { transport, principal, id, may, authInfo }: Connection,
): Caller | undefined => {
  if (transport === "http" && authInfo === undefined) return undefined;
  const { defaultAgentId, defaultModel, defaultBudgetProfile } = core.settings();
  const owner = principalOf(authInfo) ?? `${transport}:${id}`;
  return {
    agentId: defaultAgentId,
    sessionId: id,
    model: defaultModel,
    budgetProfile: defaultBudgetProfile,
    transport,
    principal: principalOf(authInfo) ?? principal,
    owner,
    may: authInfo === undefined ? may : new Set(authInfo.scopes),
  };
};

/** The version that there is has 55 characters; one that is longer is none, and no reason to refuse a call. */
const MAX_TRACEPARENT_CHARS = 200;

const givenTraceparent = (context: ServerContext): string | undefined => {
  const fromMeta = context.mcpReq._meta?.["traceparent"];
  return typeof fromMeta === "string"
    ? fromMeta
    : (context.http?.req?.headers.get("traceparent") ?? undefined);
};

const correlationIdOf = (context: ServerContext, connection: Connection): string =>
  givenCorrelationId(context.http?.req?.headers.get("x-correlation-id")) ?? connection.newCorrelationId();

const progressOf = (context: ServerContext): Origin["progress"] => {
  const progressToken = context.mcpReq._meta?.progressToken;
  if (progressToken === undefined) return undefined;
  return (progress, total, message) =>
    context.mcpReq.notify({
      method: "notifications/progress",
      params: {
        progressToken,
        progress,
        ...(total === undefined ? {} : { total }),
        ...(message === undefined ? {} : { message }),
      },
    });
};

/** Which questions the client can answer, sent like its name. `elicitation` without details means forms. */
const canAskOf = (context: ServerContext, ofSession: ClientCapabilities | undefined): Origin["canAsk"] => {
  const envelope: Readonly<Record<string, unknown>> | undefined = context.mcpReq.envelope;
  const declared = (envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? ofSession ?? {}) as ClientCapabilities;
  const { elicitation, sampling, roots } = declared;
  const can: Readonly<Record<Question["kind"], boolean>> = {
    form: elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined),
    sampling: sampling !== undefined,
    roots: roots !== undefined,
  };
  return (kind) => can[kind];
};

/** What the core needs to know about an MCP request. */
export const originOf = (
  core: { settings(): CallerDefaults },
  connection: Connection,
  context: ServerContext,
  clientName: string | undefined,
  capabilities: ClientCapabilities | undefined,
): Omit<Origin, "state"> => ({
  caller: callerOf(core, connection, context, clientName),
  requestId: context.mcpReq.id,
  canAsk: canAskOf(context, capabilities),
  correlationId: correlationIdOf(context, connection),
  route: connection.transport === "http" ? "/mcp" : context.mcpReq.method,
  signal: context.mcpReq.signal,
  // The 2026 revision has an envelope, and a request of its own for each round.
  requestSignal: context.mcpReq.envelope === undefined ? context.mcpReq.signal : undefined,
  slot: slotOf(context.http?.authInfo),
  mayNow: mayNowOf(context.http?.authInfo),
  traceparent: givenTraceparent(context)?.slice(0, MAX_TRACEPARENT_CHARS),
  answers: context.mcpReq.inputResponses,
  progress: progressOf(context),
  log: (level: LogLevel, message: string) => context.mcpReq.log(level, message, "llmc"),
  releaseStream: context.http?.closeSSE,
});
