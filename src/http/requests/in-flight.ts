import { LlmcError } from "../../base/error.ts";
import { tokenRevoked } from "../auth/revocation.ts";
import type { Identity } from "../auth/token-registry.ts";

/** One request, or one message of a WebSocket, from its arrival until it was answered or its client left. */
export interface InFlightRequest {
  /** Set as soon as the request is authenticated. */
  identity: Identity | undefined;
  /** Under which the log speaks of it. */
  correlationId: string;
  /** Whether what becomes of it is written down already: by the call that it became, or as a refusal. */
  isRecorded: boolean;
  /** Fires when the client leaves, the token is revoked or the server gives up waiting. */
  readonly signal: AbortSignal;
  abort(reason?: LlmcError): void;
  /** `clientGone`: the client left before it had the whole answer. */
  end(clientGone: boolean): void;
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

  return {
    begin: (correlationId: string): InFlightRequest => {
      const controller = new AbortController();
      const request: InFlightRequest = {
        identity: undefined,
        correlationId,
        isRecorded: false,
        signal: controller.signal,
        abort: (reason) => controller.abort(reason),
        end: (clientGone) => {
          if (!open.delete(request)) return;
          wakeIfIdle();
          if (clientGone) controller.abort();
        },
      };
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
