import type { IncomingHttpHeaders } from "node:http";
import { LlmcError } from "../base/error.ts";
import { createAcquaintances } from "./acquaintances.ts";
import { type AuthSettings, authenticate, refuseAuth } from "./auth.ts";
import type { Guesses } from "./guesses.ts";
import { createPlaceCheck } from "./place.ts";
import type { RateLimit, RateStore, RateVerdict } from "./rate.ts";
import { currentToken, tokenLost } from "./standing.ts";
import { ANYBODY, type Identity, type Token } from "./tokens.ts";
import { serverStops, type Visits } from "./visits.ts";

/** Why a request was turned away before anything was done for it. */
export type Drop = "auth" | "guesses" | "rate" | "lane";

interface AdmissionParts {
  readonly auth: () => AuthSettings;
  readonly tokens: () => readonly Token[];
  /** Names accepted in Host and Origin, beside loopback. */
  readonly allowedHosts: readonly string[];
  readonly scheme: "http" | "https";
  readonly guesses: Guesses;
  readonly rates: RateStore;
  readonly rateLimit: () => RateLimit;
  readonly visits: Visits;
  readonly onDrop: (why: Drop, fields: Readonly<Record<string, string>>) => void;
}

const tooFast = (what: string, hint: string, { retryAfterMs }: RateVerdict): LlmcError =>
  new LlmcError("rate_limited", what, { hint, details: { retry_after_ms: Math.ceil(retryAfterMs) } });

/** What every request, and every WebSocket, has to pass before its body is read. */
export const createAdmission = (parts: AdmissionParts) => {
  const acquaintances = createAcquaintances();
  const checkPlace = createPlaceCheck(parts);

  const checkDraining = (): void => {
    if (parts.visits.isDraining()) throw serverStops();
  };

  /** Counts a wrong token; refuses an address that has tried too many. */
  const refuseGuesser = (address: string, digest: Buffer): void => {
    const verdict = parts.guesses.look(address);
    if (verdict.allowed) {
      parts.guesses.record(address, digest);
      return;
    }
    parts.onDrop("guesses", { address });
    throw tooFast("Too many wrong tokens came from this address.", "Wait, then send the right one.", verdict);
  };

  /** `connection`: what the request came on, where several may come. */
  const identify = (headers: IncomingHttpHeaders, address: string, connection?: object): Identity => {
    const settings = parts.auth();
    const found = authenticate(
      headers,
      settings,
      parts.tokens(),
      connection && ((tokens, secret) => acquaintances.find(connection, tokens, secret)),
    );
    // Before anything is asked about the address: whoever has the right token gets in, whatever others have tried.
    if (found.kind === "known") return found.identity;
    if (found.kind === "wrong") refuseGuesser(address, found.digest);
    parts.onDrop("auth", { address });
    throw refuseAuth(found.kind, settings.header);
  };

  /** The identity that a connection was opened with, as its token is now. */
  const current = (identity: Identity): Identity => {
    if (parts.auth().mode === "none") return ANYBODY;
    const now = currentToken(identity, parts.tokens());
    if (now === undefined) throw tokenLost();
    return now;
  };

  const judge = (identity: Identity, verdict: RateVerdict): Identity => {
    if (verdict.allowed) return identity;
    parts.onDrop("rate", { token: identity.name });
    throw tooFast(
      "Too many requests came with this token.",
      "Wait as long as Retry-After says; the limit is mcp.limits.rate_limit_rps.",
      verdict,
    );
  };

  /** Takes one request from the token's bucket. */
  const charge = (identity: Identity): Identity | Promise<Identity> => {
    const verdict = parts.rates.take(identity.name, parts.rateLimit());
    return verdict instanceof Promise
      ? verdict.then((later) => judge(identity, later))
      : judge(identity, verdict);
  };

  return { checkPlace, checkDraining, identify, current, charge };
};

export type Admission = ReturnType<typeof createAdmission>;
