import type { IncomingMessage } from "node:http";
import { LlmcError } from "../../base/error.ts";
import { type AuthSettings, authenticate, authFailed } from "../auth/authenticate.ts";
import { currentToken, tokenRevoked } from "../auth/revocation.ts";
import { ANONYMOUS, type Identity, type Token } from "../auth/token-registry.ts";
import type { GuessLimiter } from "../limits/guess-limiter.ts";
import type { RateDecision, RateLimit, RateLimiter } from "../limits/rate-limiter.ts";
import { MalformedRequest } from "../requests/errors.ts";
import { type InFlightRequest, type InFlightRequests, serverStopping } from "../requests/in-flight.ts";
import type { HttpInput } from "../requests/input.ts";
import { clientAddress, type Proxies } from "./client-address.ts";
import { createHostAndOriginCheck } from "./host-and-origin.ts";

/** Why a request was refused; also the label of its metric. */
export type RefusalReason = "auth" | "guesses" | "rate" | "lane" | "forbidden" | "malformed";

/** What a route asks of its callers beyond a valid token. */
export interface RouteAccess {
  /** Needs no token. */
  readonly open?: boolean;
  /** Answered while the server stops. */
  readonly duringDrain?: boolean;
  /** The action of policy that the route is. */
  readonly action?: string;
}

interface AuthorizerParts {
  readonly auth: () => AuthSettings;
  readonly tokens: () => readonly Token[];
  /** Host names accepted in Host and Origin, in addition to loopback. */
  readonly allowedHosts: readonly string[];
  readonly proxies: Proxies;
  readonly input: Pick<HttpInput, "addressOf">;
  readonly scheme: "http" | "https";
  readonly guesses: GuessLimiter;
  readonly rates: RateLimiter;
  readonly rateLimit: () => RateLimit;
  readonly inFlight: InFlightRequests;
  /** Throws unless policy lets the token do this. */
  readonly permit: (action: string, identity: Identity) => void;
  readonly onRefused: (reason: RefusalReason, fields: Readonly<Record<string, string>>) => void;
}

const rateLimited = (message: string, hint: string, { retryAfterMs }: RateDecision): LlmcError =>
  new LlmcError("rate_limited", message, { hint, details: { retry_after_ms: Math.ceil(retryAfterMs) } });

/**
 * The one place that decides whether an HTTP request, a WebSocket or a message on one is served: shutdown, Host and
 * Origin, token, rate limit, scope. It runs before any body is read.
 */
export const createAuthorizer = (parts: AuthorizerParts) => {
  const checkHostAndOrigin = createHostAndOriginCheck(parts);

  const refuseDuringDrain = (): void => {
    if (parts.inFlight.isDraining()) throw serverStopping();
  };

  /** Counts a wrong token; refuses an address that has tried too many. */
  const countGuess = (address: string, digest: Buffer, correlationId: string): void => {
    const decision = parts.guesses.check(address);
    if (decision.allowed) {
      parts.guesses.record(address, digest);
      return;
    }
    parts.onRefused("guesses", { address, correlation_id: correlationId });
    throw rateLimited(
      "Too many wrong tokens came from this address.",
      "Wait, then send the right one.",
      decision,
    );
  };

  const identify = (request: IncomingMessage, { correlationId }: InFlightRequest): Identity => {
    const settings = parts.auth();
    const found = authenticate(request.headers, settings, parts.tokens());
    // Comes first: whoever has the right token is served, whatever others at the same address have tried.
    if (found.kind === "known") return found.identity;
    const address = clientAddress(parts.input.addressOf(request), request, parts.proxies);
    if (found.kind === "wrong") countGuess(address, found.digest, correlationId);
    parts.onRefused("auth", { address, correlation_id: correlationId });
    throw authFailed(found.kind, settings.header);
  };

  /** Counts one request of the token. */
  const countRequest = async ({ name }: Identity, { correlationId }: InFlightRequest): Promise<void> => {
    const decision = await parts.rates.consume(name, parts.rateLimit());
    if (decision.allowed) return;
    // Not `token`, which the log redacts.
    parts.onRefused("rate", { token_name: name, correlation_id: correlationId });
    throw rateLimited(
      "Too many requests came with this token.",
      "Wait as long as Retry-After says; the limit is mcp.limits.rate_limit_rps.",
      decision,
    );
  };

  /** A check of which nothing else records that it refused. */
  const recorded = (request: IncomingMessage, inFlight: InFlightRequest, check: () => void): void => {
    try {
      check();
    } catch (thrown) {
      inFlight.isRecorded = true;
      parts.onRefused(thrown instanceof MalformedRequest ? "malformed" : "forbidden", {
        address: clientAddress(parts.input.addressOf(request), request, parts.proxies),
        ...(inFlight.identity && { token_name: inFlight.identity.name }),
        correlation_id: inFlight.correlationId,
      });
      throw thrown;
    }
  };

  /** The rights that an identity has now, which may be fewer than when its connection was opened. */
  const refresh = (identity: Identity): Identity => {
    if (parts.auth().mode === "none") return ANONYMOUS;
    const now = currentToken(identity, parts.tokens());
    if (now === undefined) throw tokenRevoked();
    return now;
  };

  return {
    /** Sets the identity of the request, unless the route is open to everybody. */
    authorize: async (
      request: IncomingMessage,
      inFlight: InFlightRequest,
      { open = false, duringDrain = false, action }: RouteAccess,
    ): Promise<void> => {
      if (!duringDrain) refuseDuringDrain();
      recorded(request, inFlight, () => checkHostAndOrigin(request));
      if (open) return;
      const identity = identify(request, inFlight);
      inFlight.identity = identity;
      await countRequest(identity, inFlight);
      if (action !== undefined) recorded(request, inFlight, () => parts.permit(action, identity));
    },
    /** The same for a message on an open connection. */
    authorizeMessage: async (opened: Identity, inFlight: InFlightRequest): Promise<Identity> => {
      refuseDuringDrain();
      const identity = refresh(opened);
      inFlight.identity = identity;
      await countRequest(identity, inFlight);
      return identity;
    },
    refresh,
    /** What an identity may do now; nothing where its token was revoked. */
    scopesNow: (identity: Identity): Identity["scopes"] =>
      parts.auth().mode === "none"
        ? ANONYMOUS.scopes
        : (currentToken(identity, parts.tokens())?.scopes ?? new Set()),
  };
};

export type Authorizer = ReturnType<typeof createAuthorizer>;
