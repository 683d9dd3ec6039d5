import type { IncomingHttpHeaders } from "node:http";
import { validateHostHeader, validateOriginHeader } from "@modelcontextprotocol/server";
import { LlmcError } from "../base/error.ts";
import { createAcquaintances } from "./acquaintances.ts";
import { type AuthSettings, authenticate, refuseAuth } from "./auth.ts";
import type { Guesses } from "./guesses.ts";
import type { RateLimit, RateStore, RateVerdict } from "./rate.ts";
import type { Identity, Token } from "./tokens.ts";
import { serverStops, type Visits } from "./visits.ts";

/** Why a request was turned away before anything was done for it. */
export type Drop = "auth" | "guesses" | "rate" | "lane";

interface AdmissionParts {
  readonly auth: () => AuthSettings;
  readonly tokens: () => readonly Token[];
  /** Names accepted in Host and Origin, beside loopback. */
  readonly allowedHosts: readonly string[];
  readonly guesses: Guesses;
  readonly rates: RateStore;
  readonly rateLimit: () => RateLimit;
  readonly visits: Visits;
  readonly onDrop: (why: Drop, fields: Readonly<Record<string, string>>) => void;
}

const LOOPBACK_NAMES = ["localhost", "127.0.0.1", "[::1]"];

const tooFast = (what: string, hint: string, { retryAfterMs }: RateVerdict): LlmcError =>
  new LlmcError("rate_limited", what, { hint, details: { retry_after_ms: Math.ceil(retryAfterMs) } });

/** What every request, and every WebSocket, has to pass before its body is read. */
export const createAdmission = (parts: AdmissionParts) => {
  const acquaintances = createAcquaintances();
  const names = [...LOOPBACK_NAMES, ...parts.allowedHosts];
  /** Headers that were found good; a client sends the same ones with every request. */
  let good: Readonly<Pick<IncomingHttpHeaders, "host" | "origin">> | undefined;

  /** A page of another site that reaches us by name (DNS rebinding) or by form is refused. */
  const checkPlace = ({ host, origin }: IncomingHttpHeaders): void => {
    if (good !== undefined && host === good.host && origin === good.origin) return;
    if (!validateHostHeader(host, names).ok) {
      throw new LlmcError("forbidden", "This Host is not served here.", {
        hint: "Use the address that the server printed, or add the name to mcp.server.allowed_hosts.",
      });
    }
    if (!validateOriginHeader(origin, names).ok) {
      throw new LlmcError("forbidden", "Pages of this origin may not use the server.", {
        hint: "Add its host name to mcp.server.allowed_hosts to let them.",
      });
    }
    good = { host, origin };
  };

  const checkDraining = (): void => {
    if (parts.visits.isDraining()) throw serverStops();
  };

  /** `connection`: what the request came on, where several may come. */
  const identify = (headers: IncomingHttpHeaders, address: string, connection?: object): Identity => {
    const settings = parts.auth();
    // Not looked at: an address that has guessed too often learns nothing more, not even from the right one.
    const verdict = settings.mode === "none" ? undefined : parts.guesses.look(address);
    if (verdict?.allowed === false) {
      parts.onDrop("guesses", { address });
      throw tooFast(
        "Too many wrong tokens came from this address.",
        "Wait, then send the right one.",
        verdict,
      );
    }
    const found = authenticate(
      headers,
      settings,
      parts.tokens(),
      connection && ((tokens, secret) => acquaintances.find(connection, tokens, secret)),
    );
    if (found.kind === "known") return found.identity;
    if (found.kind === "wrong") parts.guesses.record(address, found.digest);
    parts.onDrop("auth", { address });
    throw refuseAuth(found.kind, settings.header);
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

  return { checkPlace, checkDraining, identify, charge };
};

export type Admission = ReturnType<typeof createAdmission>;
