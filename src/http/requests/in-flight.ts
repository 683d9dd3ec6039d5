import { LlmcError } from "../../base/error.ts";
import { tokenRevoked } from "../auth/revocation.ts";
import type { Identity } from "../auth/token-registry.ts";

/** One request, or one message of a WebSocket, from its arrival until it was answered or its client left. */
export class InFlightRequest {
  /** Set as soon as the request is authenticated. */
  identity: Identity | undefined;
  /** Under which the log speaks of it. */
  correlationId = "";
  readonly #finish: (request: InFlightRequest) => boolean;
  #controller: AbortController | undefined;

  /** `finish` returns whether the request was still in flight. */
  constructor(finish: (request: InFlightRequest) => boolean) {
    this.#finish = finish;
  }

  /** Fires when the client leaves, the token is revoked or the server gives up waiting. Most requests never need it. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    return this.#controller.signal;
  }

  abort(reason?: LlmcError): void {
    this.#controller ??= new AbortController();
    this.#controller.abort(reason);
  }

  /** `clientGone`: the client left before it had the whole answer. */
  end(clientGone: boolean): void {
    if (this.#finish(this) && clientGone) this.abort();
  }
}

const STOPPING_RETRY_MS = 5000;

export const serverStopping = (): LlmcError =>
  new LlmcError("busy", "The server is stopping.", {
    hint: "Try again in a moment: another server may take over.",
    details: { retry_after_ms: STOPPING_RETRY_MS },
  });

/** All requests that are being worked on, so that a shutdown can wait for them and a revocation can end them. */
export const createInFlightRequests = () => {
  const open = new Set<InFlightRequest>();
  const waiting = new Set<() => void>();
  let draining = false;

  const wakeIfIdle = (): void => {
    if (open.size > 0 || waiting.size === 0) return;
    for (const wake of waiting) wake();
    waiting.clear();
  };

  const finish = (request: InFlightRequest): boolean => {
    if (!open.delete(request)) return false;
    wakeIfIdle();
    return true;
  };

  return {
    begin: (): InFlightRequest => {
      const request = new InFlightRequest(finish);
      open.add(request);
      return request;
    },
    count: () => open.size,
    isDraining: () => draining,
    /** From now on new requests are refused. */
    startDraining: (): void => {
      draining = true;
    },
    /** Resolves when no request is left. */
    idle: (): Promise<void> =>
      new Promise((resolve) => {
        waiting.add(resolve);
        wakeIfIdle();
      }),
    abortWhere: (isRevoked: (identity: Identity) => boolean): void => {
      for (const request of [...open])
        if (request.identity !== undefined && isRevoked(request.identity)) request.abort(tokenRevoked());
    },
    abortAll: (): void => {
      for (const request of [...open]) request.abort(serverStopping());
    },
  };
};

export type InFlightRequests = ReturnType<typeof createInFlightRequests>;
