import type { FastifyInstance, FastifyRequest } from "fastify";
import type { LlmcError } from "../base/error.ts";
import type { Core } from "../core/core.ts";
import type { Origin } from "../core/guard.ts";
import type { Admission } from "./admission.ts";
import type { Lanes } from "./lanes.ts";
import { originOf } from "./origin.ts";
import type { Standings } from "./standing.ts";
import type { Identity } from "./tokens.ts";
import type { Visit } from "./visits.ts";

declare module "fastify" {
  interface FastifyRequest {
    visit: Visit;
    /** Who was let in; undefined on the few addresses that are open to anybody. */
    identity: Identity | undefined;
  }
  interface FastifyContextConfig {
    /** Needs no token. */
    open?: boolean;
    /** Answered while the server stops. */
    duringDrain?: boolean;
  }
}

/** What routes work with. */
export interface Door {
  readonly app: FastifyInstance;
  readonly core: Core;
  readonly admission: Admission;
  readonly lanes: Lanes;
  readonly standings: Standings;
  readonly onInternalError: (error: LlmcError, correlationId: string) => void;
}

/** The identity of a request that admission has let in. */
export const identityOf = ({ identity }: FastifyRequest): Identity => {
  if (identity === undefined) throw new Error("a guarded route was reached without admission");
  return identity;
};

/** Does the work of a request as a call of its token: within the token's lane, with a way back. */
export const asCall = <T>(
  { core, lanes }: Door,
  request: FastifyRequest,
  sessionId: string,
  work: (origin: Origin) => Promise<T>,
  progress?: Origin["progress"],
): Promise<T> => {
  const identity = identityOf(request);
  const origin = originOf(core.settings(), {
    identity,
    headers: request.headers,
    correlationId: request.id,
    sessionId,
    signal: request.visit,
    progress,
  });
  return lanes.run(identity.name, request.visit, () => work(origin));
};
