import { isBreakerRefusal } from "../base/circuit-breaker.ts";
import { LlmcError } from "../base/error.ts";

/** What a caller may know about where a failure happened: no URL and no key. */
export interface FailureContext {
  readonly model: string;
  readonly urlKey: string;
  readonly keyVariable: string;
}

/** Failures of calls that the provider did not take, so that nothing was spent. */
const UNBILLED = new WeakSet<LlmcError>();

export const markUnbilled = (error: LlmcError): LlmcError => {
  UNBILLED.add(error);
  return error;
};

/**
 * Whether a failed call may cost money all the same. Only a refusal, the provider's or our own, or a server that was not
 * reached, is sure to be free.
 */
export const mayBeBilled = (thrown: unknown): boolean =>
  !(
    thrown instanceof LlmcError &&
    (UNBILLED.has(thrown) || thrown.code === "egress_denied" || isBreakerRefusal(thrown))
  );

/** The server is overloaded or being restarted: it did not begin. */
const NOT_BEGUN = new Set([503, 529]);

/** The thrown value and its causes. Bounded, because causes may be circular. */
const chainOf = (thrown: unknown): readonly object[] => {
  const chain: object[] = [];
  let current = thrown;
  while (typeof current === "object" && current !== null && chain.length < 8) {
    chain.push(current);
    current = "cause" in current ? current.cause : undefined;
  }
  return chain;
};

const statusOf = (one: object): number | undefined =>
  "statusCode" in one && typeof one.statusCode === "number" ? one.statusCode : undefined;

const systemCodeOf = (one: object): string | undefined =>
  "code" in one && typeof one.code === "string" && /^[A-Z][A-Z0-9_]{2,50}$/.test(one.code)
    ? one.code
    : undefined;

const headersOf = (one: object): Readonly<Record<string, unknown>> =>
  "responseHeaders" in one && typeof one.responseHeaders === "object" && one.responseHeaders !== null
    ? (one.responseHeaders as Readonly<Record<string, unknown>>)
    : {};

/** A provider may ask for a day; after an hour another try is reasonable. */
const MAX_RETRY_MS = 3_600_000;

/** Providers use seconds, milliseconds or a date. */
export const retryAfterMs = (headers: Readonly<Record<string, unknown>>, nowMs: number): number => {
  const exact = Number(headers["retry-after-ms"] ?? Number.NaN);
  const retryAfter = String(headers["retry-after"] ?? "");
  const seconds = retryAfter.trim() === "" ? Number.NaN : Number(retryAfter);
  const candidates = [exact, seconds * 1000, Date.parse(retryAfter) - nowMs];
  const found = candidates.find((ms) => Number.isFinite(ms) && ms >= 0) ?? 1000;
  return Math.min(MAX_RETRY_MS, Math.max(1, Math.ceil(found)));
};

const ofStatus = (status: number, context: FailureContext, failure: object): LlmcError => {
  const error = (problem: string, hint: string, retryable: boolean) =>
    new LlmcError("provider_error", `${context.model}: ${problem} (${status}).`, { hint, retryable });
  if (status === 401 || status === 403) {
    return error(
      "the provider does not accept this server's key",
      context.keyVariable === ""
        ? `The operator has to name the variable of the key next to mcp.llm.${context.urlKey}.`
        : `The operator has to check ${context.keyVariable}, and whether the key is valid for this model.`,
      false,
    );
  }
  if (status === 404) {
    return error(
      "the provider has no such model",
      "The operator has to check its name, or download it.",
      false,
    );
  }
  if (status === 429) {
    return new LlmcError(
      "rate_limited",
      `${context.model}: the provider refused the call because there are too many.`,
      {
        hint: "Wait and try again.",
        details: { retry_after_ms: retryAfterMs(headersOf(failure), Date.now()) },
      },
    );
  }
  if (status >= 500 || status === 408 || status === 409) {
    return error("the provider failed", "Try again in a moment.", true);
  }
  return error(
    "the provider refused the request",
    "It may be too long for this model, or not supported by it.",
    false,
  );
};

/** No connection came about. */
const UNREACHABLE = new Set("ECONNREFUSED ENOTFOUND EAI_AGAIN EADDRNOTAVAIL".split(" "));
/** These end open connections too: only where connecting failed was nothing sent. */
const UNREACHABLE_ON_CONNECT = new Set("EHOSTUNREACH ENETUNREACH ETIMEDOUT".split(" "));
/** The server's certificate was not accepted, or it does not speak TLS: no request was sent. */
const NO_TLS =
  /CERT|UNABLE_TO_VERIFY_LEAF_SIGNATURE|^HOSTNAME_MISMATCH$|^ERR_SSL_(?:WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|UNSUPPORTED_PROTOCOL)$/;

const isUnreached = (code: string, failure: object): boolean =>
  UNREACHABLE.has(code) ||
  (UNREACHABLE_ON_CONNECT.has(code) && "syscall" in failure && failure.syscall === "connect");

const ofSystem = (code: string, context: FailureContext, failure: object): LlmcError => {
  if (isUnreached(code, failure)) {
    return markUnbilled(
      new LlmcError("unavailable", `${context.model}: its server cannot be reached (${code}).`, {
        hint: `The operator has to start it, or to correct mcp.llm.${context.urlKey}.`,
        retryable: true,
      }),
    );
  }
  if (code === "ECONNRESET" || code === "EPIPE" || code.startsWith("HPE_")) return cutOff(context);
  const error = new LlmcError(
    "unavailable",
    `${context.model}: the connection to its server failed (${code}).`,
    { hint: `The operator has to check mcp.llm.${context.urlKey} and the certificate of the server.` },
  );
  return NO_TLS.test(code) ? markUnbilled(error) : error;
};

export const cutOff = ({ model }: FailureContext): LlmcError =>
  new LlmcError("provider_error", `${model}: the provider's answer was cut off.`, {
    hint: "Try again in a moment.",
  });

export const notUnderstood = ({ model, urlKey }: FailureContext): LlmcError =>
  new LlmcError("provider_error", `${model}: the provider's answer cannot be understood.`, {
    hint: `The server at mcp.llm.${urlKey} may not support the API of this provider.`,
    retryable: false,
  });

/**
 * Translates a failure of a provider. The error of the SDK holds the prompt, the answer and the header with the key, so
 * neither its message nor the error itself is passed on.
 */
export const translateFailure = (thrown: unknown, context: FailureContext): LlmcError => {
  const chain = chainOf(thrown);
  const ours = chain.find((one) => one instanceof LlmcError);
  if (ours !== undefined) return ours;
  for (const one of chain) {
    const status = statusOf(one);
    if (status !== undefined && status >= 300) {
      const error = ofStatus(status, context, one);
      return status < 500 || NOT_BEGUN.has(status) ? markUnbilled(error) : error;
    }
  }
  for (const one of chain) {
    const code = systemCodeOf(one);
    if (code !== undefined) return ofSystem(code, context, one);
  }
  return notUnderstood(context);
};
