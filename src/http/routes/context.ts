import type { FastifyInstance, FastifyRequest } from "fastify";
import type { LlmcError } from "../../base/error.ts";
import type { Core } from "../../core/core.ts";
import type { Origin } from "../../core/origin.ts";
import type { OpenConnections } from "../auth/revocation.ts";
import type { Identity } from "../auth/token-registry.ts";
import type { ConcurrencyLimiter } from "../limits/concurrency-limiter.ts";
import type { Authorizer, RouteAccess } from "../middleware/authorize.ts";
import type { InFlightRequest, InFlightRequests } from "../requests/in-flight.ts";
import { originOf } from "../requests/origin.ts";

declare module "fastify" {
  interface FastifyRequest {
    inFlight: InFlightRequest;
  }
  interface FastifyContextConfig extends RouteAccess {}
}

/** What all routes share. */
export interface RouteContext {
  readonly app: FastifyInstance;
  readonly core: Core;
  readonly authorizer: Authorizer;
  readonly concurrency: ConcurrencyLimiter;
  readonly connections: OpenConnections;
  readonly inFlight: InFlightRequests;
  readonly newId: () => string;
  readonly onInternalError: (error: LlmcError, correlationId: string) => void;
}

/** The identity of a request that was authorized. */
export const identityOf = ({ identity }: InFlightRequest): Identity => {
  if (identity === undefined) throw new Error("a route that needs a token was reached without authorization");
  return identity;
};

/** Who sent a request, as the core knows callers. */
export const originOfRequest = (
  { core, authorizer }: Pick<RouteContext, "core" | "authorizer">,
  request: FastifyRequest,
  sessionId: string,
  progress?: Origin["progress"],
): Origin => {
  const identity = identityOf(request.inFlight);
  request.inFlight.isRecorded = true;
  return originOf(core.settings(), {
    identity,
    headers: request.headers,
    correlationId: request.id,
    route: request.routeOptions.url ?? "other",
    sessionId,
    signal: request.inFlight.signal,
    progress,
    mayNow: () => authorizer.scopesNow(identity),
  });
};

/** Does the work of a request as a call of its token, within the token's concurrency limit. */
export const asCall = <T>(
  context: RouteContext,
  request: FastifyRequest,
  sessionId: string,
  work: (origin: Origin) => Promise<T>,
  progress?: Origin["progress"],
): Promise<T> => {
  const origin = originOfRequest(context, request, sessionId, progress);
  const { name } = identityOf(request.inFlight);
  return context.concurrency.run(name, request.inFlight.signal, () => work(origin), request.id);
};
